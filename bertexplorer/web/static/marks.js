// Marks: draws a figure (charts/marks.py says what one is) as an SVG: for the page, a widget, a site, and a file.
import * as bars from "./marks_bars.js";
import * as cells from "./marks_cells.js";
import * as histogram from "./marks_histogram.js";
import * as lines from "./marks_lines.js";
import { FONT, least, most, STYLE, words, wrapped } from "./marks_parts.js";

const KINDS = { bars, cells, histogram, lines };  // each with draw(mark, width, pen), and the numbers of its scale
const GAP = 26, LINE = 20, AXIS = 20, EDGE = 8;  // between panels; a line of a title; the name of an axis; below all

/** {svg, height, marks}: the drawing of *figure* in units of which it is *width* wide. The `data-at` of an element is the index of
 *  its mark in *marks*, [{hover, door}]. */
export function draw(figure, width) {
  const marks = [];
  const group = (mark, inside) => {
    marks.push(mark);
    return `<g class="mark${mark.door ? " door" : ""}" data-at="${marks.length - 1}">${inside.join("")}</g>`;
  };
  const all = figure.panels.flatMap((panel) => panel.marks).filter(({ kind }) => kind === "lines").map(scaled);
  const pen = { group, margins: lines.margins(all, width) };

  const parts = [];
  let y = 0;
  for (const { title = "", x = "", marks: [mark, ...beside] } of figure.panels) {
    if (parts.length) y += GAP;
    for (const line of title ? wrapped(title, width) : []) {
      parts.push(words(0, y + FONT, line));
      y += LINE;
    }
    const { drawn, height, middle } = KINDS[mark.kind].draw(scaled(mark), width, { ...pen, beside });
    parts.push(`<g class="${mark.kind}" transform="translate(0 ${y})">${drawn.join("")}</g>`);
    y += height;
    if (x) {
      y += AXIS;
      parts.push(words(middle, y, x, { anchor: "middle" }));
    }
  }
  const height = Math.ceil(y + EDGE);
  const source = `<svg xmlns="http://www.w3.org/2000/svg" class="marks" viewBox="0 0 ${width} ${height}" width="100%">`
    + `<style>${STYLE}</style>${parts.join("")}</svg>`;
  const svg = document.importNode(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, true);
  return { svg, height, marks };
}

/** Give the marks of *first* and *second*, two figures of one view, the same scales. */
export function shareScales(first, second) {
  first.panels.forEach((panel, i) => panel.marks.forEach((mark, j) => {
    const other = second.panels[i]?.marks[j];
    if (other?.kind !== mark.kind || mark.kind === "rule") return;
    const [ours, theirs] = [scaled(mark), scaled(other)];
    mark.low = other.low = Math.min(ours.low, theirs.low);
    mark.high = other.high = Math.max(ours.high, theirs.high);
  }));
}

/** *mark* with the ends of its scale: its own, or those of its numbers. */
function scaled(mark) {
  const numbers = KINDS[mark.kind].numbers(mark).filter(Number.isFinite);
  return { ...mark, low: mark.low ?? least(numbers), high: mark.high ?? most(numbers) };
}
