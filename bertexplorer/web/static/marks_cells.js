// Cells: a table whose colours are numbers, with names on the left and above.
import { penOf } from "./kit.js";
import {
  FONT,
  fitting,
  frame,
  isDark,
  rectangle,
  segment,
  shading,
  short,
  SMALL,
  TOKEN,
  widest,
  words,
  wrapped,
} from "./marks_parts.js";

const ROW = 30,
  LINE = 16; // a row of one line; each further line in its cells
const NAMES = 0.32,
  APART = 8; // the room for the names of rows, a share of the width; and beside them
const MOST_LINES = 4; // of the name of a row
const TURNED = -60,
  LONGEST = 110; // degrees of the names of narrow columns, and their room
const FEW = 60; // rows that are as tall as their names
const SOME = 40,
  LOWEST = 5; // without texts, rows are as tall as columns are wide: of many, too low for all names
const TALLEST = 1100; // more rows than FEW
const MANY = 1000; // cells that become an image of each row, or one of many rows, which are drawn much faster
const DOWN = Math.sin(Math.PI / 3),
  ACROSS = Math.cos(Math.PI / 3); // what a turned name takes

export const numbers = ({ values }) => values.flat();

/** The room for the names of the rows. */
export function edge({ rows, tokens }, { whole }) {
  if (!rows.some(Boolean)) return 0;
  const lines = rows.flatMap((name) => name.split("\n"));
  const longest = widest(lines, tokens ? TOKEN : FONT, tokens) + 2;
  return APART + Math.min(NAMES * whole, longest);
}

export function draw(mark, width, pen) {
  const { rows, columns = [], values, text, tokens } = mark;
  const given = pen.row; // where the rows of the panel before this one lie
  const count = values[0]?.length ?? 0;
  const size = tokens ? TOKEN : FONT;
  const kind = tokens ? "token" : "";

  // 1. The width of a column. Names that are wider are turned, and the last of them needs room beyond its column.
  const start = given ? 0 : edge(mark, pen);
  const longest = Math.min(LONGEST, widest(columns, size, tokens));
  const level = longest <= (width - start) / count - 4;
  let over = 0;
  if (columns.length && !level)
    over = Math.max(0, ACROSS * longest + 8 - (width - start) / count / 2);
  const across = (width - start - over) / count;

  // 2. The height of a row, and where the first begins.
  const named = rows.map((name) => linesOf(name, start - APART, tokens));
  const written = (text ?? []).flat().map((one) => one.split("\n"));
  const most = Math.max(1, ...[...written, ...named].map((lines) => lines.length));
  const line = rows.length > FEW ? Math.min(LINE, TALLEST / rows.length) : ROW;
  const usual = line + LINE * (most - 1) * 0.75;
  const lowest = rows.length > SOME ? Math.min(LOWEST, usual) : LINE;
  const hasText = (text ?? []).flat().some(Boolean) || most > 1;
  const fits = hasText ? usual : Math.max(lowest, Math.min(usual, across));
  const tall = given?.height ?? fits;
  let above = given?.above ?? 0;
  if (columns.length && !given) above = level ? size + 10 : DOWN * longest + 14;

  // 3. The names: of very narrow columns and of very low rows, some have one.
  const names = [];
  const every = level ? 1 : Math.ceil(14 / across);
  columns.forEach((name, j) => {
    if (j % every) return;
    const place = level ? { anchor: "middle" } : { turned: TURNED };
    const shown = fitting(name, level ? across - 4 : longest, size, tokens);
    names.push(words(start + across * (j + 0.5), above - 7, shown, { ...place, kind }));
  });
  const everyRow = Math.ceil((LINE - 3) / tall);
  named.forEach((lines, i) => {
    if (start === 0 || i % everyRow) return;
    lines.forEach((part, at) => {
      const y = above + tall * (i + 0.5) + 5 + LINE * (at - (lines.length - 1) / 2);
      const shown = fitting(part, start - APART, size, tokens);
      names.push(words(start - APART, y, shown, { anchor: "end", kind: at ? "small" : kind }));
    });
  });

  // 4. The cells: one by one, or as an image.
  const grid = { start, above, across, tall, count };
  const isImage = !text && values.length * count > MANY;
  const cells = isImage ? images(mark, grid, pen) : singleCells(mark, grid, pen);

  // 5. Frames and crosses, which let presses through.
  const marked = (mark.framed ?? []).map(([i, j]) =>
    frame(start + across * j, above + tall * i, across, tall),
  );
  for (const [i, j] of mark.crossed ?? []) {
    const x = start + across * j + across / 2;
    const y = above + tall * i + tall / 2;
    marked.push(segment([x - 6, y - 6], [x + 6, y + 6], 'class="cross"'));
    marked.push(segment([x - 6, y + 6], [x + 6, y - 6], 'class="cross"'));
  }
  const drawn = [
    ...names,
    `<g class="tinted ${mark.palette ?? ""}">${cells.join("")}</g>`,
    `<g style="pointer-events:none">${marked.join("")}</g>`,
  ];
  return {
    drawn,
    height: above + tall * rows.length,
    middle: (start + width) / 2,
    row: { above, height: tall },
  };
}

