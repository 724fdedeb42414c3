// What figures are made of, as the page draws them: plotly's traces and layout as plain objects, in the style of the explorer.

export const ACCENT = "#2b6cb0";
export const PALE = "#a9c8ea";
export const ORANGE = "#d55e00";
export const GREEN = "#009e73";
export const GREY = "#8a94a3";
export const INK = "#16202c";
export const TEXT = "#5b6675";
export const BLUE = [[0, "#eef4fb"], [0.5, "#a9c8ea"], [0.72, "#4f8fce"], [0.85, "#2b6cb0"], [1, "#12406f"]];
export const GROUPS = [ACCENT, ORANGE, GREEN, "#cc79a7", "#b88a00", "#56b4e9", "#a0693a"];
export const SHADES = [[0, "#f0f5fb"], [1, "#86b3e4"]];
export const LIGHT_SIGNED = [[0, "#eda063"], [0.5, "#f4f6f8"], [1, "#86b3e4"]];
export const SIGNED = [[0, ORANGE], [0.5, "#f7f9fb"], [1, ACCENT]];
export const ROOT = BLUE.map(([place, colour]) => [place ** 2, colour]);  // the same shades for the root of a number
// light enough for INK
export const LIGHT = Array.from({ length: 9 }, (_, i) => [
  (i / 8) ** 2,
  `rgb(${240 - Math.floor(106 * i / 8)},${245 - Math.floor(66 * i / 8)},${251 - Math.floor(23 * i / 8)})`,
]);
export const SANS = "IBM Plex Sans, system-ui, sans-serif", MONO = "IBM Plex Mono, ui-monospace, monospace";
export const HOVER = "%{customdata}<extra></extra>";
export const HIDDEN = { visible: false, fixedrange: true };
const AXIS = { ticks: "", automargin: true, zeroline: false, gridcolor: "rgba(138,148,163,0.25)" };
const LINE = 17;  // pixels between two labels

// Numbers and words in sentences.

export const grouped = (number, digits = 0) =>
  number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
export const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
export const quote = (token) => `“${token}”`;
export const safe = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
export const clip = (text, length = 24) => ([...text].length <= length ? text : `${[...text].slice(0, length - 1).join("")}…`);
export const label = (text, length = 24) => safe(clip(text, length));
export const decimal = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const joinNames = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names.join(""));
export const ordinal = (rank) => `${rank}${[11, 12, 13].includes(rank % 100) ? "th" : { 1: "st", 2: "nd", 3: "rd" }[rank % 10] ?? "th"}`;
export const coloured = (text, colour) => `<span style="color:${colour}">${text}</span>`;

/** A probability with sensible digits: 97 %, 3.2 %, < 0.1 %. */
export function percent(p) {
  const share = 100 * p;
  if (share >= 99.95) return p < 1 ? "> 99.9 %" : "100 %";
  if (share >= 9.95) return share < 99 ? `${share.toFixed(0)} %` : `${share.toFixed(1)} %`;
  return share >= 0.1 ? `${share.toFixed(1)} %` : "< 0.1 %";
}

/** A share of cases: none of them is 0 %. */
export const share = (value) => (value ? percent(value) : "0 %");

/** A number with its sign, or 0 if it rounds to zero. */
export function signed(value, digits = 2) {
  const text = `${value < 0 ? "" : "+"}${value.toFixed(digits)}`.replace("-", "−");
  return /[1-9]/.test(text) ? text : "0";
}

export const beyondLimit = (tokens) => (
  tokens ? [`${counted(tokens, "token")} beyond the checkpoint's limit ${tokens === 1 ? "was" : "were"} not read.`] : []
);
export const onlyFirstMask = (others) => (others ? [`This is about the first of ${others + 1} masks.`] : []);

// Traces.

export const ink = (size) => ({ size, color: INK });
export const range = (count, from = 0) => Array.from({ length: count }, (_, i) => from + i);

/** A heatmap with *text* in its cells. The pointer shows *hover*. */
export function cells(z, scale, low, high, { text, hover, gap = 3, ...more } = {}) {
  return { type: "heatmap", z, colorscale: scale, zmin: low, zmax: high, showscale: false, xgap: gap, ygap: gap,
    ...(text && { text, texttemplate: "%{text}", textfont: ink(13) }), ...(hover && { customdata: hover, hovertemplate: HOVER }), ...more };
}

/** Horizontal bars from 0 on, with *text* to the right of their ends. The pointer shows *hover*. */
export function bars(values, colour, { text, hover, ...more } = {}) {
  return { type: "bar", x: values, y: range(values.length), orientation: "h", marker: { color: colour },
    ...(text && { text, textposition: "outside", cliponaxis: false }), ...(hover && { customdata: hover, hovertemplate: HOVER }), ...more };
}

