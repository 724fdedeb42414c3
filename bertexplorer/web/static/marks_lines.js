// Lines over the same steps, such as layers, with their names at their ends.
import { colour, dot, fitting, ink, path, powers, roundNumbers, short, SMALL, spread, TOKEN, widest, words } from "./marks_parts.js";

const TALL = 150, ALONE = 260, RANKS = 250;  // heights; of lines that are the whole figure; of ranks
const LINE = 17, EDGE = 8;  // the height of a name; and what lines leave free above and below
const STEP = 26, FEW = 13;  // the room for the name of a step; steps up to which points are large
const NAMES = 0.36;  // the most room for the names of lines, a share of the width
const DASHES = { dash: "7 4", dot: "2 4" };

export const numbers = ({ lines }) => lines.flatMap((line) => [...line.values, ...(line.low ?? []), ...(line.high ?? [])]);

const isRank = ({ scale }) => scale === "rank";
/** The ends of the vertical axis: a rank begins with 1, other numbers with 0. */
const ends = (mark) => (isRank(mark) ? [1, Math.max(10, mark.high)] : [Math.min(0, mark.low), Math.max(0, mark.high) || 1]);
const written = ({ unit }, number) => (unit === "share" ? `${Math.round(100 * number)} %` : short(number));
const ticksOf = (mark) => (isRank(mark) ? powers(ends(mark)[1]) : roundNumbers(...ends(mark), 4));
const endsOf = ({ lines }) => lines.map((line) => line.end ?? line.name);
/** The height of lines, which is enough for their names. */
function heightOf(mark, isAlone) {
  const usual = isAlone ? ALONE : TALL;
  return Math.max(isRank(mark) ? RANKS : usual, LINE * endsOf(mark).filter(Boolean).length);
}

const lastOf = ({ values }) => values.findLast((value) => value !== null) ?? 0;

/** The room for numbers on the left and names on the right, which the lines of all panels share. */
export function margins(marks, width) {
  return {
    left: widest(marks.flatMap((mark) => ticksOf(mark).map((tick) => written(mark, tick))), SMALL) + 12,
    right: Math.min(NAMES * width, widest(marks.flatMap(endsOf), TOKEN)) + 14,
  };
}

export function draw(mark, width, { group, isAlone, margins: { left, right } }) {
  const { steps, lines, doors, chosen } = mark, tall = heightOf(mark, isAlone), [low, high] = ends(mark);

  // 1. Both scales.
  const from = left + 6, to = width - right - 6;
  const x = (step) => from + (to - from) * step / Math.max(1, steps.length - 1);
  const share = (value) => (isRank(mark) ? Math.log10(Math.max(1, value)) / Math.log10(high) : (high - value) / (high - low));
  const y = (value) => EDGE + (tall - 2 * EDGE) * share(value);
  const drawn = [];
  for (const tick of ticksOf(mark)) {
    drawn.push(path([[left, y(tick)], [width - right, y(tick)]], 'class="grid"'));
    drawn.push(words(left - 6, y(tick) + 4, written(mark, tick), { anchor: "end", kind: "small" }));
  }
  const every = Math.ceil(steps.length * Math.max(STEP, 6 + widest(steps, SMALL)) / (to - from));
  steps.forEach((step, i) => {
    if (i % every === 0) drawn.push(words(x(i), tall + 16, step, { anchor: "middle", kind: "small" }));
  });
  if (chosen !== undefined) drawn.push(path([[x(chosen), 0], [x(chosen), tall]], 'stroke="#5b6675"'));

  // 2. The lines over their bands, a point for each step, and the names.
  for (const { low: lower, high: upper, tone } of lines) {
    if (!lower) continue;
    const edge = [...upper.map((value, step) => [x(step), y(value)]), ...lower.map((value, step) => [x(step), y(value)]).reverse()];
    drawn.push(path(edge, `style="fill:${colour(tone)};fill-opacity:.18"`));
  }
  const names = endsOf(mark), listed = lines.filter((_, i) => names[i]);
  const spaced = spread(listed.map((line) => y(lastOf(line))), tall, LINE);
  lines.forEach((line, i) => {
    const stroke = colour(line.tone), there = [];
    line.values.forEach((value, step) => { if (value !== null) there.push([step, value]); });
    drawn.push(path(
      there.map(([step, value]) => [x(step), y(value)]),
      `stroke="${stroke}" stroke-width="2" stroke-dasharray="${DASHES[line.dash] ?? ""}"`,
    ));
    for (const [step, value] of there) {
      const said = line.hover?.[step] ?? `${line.name}, ${steps[step]}: ${short(value)}`;
      drawn.push(group({ hover: said, door: doors?.[step] }, [
        dot(x(step), y(value), 9, "transparent"),
        dot(x(step), y(value), steps.length > FEW ? 2.5 : 3.5, stroke),
      ]));
    }
    const style = `fill:${ink(line.tone)};font-size:${TOKEN}px`;
    const place = spaced[listed.indexOf(line)];
    if (names[i]) drawn.push(words(width - right + 8, place + 4, fitting(names[i], right - 8, TOKEN), { style }));
  });
  return { drawn, height: tall + 22, middle: (from + to) / 2 };
}
