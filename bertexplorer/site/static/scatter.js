// Points with names: which of the names can be written without touching another, and on which side of their points.
import { safe } from "./chart.js";
import { least, most } from "./numbers.js";

const PHONE = 312;  // pixels: the least width of a plot
// pixels: a character, a line at 13 px, a line under a figure, a marker that text may cover
const LETTER = 7.4, LINE = 17, ROW = 21, SMALL = 7;
const SIDES = ["top center", "bottom center", "middle right", "middle left"];
export const QUIET = { showticklabels: false, showgrid: false, fixedrange: true };  // an axis without numbers

/** The ends of an axis with room around its points. */
export function limits(values) {
  const low = values.length ? least(values) : 0, high = values.length ? most(values) : 1, space = 0.08 * (high - low) || 1;
  return [low - space, high + space];
}

/** A trace of as many *names* as find room on a phone: {place, text, colour, size of the point's marker}, by priority. *height*: of
 *  the panel in pixels; *ranges*: of x and y. */
export function namesOf(names, height, ranges, family) {
  const sides = placeNames(names, height, ranges), written = [...sides.keys()].map((i) => names[i]);
  const rounded = (at) => written.map(({ place }) => Math.round(1e4 * place[at]) / 1e4);
  return {
    type: "scatter", x: rounded(0), y: rounded(1), mode: "markers+text",
    marker: { opacity: 0, size: written.map(({ size = SMALL }) => size) },
    text: written.map(({ text }) => safe(text)),
    textposition: [...sides.values()],
    textfont: { color: written.map(({ colour }) => colour), size: 12, family },
    hoverinfo: "skip", cliponaxis: false,
  };
}

/** The index of each name that has room -> the side of its point. */
function placeNames(names, height, ranges) {
  const points = names.map(({ place }) =>
    [PHONE, height].map((size, at) => (place[at] - ranges[at][0]) / (ranges[at][1] - ranges[at][0]) * size));
  const placed = new Map();
  const taken = points.flatMap(([x, y], i) => {
    const half = (names[i].size ?? SMALL) / 2;
    return 2 * half > SMALL ? [[x - half, y - half, x + half, y + half]] : [];
  });
  points.forEach(([x, y], i) => {
    for (const side of SIDES) {
      const box = boxOf(x, y, LETTER * [...names[i].text].length + 4, side, (names[i].size ?? SMALL) / 2);
      const isInside = box[0] >= 0 && box[2] <= PHONE && box[1] >= 0 && box[3] <= height;
      if (!isInside || taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      placed.set(i, side);
      break;
    }
  });
  return placed;
}

/** [left, low, right, high] of a text at the distance *off* from a point. */
function boxOf(x, y, width, side, off) {
  if (side === "middle right") return [x + off, y - LINE / 2, x + off + width, y + LINE / 2];
  if (side === "middle left") return [x - off - width, y - LINE / 2, x - off, y + LINE / 2];
  const low = side === "top center" ? y + off : y - off - LINE;
  return [x - width / 2, low, x + width / 2, low + LINE];
}

/** Write [text, colour] lines under the figure, *gap* pixels below it; their height in pixels. */
export function writeBelow(chart, lines, gap) {
  const height = chart.below(lines.map(([text]) => text), gap, ROW, { size: 13 });
  chart.layout.annotations.slice(-lines.length).forEach((note, i) => { note.font = { ...note.font, color: lines[i][1] }; });
  return height + 12;
}