/** A line with a marker at each point. */
export const line = (x, y, colour, { dash, size = 6, ...more } = {}) => ({
  type: "scatter", x, y, mode: "lines+markers",
  line: { color: colour, width: 2, ...(dash && { dash }) },
  marker: { size }, cliponaxis: false, ...more,
});

/** Text that starts at its points. A single *x* applies to all points. */
export const texts = (x, y, text, { colour = TEXT, ...more } = {}) => ({
  type: "scatter", mode: "text", x: Array.isArray(x) ? x : y.map(() => x), y, text,
  textposition: "middle right", textfont: { color: colour, size: 13 }, hoverinfo: "skip", cliponaxis: false,
  ...more,
});

/** The names of lines to the right of their ends, spread apart on an axis that is *height* pixels tall. */
export function lineNames(x, values, names, colours, [low, high], height, room = 0) {
  const places = spread(values.map((value) => height * (high - value) / (high - low)), height - room);
  return texts(x, places.map((place) => high - place / height * (high - low)), names, { colour: colours });
}

/** Spread *ends* at least LINE apart, in their order, and within *height* if there is room. */
function spread(ends, height) {
  const order = range(ends.length).sort((a, b) => ends[a] - ends[b]), moved = [...ends];
  let floor = -Infinity, ceiling = height;
  for (const i of order) moved[i] = floor = Math.max(moved[i], floor + LINE);
  for (const i of order.reverse()) { moved[i] = ceiling = Math.min(moved[i], ceiling); ceiling -= LINE; }
  return moved;
}

/** Lines over the layers in the second panel, {name, text, values, colour, dash}, with *text* next to their ends; a thin line marks
 *  the *chosen* layer, and a press on a marker chooses another. *ends*: of the y axis; *share*: of the width. */
export function layerLines(chart, lines, ends, chosen, height, share) {
  const count = lines[0].values.length, customdata = range(count).map((layer) => ({ set: { layer } }));
  for (const { name, values, colour, dash } of lines) {
    const hovertext = values.map((value, i) => `${name}, ${layerName(i)}: ${value.toFixed(2)}`);
    chart.add(line(range(count), values, colour, { dash, hovertext, size: count <= 13 ? 8 : 5, hoverinfo: "text", customdata }), 2);
  }
  const column = (name) => lines.map((one) => one[name]);
  chart.add(
    lineNames(
      count - 1 + room(count),
      column("values").map((values) => values.at(-1)),
      column("text"),
      column("colour"),
      ends,
      height,
    ),
    2,
  );
  chart.axes("x", layerAxis(count, share), 2);
  chart.axes("y", { range: ends, nticks: 6 }, 2);
  chart.shape({ type: "line", x0: chosen, x1: chosen, y0: ends[0], y1: ends[1], line: { color: TEXT, width: 1 } }, 2);
}

// Axes, and text around the figure.

export const axis = (letter, row) => (row === 1 ? letter : `${letter}${row}`);
export const title = (text, standoff = 4, size = 14) => ({ text, standoff, font: { size } });
export const layerName = (layer) => (layer ? `layer ${layer}` : "input");
export const room = (count) => 0.05 * count;

/** Every *step*th of *labels* at positions 0, 1, 2, …; in the font of tokens if *mono* gives its size. */
export const ticks = (labels, { step = 1, mono = 0 } = {}) => ({
  tickvals: range(labels.length).filter((i) => i % step === 0),
  ticktext: labels.filter((_, i) => i % step === 0),
  ...(mono && { tickfont: { family: MONO, size: mono } }),
});
export const fromOne = (count, step = 1, word = "") => ({ ...ticks(range(count, 1).map((i) => `${word}${i}`), { step }), showgrid: false });
export const down = (labels, more = {}) => ({ autorange: "reversed", showgrid: false, ...ticks(labels, more) });

/** An x axis from the input to the last layer, over *share* of the width. */
export const layerAxis = (count, share) => ({
  domain: [0, share], range: [-room(count), count - 1 + room(count)],
  ...ticks(["in", ...range(count - 1, 1).map(String)], { step: count <= 13 ? 1 : 6 }),
  tickangle: 0,
});

/** The ends of an axis of bars that start at 0, with room for their numbers. */
export function fromZero(values) {
  const low = Math.min(0, ...values), high = Math.max(0, ...values), space = 0.27 * ((high - low) || 1);
  return [low < 0 ? low - space : low, high + space];
}

/** An annotation above the left edge of the figure, or of the panel in *row*. */
export const above = (text, shift = 8, { row = 0, size = 14, ...more } = {}) => ({
  text, xref: "paper", x: 0, xanchor: "left", yref: row ? `${axis("y", row)} domain` : "paper", y: 1,
  showarrow: false, align: "left", font: { size }, yanchor: "bottom", yshift: shift, ...more,
});

