// Spans: a text in several rows, each cut in its own way, character below character, on as many lines as it needs.
import { CHARACTER, colour, rectangle, SMALL, words } from "./marks_parts.js";

const ROW = 24,
  APART = 14; // a row of a line; between two lines
const EDGE = 1; // what is left free on both sides of a span
const WIDE = /[\u1100-\u11ff\u2e80-\uffdf]|\p{Emoji_Presentation}/u; // characters that are as wide as high

export const numbers = () => [];

export function draw({ texts, rows }, width, { group }) {
  const letters = texts.map((text) => [...text]); // code points, as the spans count them
  const wide = SMALL * (WIDE.test(texts[0]) ? 1.1 : CHARACTER),
    lines = linesOf(letters[0], Math.max(8, Math.floor(width / wide)));
  const tall = ROW * rows.length + APART,
    drawn = [];
  lines.forEach(([from, to], line) =>
    rows.forEach((spans, row) => {
      const y = line * tall + row * ROW;
      for (const { start, end, tone = "pale", hover = "" } of spans) {
        if (start >= to || end <= from) continue;
        const first = Math.max(start, from),
          last = Math.min(end, to),
          x = (first - from) * wide,
          across = (last - first) * wide;
        const text = letters[row].slice(first, last).join("");
        drawn.push(
          group({ hover }, [
            rectangle(
              x + EDGE,
              y,
              Math.max(1, across - 2 * EDGE),
              ROW - 3,
              `${colour(tone)}" fill-opacity=".3`,
            ),
            words(x + across / 2, y + 15, text, {
              anchor: "middle",
              kind: "token",
              style: `font-size:${SMALL}px`,
            }),
          ]),
        );
      }
    }),
  );
  return { drawn, height: tall * lines.length, middle: width / 2 };
}

/** [start, end] of each line: at most *count* of the *letters*, broken at a space if possible. */
function linesOf(letters, count) {
  const lines = [];
  let from = 0;
  while (from < letters.length) {
    const newline = letters.indexOf("\n", from),
      last = newline < 0 ? letters.length : newline;
    let to = Math.min(last, from + count);
    const space = letters.lastIndexOf(" ", to);
    if (to < last && space > from) to = space + 1;
    lines.push([from, to]);
    from = to === newline ? to + 1 : to;
  }
  return lines;
}
