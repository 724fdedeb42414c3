// Cells: a table whose colours are numbers, with names on the left and above.
import { FONT, fitting, rectangle, shading, SMALL, TOKEN, widest, words } from "./marks_parts.js";

const ROW = 30, TALL = 42;  // a row of one line, and of two
const NAMES = 0.32, APART = 8;  // the room for the names of rows, a share of the width; and beside them
const TURNED = -60, LONGEST = 110;  // degrees of the names of narrow columns, and their room
const DOWN = Math.sin(Math.PI / 3), ACROSS = Math.cos(Math.PI / 3);  // what a turned name takes

export const numbers = ({ values }) => values.flat();

export function draw(mark, width, { group }) {
  const { rows, columns = [], values, low, high, text, hover, doors, tokens } = mark;
  const size = tokens ? TOKEN : FONT, kind = tokens ? "token" : "", count = values[0]?.length ?? 0;

  // 1. The names of the rows, and those of the columns, which are turned where they are wider than a column.
  const start = Math.min(NAMES * width, widest(rows, size, tokens) + 2) + APART;
  const longest = Math.min(LONGEST, widest(columns, size, tokens));
  const level = longest <= (width - start) / count - 4;
  const across = (width - start - (level ? 0 : ACROSS * longest / 2)) / count;
  let above = 0;
  if (columns.length) above = level ? size + 10 : DOWN * longest + 14;
  const tall = text?.some((row) => row.some((one) => one.includes("\n"))) ? TALL : ROW;
  const names = [];
  columns.forEach((name, j) => {
    const place = level ? { anchor: "middle" } : { turned: TURNED };
    names.push(words(start + across * (j + 0.5), above - 7, fitting(name, level ? across - 4 : longest, size, tokens), { ...place, kind }));
  });
  rows.forEach((name, i) => {
    names.push(words(start - APART, above + tall * (i + 0.5) + 5, fitting(name, start - APART, size, tokens), { anchor: "end", kind }));
  });

  // 2. The cells. A word is cut to its cell; numbers are written whole in all cells, or in none.
  const figures = (text ?? []).flat().flatMap((one) => one.split("\n")).filter((line) => /\d/.test(line));
  const roomForNumbers = widest(figures, SMALL) <= across - 2;
  const shown = (line) => {
    if (/\d/.test(line)) return roomForNumbers ? line : "";
    return fitting(line, across - 8, SMALL);
  };
  const shade = shading(mark.palette, low, high), cells = [];
  values.forEach((row, i) => row.forEach((value, j) => {
    const x = start + across * j, y = above + tall * i;
    const lines = (text?.[i]?.[j] ?? "").split("\n").map(shown);
    const said = hover?.[i]?.[j] ?? `${rows[i]}, ${columns[j] ?? j + 1}: ${value}`;
    cells.push(group({ hover: said, door: doors?.[i]?.[j] }, [
      rectangle(x + 1, y + 1, Math.max(1, across - 2), tall - 2, value === null ? "none" : shade(value)),
      ...lines.map((line, at) => words(
        x + across / 2, y + tall / 2 + 4.5 + 16 * (at - (lines.length - 1) / 2), line, { anchor: "middle", kind: "small inside" },
      )),
    ]));
  }));
  return { drawn: [...names, `<g class="tinted">${cells.join("")}</g>`], height: above + tall * rows.length };
}
