// Columns: vertical bars with a label below each, such as the tokens of a text.
import {
  colour,
  FONT,
  fitting,
  rectangle,
  roundNumbers,
  segment,
  short,
  SMALL,
  TOKEN,
  widest,
  words,
} from "./marks_parts.js";

const TALL = 260,
  LINE = 18,
  LONGEST = 110; // the bars; a line above them; the most room for turned labels
const DOWN = Math.sin(Math.PI / 4),
  NARROW = 13; // a column for which a turned label has room

export const numbers = ({ bars }) => bars.flatMap(({ value, down }) => [value, -(down ?? 0)]);

export function draw({ bars, tokens, low, high }, width, { group }) {
  const size = tokens ? TOKEN : FONT;
  const kind = tokens ? "token" : "";
  const from = Math.min(0, low);
  const to = Math.max(0, high) || 1;
  // 1. The width of a column. Labels that are wider are turned, and of very many some are left out.
  const ticks = roundNumbers(from, to, 4);
  const numbersWidth = widest(ticks.map(short), SMALL) + 10;
  const labels = bars.map((bar) => bar.label);
  const longest = Math.min(LONGEST, widest(labels, size, tokens));
  const level = longest <= (width - numbersWidth) / bars.length - 4;
  const left = level ? numbersWidth : Math.max(numbersWidth, DOWN * longest + 8); // the first label leans to the left
  const across = (width - left) / bars.length;
  const thick = Math.min(40, 0.75 * across);
  const named = level ? new Set(bars.keys()) : mostOf(bars, Math.ceil(NARROW / across));

  // 2. The scale, with room for the words above the columns, which are turned as well where they are wide.
  const texts = bars.map((bar) => bar.text ?? "");
  const text = widest(texts, SMALL);
  const isTurned = text > across - 2;
  const above = isTurned ? text + 8 : LINE;
  const y = (value) => above + ((TALL - above) * (to - value)) / (to - from);
  const bothWays = bars.some(({ down }) => down); // then numbers count in both directions
  const drawn = [];
  for (const tick of ticks) {
    const number = short(bothWays ? Math.abs(tick) : tick);
    drawn.push(segment([left, y(tick)], [width, y(tick)], 'class="grid"'));
    drawn.push(words(left - 6, y(tick) + 4, number, { anchor: "end", kind: "small" }));
  }

  // 3. The columns.
  bars.forEach((bar, i) => {
    const x = left + across * (i + 0.5);
    const column = (first, last, tone) =>
      rectangle(x - thick / 2, first, thick, Math.max(1, last - first), colour(tone));
    const [top, bottom] = [y(0), y(bar.value)].sort((a, b) => a - b);
    const inside = [
      rectangle(x - across / 2, 0, across, TALL, "transparent"),
      column(top, bottom, bar.tone),
    ];
    if (bar.down) inside.push(column(y(0), y(-bar.down), "orange"));
    if (!isTurned) inside.push(words(x, top - 5, texts[i], { anchor: "middle", kind: "small" }));
    else if (across >= NARROW)
      inside.push(words(x + 4, top - 5, texts[i], { turned: -90, kind: "small" }));
    const hover = bar.hover ?? `${bar.label}: ${bar.text ?? short(bar.value)}`;
    drawn.push(group({ hover, door: bar.door }, inside));
    if (!named.has(i)) return;
    const name = fitting(bar.label, level ? across - 4 : longest, size, tokens);
    if (level) drawn.push(words(x, TALL + 18, name, { anchor: "middle", kind }));
    else drawn.push(words(x + 5, TALL + 12, name, { anchor: "end", kind, turned: -45 }));
  });
  return { drawn, height: TALL + (level ? 24 : DOWN * longest + 18), middle: (left + width) / 2 };
}

/** The columns that are named where there is no room for all names: the longest, at least *apart* from each other. */
function mostOf(bars, apart) {
  const longest = [...bars.keys()].sort((a, b) => lengthOf(bars[b]) - lengthOf(bars[a]));
  const named = new Set();
  for (const i of longest) {
    if ([...named].every((other) => Math.abs(other - i) >= apart)) named.add(i);
  }
  return named;
}

const lengthOf = ({ value, down = 0 }) => Math.max(Math.abs(value), down);
