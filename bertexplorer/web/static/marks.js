// Marks: draws a figure (charts/marks.py says what one is) as an SVG: for the page, a widget, a site, and a file.
import * as bars from "./marks_bars.js";
import * as cells from "./marks_cells.js";
import * as columns from "./marks_columns.js";
import * as histogram from "./marks_histogram.js";
import * as lines from "./marks_lines.js";
import { FONT, least, most, STYLE, words, wrapped } from "./marks_parts.js";
import * as text from "./marks_text.js";
import * as tokens from "./marks_tokens.js";

const KINDS = { bars, cells, columns, histogram, lines, text, tokens };  // each with draw(mark, width, pen), and the numbers of its scale
const GAP = 26, APART = 24, LINE = 20, AXIS = 20, EDGE = 8;  // between rows, and panels; a title; the name of an axis; below all

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
  for (const row of rowsOf(figure.panels)) {
    if (parts.length) y += GAP;
    const whole = row.reduce((sum, { share = 1 }) => sum + share, 0), room = width - APART * (row.length - 1);
    let x = 0, titles = 0, tallest = 0, aligned = null;
    for (const panel of row) panel.lines = panel.title ? wrapped(panel.title, (room * (panel.share ?? 1)) / whole) : [];
    titles = LINE * most([0, ...row.map(({ lines: { length } }) => length)]);
    for (const panel of row) {
      const wide = (room * (panel.share ?? 1)) / whole, [mark, ...beside] = panel.marks;
      const found = KINDS[mark.kind].draw(scaled(mark), wide, { ...pen, beside, row: aligned });
      if (row.length > 1) aligned ??= found.row;
      let { height } = found;
      const inside = panel.lines.map((line, i) => words(0, FONT + LINE * i, line));
      inside.push(`<g class="${mark.kind}" transform="translate(0 ${titles})">${found.drawn.join("")}</g>`);
      if (panel.x) {
        height += AXIS;
        inside.push(words(found.middle, titles + height, panel.x, { anchor: "middle" }));
      }
      parts.push(`<g transform="translate(${Math.round(x)} ${y})">${inside.join("")}</g>`);
      tallest = Math.max(tallest, height);
      x += wide + APART;
    }
    y += titles + tallest;
  }
  const height = Math.ceil(y + EDGE);
  const holder = document.createElement("template");
  holder.innerHTML = `<svg xmlns="http://www.w3.org/2000/svg" class="marks" viewBox="0 0 ${width} ${height}" width="100%">`
    + `<style>${STYLE}</style>${parts.join("")}</svg>`;
  return { svg: document.importNode(holder.content.firstChild, true), height, marks };
}

/** The panels row by row: one that is beside the former stands in its row. */
function rowsOf(panels) {
  const rows = [];
  for (const panel of panels) {
    if (panel.beside && rows.length) rows.at(-1).push({ ...panel });
    else rows.push([{ ...panel }]);
  }
  return rows;
}

/** Give the marks of *first* and *second*, two figures of one view, the same scales. */
export function shareScales(first, second) {
  first.panels.forEach((panel, i) => panel.marks.forEach((mark, j) => {
    const other = second.panels[i]?.marks[j];
    if (other?.kind !== mark.kind || !KINDS[mark.kind]) return;
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
