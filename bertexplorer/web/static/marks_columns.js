// Columns: vertical bars with a label below each, such as the tokens of a text.
import {
  colour,
  FONT,
  fitting,
  path,
  rectangle,
  roundNumbers,
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
  const size = tokens ? TOKEN : FONT,
    kind = tokens ? "token" : "";
  const [from, to] = [Math.min(0, low), Math.max(0, high) || 1];
  const ticks = roundNumbers(from, to, 4),
    numbersWidth = widest(ticks.map(short), SMALL) + 10;
  const longest = Math.min(
    LONGEST,
    widest(
      bars.map((bar) => bar.label),
      size,
      tokens,
    ),
  );
  const level = longest <= (width - numbersWidth) / bars.length - 4;
  const left = level ? numbersWidth : Math.max(numbersWidth, DOWN * longest + 8); // the first label leans to the left
  const across = (width - left) / bars.length,
    thick = Math.min(40, 0.75 * across);
  const named = level ? new Set(bars.keys()) : mostOf(bars, Math.ceil(NARROW / across));
  const text = widest(
      bars.map((bar) => bar.text ?? ""),
      SMALL,
    ),
    isTurned = text > across - 2,
    above = isTurned ? text + 8 : LINE;
  const y = (value) => above + ((TALL - above) * (to - value)) / (to - from);

  const drawn = ticks.flatMap((tick) => [
    path(
      [
        [left, y(tick)],
        [width, y(tick)],
      ],
      'class="grid"',
    ),
    words(left - 6, y(tick) + 4, short(bars.some(({ down }) => down) ? Math.abs(tick) : tick), {
      anchor: "end",
      kind: "small",
    }),
  ]);
  bars.forEach((bar, i) => {
    const x = left + across * (i + 0.5),
      ends = [y(0), y(bar.value)].sort((a, b) => a - b);
    const inside = [
      rectangle(x - across / 2, 0, across, TALL, "transparent"),
      rectangle(x - thick / 2, ends[0], thick, Math.max(1, ends[1] - ends[0]), colour(bar.tone)),
    ];
    if (bar.down)
      inside.push(
        rectangle(x - thick / 2, y(0), thick, Math.max(1, y(-bar.down) - y(0)), colour("orange")),
      );
    if (!isTurned)
      inside.push(words(x, ends[0] - 5, bar.text ?? "", { anchor: "middle", kind: "small" }));
    else if (across >= NARROW)
      inside.push(words(x + 4, ends[0] - 5, bar.text ?? "", { turned: -90, kind: "small" }));
    drawn.push(
      group(
        { hover: bar.hover ?? `${bar.label}: ${bar.text ?? short(bar.value)}`, door: bar.door },
        inside,
      ),
    );
    if (!named.has(i)) return;
    const name = fitting(bar.label, level ? across - 4 : longest, size, tokens);
    if (level) drawn.push(words(x, TALL + 18, name, { anchor: "middle", kind }));
    else drawn.push(words(x + 5, TALL + 12, name, { anchor: "end", kind, turned: -45 }));
  });
  return { drawn, height: TALL + (level ? 24 : DOWN * longest + 18), middle: (left + width) / 2 };
}

/** The columns that are named where there is no room for all names: the longest, at least *apart* from each other. */
function mostOf(bars, apart) {
  const longest = [...bars.keys()].sort((a, b) => lengthOf(bars[b]) - lengthOf(bars[a])),
    named = new Set();
  for (const i of longest) {
    if ([...named].every((other) => Math.abs(other - i) >= apart)) named.add(i);
  }
  return named;
}

const lengthOf = ({ value, down = 0 }) => Math.max(Math.abs(value), down);