/** Very many cells as one image, or as one of each row. The pointer finds the cell in it. */
function images(mark, { start, above, across, tall, count }, { group }) {
  const { rows, values, low, high } = mark;
  const shade = shading(mark.palette, low, high);
  const image = (part, first, height, hover) => {
    const at = (x, y) => ({
      hover: said(mark, first + Math.floor(y * part.length), Math.floor(x * count)),
    });
    const picture = pictureOf(part, shade, [start, above + tall * first, across * count, height]);
    return group({ at, hover }, [picture]);
  };
  if (rows.length > FEW) return [image(values, 0, tall * rows.length, `${rows.length} × ${count}`)];
  const gap = tall > LINE ? 4 : 0;
  return values.map((line, i) => image([line], i, tall - gap, rows[i]));
}

/** A rectangle for each number, with its text. A word is cut to its cell; numbers are written whole in all cells, or in none. */
function singleCells(mark, { start, above, across, tall }, { group }) {
  const { values, low, high, text, doors } = mark;
  const figures = (text ?? [])
    .flat()
    .flatMap((one) => one.split("\n"))
    .filter((line) => /\d/.test(line));
  const roomForNumbers = widest(figures, SMALL) <= across - 2;
  const shown = (line) => {
    if (/\d/.test(line)) return roomForNumbers ? line : "";
    return fitting(line, across - 8, SMALL);
  };
  const shade = shading(mark.palette, low, high);
  const gap = across > 8 ? 1 : 0;
  const gapDown = tall > 8 ? 1 : 0;
  const cells = [];
  values.forEach((row, i) =>
    row.forEach((value, j) => {
      const isNumber = value !== null && value !== undefined;
      const written = text?.[i]?.[j] ?? "";
      if (!isNumber && !written) return;
      const x = start + across * j;
      const y = above + tall * i;
      const fill = isNumber ? shade(value) : "transparent";
      const wide = Math.max(0.5, across - 2 * gap);
      const parts = [rectangle(x + gap, y + gapDown, wide, tall - 2 * gapDown, fill)];
      const lines = written.split("\n").map(shown);
      lines.forEach((one, at) => {
        const down = y + tall / 2 + 4.5 + LINE * (at - (lines.length - 1) / 2);
        const style = isDark(fill) ? "fill:#fff" : "";
        parts.push(
          words(x + across / 2, down, one, { anchor: "middle", kind: "small inside", style }),
        );
      });
      cells.push(group({ hover: said(mark, i, j), door: doors?.[i]?.[j] }, parts));
    }),
  );
  return cells;
}

/** What the pointer shows at a cell. */
const said = (mark, i, j) => mark.hover?.[i]?.[j] || describe(mark, i, j);

/** The lines of the name of a row: one that is too long goes on below. */
function linesOf(name, width, tokens) {
  const lines = name.split("\n");
  return tokens ? lines : lines.flatMap((line) => wrapped(line, width)).slice(0, MOST_LINES);
}

/** What the pointer shows at a cell without a text of its own. */
function describe({ rows, columns = [], values, numbers, verb, unit }, i, j) {
  const [row] = rows[i].split("\n");
  const column = columns[j] ?? j + 1;
  const number = (numbers ?? values)[i][j];
  const isShare = unit === "share" && Number.isFinite(number);
  const written = isShare ? `${short(100 * number)} %` : short(number);
  return verb ? `${row} ${verb} ${column}: ${written}` : `${row}, ${column}: ${written}`;
}

/** An image with a pixel for each cell; gaps are transparent. */
function pictureOf(rows, shade, [x, y, width, height]) {
  const canvas = document.createElement("canvas");
  canvas.width = rows[0].length;
  canvas.height = rows.length;
  const context = penOf(canvas);
  const pixels = context.createImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, at) => {
    if (value !== null) pixels.data.set([...shade(value).match(/\d+/g).map(Number), 255], 4 * at);
  });
  context.putImageData(pixels, 0, 0);
  const place = `x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none"`;
  return `<image href="${canvas.toDataURL()}" ${place} style="image-rendering:pixelated"/>`;
}
