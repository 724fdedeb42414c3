// Tiles: a picture that is cut into a table, with names on the left and above.
import { FONT, frame, rectangle, widest, words } from "./marks_parts.js";

const ALL = 450,
  LOWEST = 40,
  TALLEST = 75; // the height of all rows, and of one
const NAMES = 24,
  APART = 8; // the room for the names of columns; beside those of rows
const INSIDE = 0.96; // of a tile, whose gap is on its right and below

export const numbers = () => [];

/** The room for the names of the rows. */
export const edge = ({ rows }) => APART + widest(rows);

export function draw(mark, width, { group }) {
  const { picture, rows, columns, hover, doors, framed = [] } = mark,
    start = edge(mark);
  const across = (width - start) / columns.length,
    tall = Math.max(LOWEST, Math.min(TALLEST, ALL / rows.length));
  const place = (i, j) => [start + across * j, NAMES + tall * i, across * INSIDE, tall * INSIDE];

  // 1. The picture and the names.
  const image =
    `<image href="${picture.replaceAll('"', "%22")}" x="${start}" y="${NAMES}" width="${width - start}" height="${tall * rows.length}" ` +
    'preserveAspectRatio="none"/>';
  const drawn = [`<g class="tinted">${image}</g>`];
  const every = Math.ceil((widest(columns) + 4) / across);
  columns.forEach((name, j) => {
    if (j % every === 0)
      drawn.push(words(start + across * (j + INSIDE / 2), FONT, name, { anchor: "middle" }));
  });
  rows.forEach((name, i) =>
    drawn.push(words(start - APART, NAMES + tall * (i + INSIDE / 2) + 5, name, { anchor: "end" })),
  );

  // 2. What can be read and pressed, and the frames.
  rows.forEach((_, i) =>
    columns.forEach((__, j) => {
      drawn.push(
        group({ hover: hover[i][j], door: doors?.[i]?.[j] }, [
          rectangle(...place(i, j), "transparent"),
        ]),
      );
    }),
  );
  drawn.push(...framed.map(([i, j]) => frame(...place(i, j), 3)));
  return { drawn, height: NAMES + tall * rows.length, middle: (start + width) / 2 };
}
