// What marks are drawn with: rectangles, words that fit, colours, round numbers. Lengths are in units of the drawing, about pixels.
import { penOf } from "./kit.js";
import { most } from "./numbers.js";

export const FONT = 14,
  TOKEN = 13,
  SMALL = 12; // sizes of text
export const CHARACTER = 0.605; // the width of a character of IBM Plex Mono, of its size

// The colour of a mark, and of words about it, which the page may darken or lighten.
const TONES = {
  blue: ["#2b6cb0", "var(--accent, #2b6cb0)"],
  pale: ["var(--pale, #a9c8ea)", "var(--quiet, #5b6675)"],
  orange: ["#d55e00", "var(--ink-orange, #b85000)"],
  green: ["#009e73", "var(--ink-green, #007a58)"],
  grey: ["#8a94a3", "var(--quiet, #5b6675)"],
  pink: ["#cc79a7", "var(--ink-pink, #9c5a80)"],
  ochre: ["#b88a00", "var(--ink-ochre, #856300)"],
  sky: ["#56b4e9", "var(--ink-sky, #33749a)"],
  brown: ["#a0693a", "var(--ink-brown, #a0693a)"],
};
const PALETTES = {
  shades: ["#f0f5fb", "#86b3e4"],
  signed: ["#eda063", "#f4f6f8", "#86b3e4"], // light enough for dark words
  root: ["#eef4fb", "#a9c8ea", "#4f8fce", "#2b6cb0", "#12406f"],
  strong: ["#d55e00", "#f7f9fb", "#2b6cb0"],
  groups: ["blue", "orange", "green", "pink", "ochre", "sky", "brown"].map(
    (tone) => TONES[tone][0],
  ),
};

export const DASHES = { dash: "7 4", dot: "2 4" }; // of a line

const NO_GROUP = [213, 218, 225];
const ROOT = [0, 0.5, 0.72, 0.85, 1]; // where the colours of "root" stand

export const colour = (tone = "blue") => TONES[tone][0];
export const ink = (tone = "blue") => TONES[tone][1];

/** The style of a drawing. A file knows no colours of a page: each has a value for light paper. */
export const STYLE = `
.marks text { font: ${FONT}px "IBM Plex Sans", system-ui, sans-serif; fill: var(--quiet, #5b6675); }
.marks text.token { font: ${TOKEN}px "IBM Plex Mono", ui-monospace, monospace; }
.marks text.small { font-size: ${SMALL}px; }
.marks text.inside { fill: #16202c; }
.marks .cross { stroke: #16202c; stroke-width: 2; }
.marks .grid { stroke: #8a94a3; stroke-opacity: .25; }
`;

// Shapes

const rounded = (number) => Math.round(100 * number) / 100;
const CONTROL = /(?![\t\n\r\x7f-\x9f])[\p{Cc}\ufffe\uffff]/gu; // which no SVG may have
const escaped = (words) =>
  String(words)
    .toWellFormed()
    .replace(CONTROL, "\ufffd")
    .replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

export function rectangle(x, y, width, height, fill) {
  return `<rect x="${rounded(x)}" y="${rounded(y)}" width="${rounded(width)}" height="${rounded(height)}" fill="${fill}"/>`;
}

/** Words that begin, end or have their middle ("start", "end", "middle") at a place. */
export function words(x, y, text, { anchor = "start", kind = "", style = "", turned = 0 } = {}) {
  if (text === "") return "";
  const turn = turned ? ` transform="rotate(${turned} ${rounded(x)} ${rounded(y)})"` : "";
  const attributes = `text-anchor="${anchor}" class="${kind}" style="${style}"${turn}`;
  return `<text x="${rounded(x)}" y="${rounded(y)}" ${attributes}>${escaped(text)}</text>`;
}

export function path(points, attributes) {
  const steps = points.map(([x, y], i) => `${i ? "L" : "M"}${rounded(x)} ${rounded(y)}`);
  return `<path d="${steps.join("")}" fill="none" ${attributes}/>`;
}

/** A straight line from one [x, y] to another. */
export const segment = (from, to, attributes) => path([from, to], attributes);

/** A frame around a place. */
export function frame(x, y, width, height, thick = 2) {
  const corners = [
    [x, y],
    [x + width, y],
    [x + width, y + height],
    [x, y + height],
    [x, y],
  ];
  return path(corners, `stroke="#d55e00" stroke-width="${thick}" pointer-events="none"`);
}

export const dot = (x, y, radius, fill) =>
  `<circle cx="${rounded(x)}" cy="${rounded(y)}" r="${radius}" fill="${fill}"/>`;

