// Lines from the attending tokens on the left to their targets on the right; more attention is darker.
import { ACCENT, Chart, clip, MONO, safe, TEXT, texts } from "./chart.js";
import { argmax, most, range } from "./numbers.js";

const SHOWN = 96, LINES = 400, LEAST = 0.01;  // tokens in a column; lines; the least share of the largest that is drawn
const ROW = 24, LETTERS = 11;  // pixels of a token; letters of its name
const BINS = [[0.05, 0.8, 0.5], [0.15, 1.2, 0.65], [0.3, 2, 0.75], [0.6, 3, 0.9], [1.01, 4.5, 1]];  // up to, pixels, opacity
const LEFT = 0.32, RIGHT = 0.68, GAP = 0.008;  // shares of the width: the lines run between them

/** The chart of a result of the view of attention. *write* makes words of a number. */
export function drawArcs(result, write) {
  const { rows, columns, part, top, visible } = linesOf(result), strongest = visible.slice(0, LINES), chart = new Chart();
  BINS.forEach(([high, width, opacity], bin) => {
    const drawn = strongest.filter(([i, j]) => part[i][j] / top < high && (!bin || part[i][j] / top >= BINS[bin - 1][0]));
    const x = drawn.flatMap(() => [LEFT, RIGHT, null]), y = drawn.flatMap(([i, j]) => [i, j, null]);
    if (drawn.length) chart.add({ type: "scatter", x, y, mode: "lines", line: { color: ACCENT, width }, opacity });
  });
  const column = (names, x, textposition, color) => {
    chart.add(texts(x, range(names.length), names.map(safe), {
      textposition, textfont: { family: MONO, size: 13, color }, hoverinfo: undefined,
    }));
  };
  const isLooking = (i) => result.picked && result.about.includes(i), share = (j) => (result.picked ? ` ${write(result.gives[j])}` : "");
  column(rows.map((i) => result.rows[i].label), LEFT - GAP, "middle left", rows.map((i) => (isLooking(i) ? ACCENT : TEXT)));
  column(columns.map((j) => clip(result.columns[j].label, LETTERS) + share(j)), RIGHT + GAP, "middle right", columns.map(() => TEXT));
  const count = Math.max(rows.length, columns.length);
  chart.axes("x", { range: [0, 1], visible: false });
  chart.axes("y", { range: [count - 0.3, -0.7], visible: false });
  return chart.finish(Math.max(300, 24 + ROW * count), { margin: { l: 0, r: 0, t: 12, b: 12 }, hovermode: false });
}

/** The rows and columns around the tokens that the view is about, their numbers, and the places of those that are visible, the
 *  largest first. */
function linesOf({ rows, columns, about, picked, matrix }) {
  const middle = rows[about[0]].positions[0];
  const [down, across] = [rows, columns].map((units) => {
    const at = argmax(units.map((unit) => -Math.abs(unit.positions[0] - middle)));
    const start = Math.max(0, Math.min(at - SHOWN / 2, units.length - SHOWN));
    return range(Math.min(SHOWN, units.length), start);
  });
  const part = down.map((i) => across.map((j) => (picked && !about.includes(i) ? 0 : matrix[i][j])));
  const top = most(part.map((row) => most(row))) || 1;
  const visible = part.flatMap((row, i) => row.flatMap((one, j) => (one >= LEAST * top ? [[i, j]] : [])))
    .sort(([a, b], [c, d]) => part[c][d] - part[a][b]);
  return { rows: down, columns: across, part, top, visible };
}

/** A sentence about what is not drawn; "" if everything is. */
export function sayCut(result) {
  const { rows, columns, visible } = linesOf(result), isCut = rows.length < result.rows.length || columns.length < result.columns.length;
  const tokens = isCut ? `${Math.max(rows.length, columns.length)} tokens around it are drawn. ` : "";
  return (tokens + (!result.picked && visible.length > LINES ? `The ${LINES} strongest lines are drawn.` : "")).trim();
}
