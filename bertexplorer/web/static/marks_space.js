// Points in space, which a person turns: a figure of marks as the JSON that plotly.js draws.
import { colour } from "./marks_parts.js";
import { withRoom } from "./marks_points.js";
import { least, most } from "./numbers.js";

const TALL = 456,
  LINE = 21,
  TOP = 16,
  SIDE = 8; // pixels: the points, a line below them, and around all
const SIZES = { none: 0, dot: 2, small: 3, usual: 4, large: 8 };
const NAMED = 30; // names of a mark that are written: more would overlap once they are turned
const PHONE = 312; // pixels: names that do not overlap on a phone do not overlap on a wider page either
const SIDES = ["top center", "bottom center", "middle right", "middle left"];
const FONTS = { true: "IBM Plex Mono, monospace", false: "IBM Plex Sans, sans-serif" };

const escaped = (text) =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("\n", "<br>");

export const isSpace = (figure) => Boolean(figure.panels?.[0].marks[0].z);

/** *figure*, whose first panel has points in space, and the others text, in plotly's JSON, all lengths multiplied *by* a factor. */
export function spaceOf(figure, by = 1) {
  const [{ marks }, ...below] = figure.panels;
  const lines = below
    .flatMap((panel) => panel.marks)
    .flatMap((mark) => mark.lines)
    .map((line) => [line].flat());
  const axis = {
    showticklabels: false,
    title: { text: "" },
    showbackground: false,
    gridcolor: "rgba(138,148,163,.35)",
  };
  const annotations = lines.map((parts, i) => ({
    text: parts
      .map(
        ({ text, tone = "grey" }) => `<span style="color:${colour(tone)}">${escaped(text)}</span>`,
      )
      .join(""),
    xref: "paper",
    x: 0,
    xanchor: "left",
    yref: "paper",
    y: 0,
    yanchor: "top",
    yshift: -by * (12 + LINE * i),
    showarrow: false,
    align: "left",
    font: { size: 13 * by },
  }));
  const room = by * (24 + LINE * lines.length);
  const layout = {
    height: by * (TOP + TALL) + room,
    margin: { l: SIDE, r: SIDE, t: by * TOP, b: room },
    annotations,
    dragmode: "orbit",
    showlegend: false,
    scene: { xaxis: axis, yaxis: axis, zaxis: axis },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: FONTS[false], color: "#5b6675" },
    hoverlabel: { font: { size: 13 * by } },
  };
  return {
    data: [...[...marks].reverse().map((mark) => traceOf(mark, by)), ...namesOf(marks, by)],
    layout,
  };
}

function traceOf(
  { x, y, z, tone, tones = x.map(() => tone), size = "usual", hollow = [], opacity, hover, doors },
  by,
) {
  const marker = {
    size: SIZES[size] * by,
    opacity: 0.9,
    symbol: x.map((_, i) => (hollow[i] ? "circle-open" : "circle")),
    color: tones.map((one, i) => (opacity ? faint(one, opacity[i]) : colour(one))),
  };
  const tip = hover ? { hovertext: hover.map(escaped), hoverinfo: "text" } : { hoverinfo: "skip" };
  return {
    type: "scatter3d",
    mode: size === "none" ? "none" : "markers",
    x,
    y,
    z,
    marker,
    customdata: doors,
    ...tip,
  };
}

/** The names that do not overlap before the figure is turned, those of the first marks first. */
function namesOf(marks, by) {
  const all = marks
    .filter(({ names = [] }) => names.filter(Boolean).length <= NAMED)
    .flatMap((mark) => {
      const { names = [], size = "usual", tokens = false, tones, tone } = mark;
      return names.map((name, i) => ({
        name,
        at: [mark.x[i], mark.y[i], mark.z[i]],
        off: SIZES[size],
        tokens,
        tone: tones?.[i] ?? tone,
      }));
    })
    .filter(({ name }) => name);
  const seen = seenFromTheCamera(
    marks.flatMap(({ x, y, z }) => x.map((_, i) => [x[i], y[i], z[i]])),
  );
  for (const one of all) {
    const [right, up] = seen(one.at);
    one.place = [(PHONE * (1 + right)) / 2, (TALL * (1 - up)) / 2];
  }
  const written = withRoom(all, 0, PHONE, TALL);
  if (!written.length) return [];
  const [x, y, z] = [0, 1, 2].map((axis) => written.map(([{ at }]) => at[axis])),
    textposition = written.map(([, , side]) => SIDES[side]);
  const color = written.map(([{ tone }]) => colour(tone)),
    text = written.map(([{ name }]) => escaped(name));
  const textfont = { size: 13 * by, color, family: FONTS[written[0][0].tokens] };
  return [
    { type: "scatter3d", mode: "text", x, y, z, text, textposition, textfont, hoverinfo: "skip" },
  ];
}

/** A function from a place to where it is on the screen before the figure is turned: from -1 to 1 to the right, and upwards.
 *  *points*: all that the figure shows. plotly.js fits them into its cube and looks at its middle from (1.25, 1.25, 1.25), with an
 *  angle of 45 degrees from top to bottom. */
export function seenFromTheCamera(points) {
  const axes = [0, 1, 2].map((axis) => points.map((point) => point[axis])),
    low = axes.map(least),
    high = axes.map(most);
  let spans = axes.map((_, axis) => Math.max(high[axis] - low[axis], 1e-12));
  // unless one axis is far longer, all have one scale
  if (most(spans) / least(spans) <= 4)
    spans = spans.map(() => Math.cbrt(spans[0] * spans[1] * spans[2]));
  return (place) => {
    const [x, y, z] = place.map(
      (value, axis) => (value - (low[axis] + high[axis]) / 2) / spans[axis],
    );
    const right = (y - x) / Math.sqrt(2),
      up = (2 * z - x - y) / Math.sqrt(6),
      near = (x + y + z) / Math.sqrt(3);
    const depth = Math.max(1.25 * Math.sqrt(3) - near, 1e-3) * Math.tan(Math.PI / 8);
    return [right / depth, up / depth];
  };
}

/** A tone at a *share* of its strength: plotly.js has one opacity for all points in space. */
function faint(tone, share) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour(tone).slice(at, at + 2), 16));
  return `rgba(${red},${green},${blue},${share})`;
}
