// Histogram: vertical bars of one width at numbers, rules at single numbers, and bands between two.
import { colour, rectangle, roundNumbers, short, tickBelow } from "./marks_parts.js";
import { least, most } from "./numbers.js";

const TALL = 110,
  RULE = 3;
const ROOM = 0.03; // beside the outermost numbers, of their distance
const TICK = 110; // units for a number at the axis

export const numbers = ({ at }) => at;

export function draw(
  { at, values, tone = "pale", hover, low = least(at), high = most(at) },
  width,
  { group, beside },
) {
  const room = ROOM * (high - low) || 1;
  const x = (number) => (width * (number - low + room)) / (high - low + 2 * room);
  const wide = at.length > 1 ? 0.95 * (x(at[1]) - x(at[0])) : 40,
    highest = most(values) || 1;
  const bands = beside.filter((other) => other.kind === "band");
  const drawn = bands.map((band) => {
    const pale = `${colour("pale")}" fill-opacity=".35`;
    return rectangle(x(band.low), 0, x(band.high) - x(band.low), TALL, pale);
  });
  at.forEach((number, i) => {
    const tall = ((TALL - 6) * values[i]) / highest;
    const bar = group({ hover: hover?.[i] ?? `${short(number)}: ${values[i]}` }, [
      rectangle(x(number) - wide / 2, 0, wide, TALL, "transparent"),
      rectangle(x(number) - wide / 2, TALL - tall, wide, tall, colour(tone)),
    ]);
    drawn.push(bar);
  });
  for (const rule of beside.filter((other) => other.kind === "rule"))
    drawn.push(rectangle(x(rule.at) - RULE / 2, 0, RULE, TALL, colour(rule.tone)));
  for (const tick of roundNumbers(low, high, Math.max(2, Math.floor(width / TICK)))) {
    drawn.push(tickBelow(x(tick), TALL + 17, short(tick), width));
  }
  return { drawn, height: TALL + 22, middle: width / 2 };
}