/** Traces and a layout. Panels count from 1, the first one at the top. */
export class Chart {
  data = [];
  layout = {};

  constructor(...traces) { for (const trace of traces) this.add(trace); }

  /** Stacked panels of *heights* pixels, *gap* pixels apart, each with its title. */
  static panels(heights, gap, titles = []) {
    const chart = new Chart();
    const whole = heights.reduce((a, b) => a + b, 0);
    const apart = heights.length > 1 ? gap / (whole + gap * (heights.length - 1)) : 0;
    const space = 1 - apart * (heights.length - 1);
    let start = 0;
    heights.forEach((height, i) => {
      const number = i ? String(i + 1) : "", end = start + space * height / whole, y = [Math.max(0, 1 - end), 1 - start];
      chart.layout[`xaxis${number}`] = { anchor: `y${number}`, domain: [0, 1] };
      chart.layout[`yaxis${number}`] = { anchor: `x${number}`, domain: y };
      if (titles[i]) {
        chart.note({
          text: titles[i], x: 0, y: y[1], xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom",
          showarrow: false, font: { size: 14 },
        });
      }
      start = end + apart;
    });
    chart.rows = heights.length;
    return chart;
  }

  /** Panels side by side, *widths* wide in any unit and *apart* from each other, a share of the whole. */
  static columns(widths, apart) {
    const chart = new Chart(), space = (1 - apart * (widths.length - 1)) / widths.reduce((a, b) => a + b, 0);
    let start = 0;
    widths.forEach((width, i) => {
      const number = i ? String(i + 1) : "";
      chart.layout[`xaxis${number}`] = { anchor: `y${number}`, domain: [start, start + space * width] };
      chart.layout[`yaxis${number}`] = { anchor: `x${number}`, domain: [0, 1] };
      start += space * width + apart;
    });
    return chart;
  }

  /** Add a trace, in the panel *row*. */
  add(trace, row = 0) {
    const axes = row ? { xaxis: axis("x", row), yaxis: axis("y", row) } : {};
    this.data.push({ ...trace, ...axes });
  }

  note(annotation) { (this.layout.annotations ??= []).push(annotation); }

  shape(shape, row = 0) { (this.layout.shapes ??= []).push({ ...shape, ...(row && { xref: axis("x", row), yref: axis("y", row) }) }); }

  /** A horizontal line through a whole panel. */
  image(image) { (this.layout.images ??= []).push(image); }

  /** Change the axis of the panel *row*, or all of a *letter*. */
  axes(letter, patch, row = 0) {
    const all = Object.keys(this.layout).filter((name) => new RegExp(`^${letter}axis\\d*$`).test(name));
    for (const name of row ? [`${letter}axis${axis("", row)}`] : all.length ? all : [`${letter}axis`]) {
      this.layout[name] = merge(this.layout[name] ?? {}, patch);
    }
  }

  /** Write *lines* under the figure, *gap* pixels below it and *step* pixels apart; their height in pixels. */
  below(lines, gap, step, { size = 14, ...more } = {}) {
    lines.forEach((text, row) => this.note(above(text, -gap - step * row, { size, y: 0, yanchor: "top", ...more })));
    return gap + step * lines.length;
  }

  /** The layout that all figures share. The page reserves *height* pixels while it waits for a new result. */
  finish(height, layout = {}) {
    const base = {
      template: {}, height, margin: { l: 8, r: 16, t: 28, b: 8 }, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)", font: { family: SANS, size: 14, color: TEXT }, showlegend: false,
      hoverlabel: { font: { family: SANS, size: 14 } }, dragmode: false,
      modebar: { remove: ["zoom", "pan", "select", "lasso", "zoomIn", "zoomOut", "autoScale", "resetScale"] },
    };
    this.layout = merge(this.layout, { ...base, ...layout });
    for (const letter of ["x", "y"]) {
      this.layout[`${letter}axis`] ??= {};
      this.axes(letter, { ...AXIS, ...(letter === "y" && { ticklabelstandoff: 6 }) });
    }
    return this;
  }

  toJSON() { return { data: this.data, layout: this.layout, ...(this.presses?.length && { presses: this.presses }) }; }
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** *old* with the entries of *patch*; nested objects are merged too. */
function merge(old, patch) {
  const out = { ...old };
  for (const [key, value] of Object.entries(patch)) out[key] = isObject(value) && isObject(old[key]) ? merge(old[key], value) : value;
  return out;
}

export const heightOf = (heights, gap) => Math.round(heights.reduce((a, b) => a + b, 0)) + gap * (heights.length - 1);
