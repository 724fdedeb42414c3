// Cells: a table whose colours are numbers, with names on the left and above.
import { penOf } from "./kit.js";
import {
  FONT,
  fitting,
  frame,
  isDark,
  path,
  rectangle,
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
  const longest =
    widest(
      rows.flatMap((name) => name.split("\n")),
      tokens ? TOKEN : FONT,
      tokens,
    ) + 2;
  return APART + Math.min(NAMES * whole, longest);
}

export function draw(mark, width, pen) {
  const { group, row: given } = pen;
  const { rows, columns = [], values, low, high, text, hover, doors, tokens } = mark;
  const size = tokens ? TOKEN : FONT,
    kind = tokens ? "token" : "",
    count = values[0]?.length ?? 0;

  // 1. The names of the rows, and those of the columns, which are turned where they are wider than a column.
  const start = given ? 0 : edge(mark, pen),
    hasNames = start > 0;
  const longest = Math.min(LONGEST, widest(columns, size, tokens));
  const level = longest <= (width - start) / count - 4;
  const over =
    level || !columns.length ? 0 : Math.max(0, ACROSS * longest + 8 - (width - start) / count / 2); // of the last name
  const across = (width - start - over) / count;
  let above = given?.above ?? 0;
  if (columns.length && !given) above = level ? size + 10 : DOWN * longest + 14;
  const named = rows.map((name) => linesOf(name, start - APART, tokens));
  const most = Math.max(
    1,
    ...(text ?? []).flat().map((one) => one.split("\n").length),
    ...named.map((lines) => lines.length),
  );
  const usual =
    (rows.length > FEW ? Math.min(LINE, TALLEST / rows.length) : ROW) + LINE * (most - 1) * 0.75;
  const lowest = rows.length > SOME ? Math.min(LOWEST, usual) : LINE,
    hasText = (text ?? []).flat().some(Boolean) || most > 1;
  const tall = given?.height ?? (hasText ? usual : Math.max(lowest, Math.min(usual, across)));
  const names = [];
  const every = level ? 1 : Math.ceil(14 / across); // of very narrow columns, some have a name
  columns.forEach((name, j) => {
    if (j % every) return;
    const place = level ? { anchor: "middle" } : { turned: TURNED };
    names.push(
      words(
        start + across * (j + 0.5),
        above - 7,
        fitting(name, level ? across - 4 : longest, size, tokens),
        { ...place, kind },
      ),
    );
  });
  const everyRow = Math.ceil((LINE - 3) / tall);
  if (hasNames)
    named.forEach(
      (lines, i) =>
        i % everyRow === 0 &&
        lines.forEach((line, at, all) => {
          const y = above + tall * (i + 0.5) + 5 + LINE * (at - (all.length - 1) / 2);
          names.push(
            words(start - APART, y, fitting(line, start - APART, size, tokens), {
              anchor: "end",
              kind: at ? "small" : kind,
            }),
          );
        }),
    );

  // 2. The cells. A word is cut to its cell; numbers are written whole in all cells, or in none.
  const figures = (text ?? [])
    .flat()
    .flatMap((one) => one.split("\n"))
    .filter((line) => /\d/.test(line));
  const roomForNumbers = widest(figures, SMALL) <= across - 2;
  const shown = (line) => {
    if (/\d/.test(line)) return roomForNumbers ? line : "";
    return fitting(line, across - 8, SMALL);
  };
  const shade = shading(mark.palette, low, high),
    gap = across > 8 ? 1 : 0,
    gapDown = tall > 8 ? 1 : 0;
  const said = (i, j) => hover?.[i]?.[j] || describe(mark, i, j);
  const place = (i, j) => [start + across * j, above + tall * i];
  const cells = [];
  if (!text && values.length * count > MANY) {
    const image = (part, i, height, hover) => {
      const at = (x, y) => ({
        hover: said(i + Math.floor(y * part.length), Math.floor(x * count)),
      });
      cells.push(
        group({ at, hover }, [
          pictureOf(part, shade, [start, above + tall * i, across * count, height]),
        ]),
      );
    };
    if (rows.length > FEW) image(values, 0, tall * rows.length, `${rows.length} × ${count}`);
    else values.forEach((line, i) => image([line], i, tall - (tall > LINE ? 4 : 0), rows[i]));
  } else
    values.forEach((line, i) =>
      line.forEach((value, j) => {
        const [x, y] = place(i, j),
          isNumber = value !== null && value !== undefined;
        if (!isNumber && !text?.[i]?.[j]) return;
        const fill = isNumber ? shade(value) : "transparent",
          lines = (text?.[i]?.[j] ?? "").split("\n").map(shown);
        const style = isDark(fill) ? "fill:#fff" : "";
        cells.push(
          group({ hover: said(i, j), door: doors?.[i]?.[j] }, [
            rectangle(
              x + gap,
              y + gapDown,
              Math.max(0.5, across - 2 * gap),
              tall - 2 * gapDown,
              fill,
            ),
            ...lines.map((one, at) =>
              words(
                x + across / 2,
                y + tall / 2 + 4.5 + LINE * (at - (lines.length - 1) / 2),
                one,
                { anchor: "middle", kind: "small inside", style },
              ),
            ),
          ]),
        );
      }),
    );

  // 3. Frames and crosses, which let presses through.
  const marked = (mark.framed ?? []).map(([i, j]) => {
    return frame(...place(i, j), across, tall);
  });
  for (const [i, j] of mark.crossed ?? []) {
    const [x, y] = place(i, j),
      [cx, cy] = [x + across / 2, y + tall / 2];
    marked.push(
      path(
        [
          [cx - 6, cy - 6],
          [cx + 6, cy + 6],
        ],
        'class="cross"',
      ),
      path(
        [
          [cx - 6, cy + 6],
          [cx + 6, cy - 6],
        ],
        'class="cross"',
      ),
    );
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

/** The lines of the name of a row: one that is too long goes on below. */
function linesOf(name, width, tokens) {
  const lines = name.split("\n");
  return tokens ? lines : lines.flatMap((line) => wrapped(line, width)).slice(0, MOST_LINES);
}

/** What the pointer shows at a cell without a text of its own. */
function describe({ rows, columns = [], values, numbers, verb, unit }, i, j) {
  const [row] = rows[i].split("\n"),
    column = columns[j] ?? j + 1,
    number = (numbers ?? values)[i][j];
  const written =
    unit === "share" && Number.isFinite(number) ? `${short(100 * number)} %` : short(number);
  return `${row}${verb ? ` ${verb}` : ","} ${column}: ${written}`;
}

/** An image with a pixel for each cell; gaps are transparent. */
function pictureOf(rows, shade, [x, y, width, height]) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [rows[0].length, rows.length];
  const context = penOf(canvas),
    pixels = context.createImageData(canvas.width, canvas.height);
  rows.flat().forEach((value, at) => {
    if (value !== null) pixels.data.set([...shade(value).match(/\d+/g).map(Number), 255], 4 * at);
  });
  context.putImageData(pixels, 0, 0);
  const place = `x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none"`;
  return `<image href="${canvas.toDataURL()}" ${place} style="image-rendering:pixelated"/>`;
}
