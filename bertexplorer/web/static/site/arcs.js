// Lines from the attending tokens on the left to their targets on the right; more attention is darker.
import { argmax, most, range } from "../numbers.js";

const SHOWN = 96,
  LINES = 400,
  LEAST = 0.01; // tokens in a column; lines; the least share of the largest that is drawn

/** The mark of a result of the view of attention. *write* makes words of a number. */
export function arcsOf(result, write) {
  const { rows, columns, part, visible } = linesOf(result),
    { picked, about } = result;
  return {
    kind: "arcs",
    left: rows.map((i) => result.rows[i].label),
    right: columns.map((j) => result.columns[j].label),
    links: visible.slice(0, LINES).map(([i, j]) => [i, j, Math.round(1e4 * part[i][j]) / 1e4]),
    strong: picked ? about.filter((i) => rows.includes(i)).map((i) => i - rows[0]) : [],
    notes: picked ? columns.map((j) => write(result.gives[j])) : [],
    unit: result.norms ? "" : "share",
  };
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
  const part = down.map((i) =>
    across.map((j) => (picked && !about.includes(i) ? 0 : matrix[i][j])),
  );
  const top = most(part.map((row) => most(row))) || 1;
  const visible = part
    .flatMap((row, i) => row.flatMap((one, j) => (one >= LEAST * top ? [[i, j]] : [])))
    .sort(([a, b], [c, d]) => part[c][d] - part[a][b]);
  return { rows: down, columns: across, part, visible };
}

/** A sentence about what is not drawn; "" if everything is. */
export function sayCut(result) {
  const { rows, columns, visible } = linesOf(result),
    isCut = rows.length < result.rows.length || columns.length < result.columns.length;
  const tokens = isCut
    ? `${Math.max(rows.length, columns.length)} tokens around it are drawn. `
    : "";
  return (
    tokens +
    (!result.picked && visible.length > LINES ? `The ${LINES} strongest lines are drawn.` : "")
  ).trim();
}