/** A function from numbers between *low* and *high* to the colours of a palette. */
export function shading(palette = "shades", low = 0, high = 1) {
  const stops = PALETTES[palette].map((one) =>
    [1, 3, 5].map((at) => parseInt(one.slice(at, at + 2), 16)),
  );
  return (number) => {
    if (palette === "groups") return `rgb(${(stops[number] ?? NO_GROUP).join()})`;
    const share = Math.max(0, Math.min(1, (number - low) / (high - low || 1)));
    const place = palette === "root" ? Math.sqrt(share) : share;
    const places = palette === "root" ? ROOT : stops.map((_, i) => i / (stops.length - 1));
    const at = Math.max(0, places.findIndex((one) => one >= place) - 1);
    const between = (place - places[at]) / (places[at + 1] - places[at]);
    const mixed = stops[at].map((one, i) => Math.round(one + (stops[at + 1][i] - one) * between));
    return `rgb(${mixed.join()})`;
  };
}

/** Whether white words can be read better on *fill*, "#rrggbb" or as `shading` makes it. */
export function isDark(fill) {
  const numbers = fill.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16))
    : fill.match(/\d+/g)?.map(Number);
  const [red, green, blue] = numbers ?? [255, 255, 255];
  return 0.299 * red + 0.587 * green + 0.114 * blue < 140;
}

// Numbers

/** Round numbers from *low* to *high*, about *count* of them. */
export function roundNumbers(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? 10 * power;
  const numbers = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1)
    numbers.push(Number((i * step).toPrecision(12)));
  return numbers;
}

/** The powers of ten from 1 to *high*. */
export const powers = (high) =>
  Array.from({ length: Math.floor(Math.log10(high)) + 1 }, (_, i) => 10 ** i);

/** A number at an axis or under the pointer. */
export function short(number) {
  return Number.isFinite(number)
    ? number.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−")
    : "–";
}

/** A number below its place on an axis, within the *width* of the drawing. */
export function tickBelow(x, y, text, width) {
  const half = widthOf(text, SMALL) / 2;
  return words(Math.max(half, Math.min(width - half, x)), y, text, {
    anchor: "middle",
    kind: "small",
  });
}

/** *places* at least a line apart, in their order, and within *height* if there is room. */
export function spread(places, height, line = 17) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const moved = [...places];
  let floor = -Infinity;
  for (const i of order) moved[i] = floor = Math.max(moved[i], floor + line);
  let ceiling = height;
  for (const i of order.reverse()) {
    moved[i] = ceiling = Math.min(moved[i], ceiling);
    ceiling -= line;
  }
  return moved;
}

// Words and their widths

/** @type {CanvasRenderingContext2D | undefined} */
let ruler;
let wanted = ""; // its font, as it was set

export function widthOf(text, size = FONT, tokens = false, bold = false) {
  if (tokens) return CHARACTER * size * text.length;
  ruler ??= penOf(document.createElement("canvas"));
  const font = `${bold ? "700 " : ""}${size}px "IBM Plex Sans", system-ui, sans-serif`;
  if (wanted !== font) ruler.font = wanted = font;
  return ruler.measureText(text).width;
}

export const widest = (texts, size = FONT, tokens = false) =>
  most([0, ...texts.map((text) => widthOf(text, size, tokens))]);

/** *text* cut to a *width*. */
export function fitting(text, width, size = FONT, tokens = false) {
  const whole = widthOf(text, size, tokens);
  if (whole <= width) return text;
  const letters = [...text];
  let count = Math.floor((letters.length * width) / whole);
  while (count > 0 && widthOf(`${letters.slice(0, count).join("")}…`, size, tokens) > width)
    count -= 1;
  return count > 0 ? `${letters.slice(0, count).join("")}…` : "";
}

/** The lines of *text* that fit into *width*; a word that is wider than a line is cut. *measure*: the width of words, if they
 *  will stand in another font. */
export function wrapped(text, width, size = FONT, measure = (words) => widthOf(words, size)) {
  return text.split("\n").flatMap((paragraph) => {
    const lines = [];
    for (const word of paragraph.split(" ")) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && measure(longer) <= width) lines[lines.length - 1] = longer;
      else lines.push(fitting(word, width, size));
    }
    return lines;
  });
}

/** *text* on at most two lines, the second cut. */
export function twoLines(text, width) {
  const lines = wrapped(text, width);
  return lines.length > 2 ? [lines[0], fitting(lines.slice(1).join(" "), width)] : lines;
}
