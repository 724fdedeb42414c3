// Marks: draws a figure (charts/marks.py says what one is) as an SVG: for the page, a widget, a site, and a file.
import * as arcs from "./marks_arcs.js";
import * as bars from "./marks_bars.js";
import * as cells from "./marks_cells.js";
import * as columns from "./marks_columns.js";
import * as histogram from "./marks_histogram.js";
import * as lines from "./marks_lines.js";
import * as points from "./marks_points.js";
import { fitting, FONT, STYLE, words, wrapped } from "./marks_parts.js";
import * as spans from "./marks_spans.js";
import * as text from "./marks_text.js";
import * as tiles from "./marks_tiles.js";
import * as tokens from "./marks_tokens.js";
import { least, most, sum } from "./numbers.js";

/** @import { Figure } from "./types.d.ts" */

// each with draw(mark, width, pen), and the numbers of its scale
const KINDS = { arcs, bars, cells, columns, histogram, lines, points, spans, text, tiles, tokens };
const GAP = 26,
  LINE = 20,
  AXIS = 20,
  EDGE = 8; // between rows of panels; a line of a title; the name of an axis; below all
const APART = 24,
  CLOSE = 6,
  FEW = 3; // between panels side by side; between many; how many are few

/** {svg, height, marks}: the drawing of *figure* in units of which it is *width* wide. The `data-at` of an element is the index of
 *  its mark in *marks*, [{hover, door}].
 *  @param {Figure} figure */
export function draw(figure, width) {
  const marks = [];
  const group = (mark, inside) => {
    const kind = mark.door ? "mark door" : "mark";
    const at = marks.push(mark) - 1;
    return `<g class="${kind}" data-at="${at}">${inside.join("")}</g>`;
  };
  // 1. What the marks of all panels share, and the widths.
  const { panels = [] } = figure;
  const shown = panels.flatMap((panel) => panel.marks);
  const all = (kind) => shown.filter((mark) => mark.kind === kind).map(scaled);
  const pen = { group, whole: width, isAlone: panels.length === 1 };
  pen.margins = lines.margins(all("lines"), width);
  pen.names = bars.widestName(all("bars"));
  const rows = rowsOf(figure.panels).map((row) => withWidths(row, width, pen));
  pen.scales = bars.scales(rows.flat(), pen);

  // 2. The panels row by row; those of a row have their rows at the same heights.
  const parts = [];
  let y = 0;
  for (const row of rows) {
    if (parts.length) y += GAP;
    const heads = row.map((panel) => headOf(panel, pen));
    const top = most(heads.map((head) => head.height));
    const apart = apartIn(row);
    let x = 0;
    let tallest = 0;
    let aligned = null; // where the rows of the first panel lie
    row.forEach(({ x: axis, y: down, wide, mark, beside }, i) => {
      const own = { ...pen, beside, row: aligned, x: axis, y: down };
      const body = KINDS[mark.kind].draw(mark, wide, own);
      if (row.length > 1) aligned ??= body.row;
      const place = `transform="translate(0 ${top})"`;
      const inside = [...heads[i].drawn];
      inside.push(`<g class="${mark.kind}" ${place}>${body.drawn.join("")}</g>`);
      let { height, middle } = body;
      if (axis) {
        height += AXIS;
        const room = 2 * Math.min(middle, wide - middle);
        inside.push(words(middle, top + height, fitting(axis, room), { anchor: "middle" }));
      }
      parts.push(`<g transform="translate(${Math.round(x)} ${y})">${inside.join("")}</g>`);
      tallest = Math.max(tallest, height);
      x += wide + apart;
    });
    y += top + tallest;
  }
  const height = Math.ceil(y + EDGE);
  const source =
    `<svg xmlns="http://www.w3.org/2000/svg" class="marks" viewBox="0 0 ${width} ${height}" width="100%">` +
    `<style>${STYLE}</style>${parts.join("")}</svg>`;
  const parsed = new DOMParser().parseFromString(source, "text/html"); // all texts in it are escaped: see words()
  return { svg: document.importNode(parsed.querySelector("svg"), true), height, marks };
}

const apartIn = (row) => (row.length > FEW ? CLOSE : APART);

/** The panels of a row with their widths, *wide*: what names do not need is shared. */
function withWidths(row, width, pen) {
  const panels = row.map(({ marks: [mark, ...beside], ...panel }) => ({
    ...panel,
    mark: scaled(mark),
    beside,
  }));
  const edges = panels.map(({ mark }, i) => {
    const sharesNames = i > 0 && mark.kind === "cells" && panels[0].mark.kind === "cells";
    return sharesNames ? 0 : (KINDS[mark.kind].edge?.(mark, pen) ?? 0);
  });
  const room = width - apartIn(row) * (row.length - 1) - sum(edges);
  const shares = panels.map((panel) => panel.share ?? 1);
  return panels.map((panel, i) => ({
    ...panel,
    wide: edges[i] + (room * shares[i]) / sum(shares),
  }));
}

/** What stands above the marks of a panel: its title and its keys. */
function headOf({ title, beside, wide }, pen) {
  const lines = title ? title.split("\n").flatMap((line) => wrapped(line, wide)) : [];
  const drawn = lines.map((line, i) => words(0, FONT + LINE * i, fitting(line, wide)));
  let height = LINE * lines.length;
  for (const key of beside.filter(({ kind }) => kind === "text")) {
    const body = text.draw(key, wide, pen);
    const place = `transform="translate(0 ${height - 3})"`;
    drawn.push(`<g class="text" ${place}>${body.drawn.join("")}</g>`);
    height += body.height;
  }
  return { drawn, height };
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
  first.panels.forEach((panel, i) =>
    panel.marks.forEach((mark, j) => {
      const other = second.panels[i]?.marks[j];
      if (other?.kind !== mark.kind || !KINDS[mark.kind]) return;
      const ours = scaled(mark);
      const theirs = scaled(other);
      mark.low = other.low = Math.min(ours.low, theirs.low);
      mark.high = other.high = Math.max(ours.high, theirs.high);
    }),
  );
}

/** *mark* with the ends of its scale: its own, or those of its numbers. */
function scaled(mark) {
  const numbers = KINDS[mark.kind].numbers(mark).filter(Number.isFinite);
  return { ...mark, low: mark.low ?? least(numbers), high: mark.high ?? most(numbers) };
}
