// Lines over the same steps, such as layers, or over numbers, such as epochs, with their names at their ends.
import {
  colour,
  DASHES,
  dot,
  fitting,
  ink,
  path,
  powers,
  roundNumbers,
  segment,
  short,
  SMALL,
  spread,
  TOKEN,
  widest,
  widthOf,
  words,
} from "./marks_parts.js";
import { most } from "./numbers.js";

const TALL = 150,
  CURVES = 200,
  ALONE = 260,
  RANKS = 250; // heights; over numbers; of lines that are the whole figure; of ranks
const LINE = 17,
  EDGE = 8; // the height of a name; and what lines leave free above and below
const STEP = 26,
  NUMBER = 44,
  MOST = 8; // the least room for the name of a step, and for a number; the most numbers below, about
const FEW = 13; // steps up to which points are large
const TICKS = 5; // numbers at the vertical axis, about
const BROAD = 14; // a line for the pointer
const USUAL = 'stroke-width="2"',
  FAINT = 'stroke-width="1.5" stroke-opacity=".6"';
const NAMES = 0.36; // the most room for the names of lines, a share of the width

export const numbers = ({ lines }) =>
  lines.flatMap((line) => [...line.values, ...(line.low ?? []), ...(line.high ?? [])]);

const isRank = ({ scale }) => scale === "rank";
/** The ends of the vertical axis: a rank begins with 1, other numbers with 0. */
const ends = (mark) =>
  isRank(mark)
    ? [1, Math.max(10, mark.high)]
    : [Math.min(0, mark.low), Math.max(0, mark.high) || 1];
const written = (number, unit) => (unit === "share" ? `${short(100 * number)} %` : short(number));
const ticksOf = (mark) =>
  isRank(mark) ? powers(ends(mark)[1]) : roundNumbers(...ends(mark), TICKS);
const endsOf = ({ lines }) => lines.map((line) => line.end ?? line.name);
/** The height of lines, which is enough for their names. */
function heightOf(mark, isAlone) {
  let usual = mark.steps.length ? TALL : CURVES;
  if (isAlone) usual = ALONE;
  if (isRank(mark)) usual = RANKS;
  return Math.max(usual, LINE * endsOf(mark).filter(Boolean).length);
}

const lastOf = ({ values }) => values.findLast((value) => value !== null) ?? 0;

/** What the lines of all panels share: the room for numbers on the left and names on the right, and how far their numbers reach. */
export function margins(marks, width) {
  const ticks = marks.flatMap((mark) => ticksOf(mark).map((tick) => written(tick, mark.unit)));
  const numbers = marks.flatMap(({ lines }) => lines.flatMap(({ at }) => at ?? []));
  return {
    left: widest(ticks, SMALL) + 12,
    right: Math.min(NAMES * width, widest(marks.flatMap(endsOf), TOKEN)) + 14,
    reach: most([0, ...numbers]) || 1,
  };
}

export function draw(
  mark,
  width,
  { group, isAlone, margins: { left, right, reach }, x: axis = "" },
) {
  const { steps, doors, chosen, unit, at_unit: atUnit } = mark;

  // 1. Both scales.
  const tall = heightOf(mark, isAlone);
  const [low, high] = ends(mark);
  const from = left + 6;
  const to = width - right - 6;
  const x = (place) => from + (to - from) * place; // of a share of the width
  const share = (value) =>
    isRank(mark)
      ? Math.log10(Math.max(1, value)) / Math.log10(high)
      : (high - value) / (high - low);
  const y = (value) => EDGE + (tall - 2 * EDGE) * share(value);
  const drawn = [];
  for (const tick of ticksOf(mark)) {
    drawn.push(segment([left, y(tick)], [width - right, y(tick)], 'class="grid"'));
    drawn.push(words(left - 6, y(tick) + 4, written(tick, unit), { anchor: "end", kind: "small" }));
  }
  const below = steps.length
    ? namesOfSteps(steps, to - from)
    : numbersBelow(reach, atUnit, to - from);
  for (const [place, name] of below)
    drawn.push(words(x(place), tall + 16, name, { anchor: "middle", kind: "small" }));
  if (chosen !== undefined) {
    const place = x(placeOf(chosen, steps));
    drawn.push(segment([place, 0], [place, tall], 'stroke="#5b6675"'));
  }

  // 2. The bands, the lines, and their points.
  const lines = mark.lines.map((line) => placed(line, steps, reach));
  for (const { low: lower, high: upper, tone, places } of lines) {
    if (!lower) continue;
    const edge = (values) => values.map((value, i) => [x(places[i]), y(value)]);
    const around = [...edge(upper), ...edge(lower).reverse()];
    drawn.push(path(around, `style="fill:${colour(tone)};fill-opacity:.18"`));
  }
  const isForPointer = ({ look }) => look === "line"; // these lie below the points
  const inOrder = [...lines].sort((a, b) => Number(isForPointer(b)) - Number(isForPointer(a)));
  const corners = [
    [from, 0],
    [to, 0],
    [to, tall],
    [from, tall],
  ];
  for (const line of inOrder) {
    const there = line.values.map((_, i) => i).filter((i) => line.values[i] !== null);
    if (!there.length) continue;
    const points = there.map((i) => [x(line.places[i]), y(line.values[i])]);
    const stroke = colour(line.tone);
    const step = (i) => steps[i] ?? `${axis} ${written(reach * line.places[i], atUnit)}`.trim();
    const said = (at) => {
      const i = there[at];
      return line.hover?.[i] ?? `${line.name}, ${step(i)}: ${written(line.values[i], unit)}`;
    };
    const dashes = `stroke-dasharray="${DASHES[line.dash] ?? ""}"`;
    const curve = path(points, `stroke="${stroke}" ${dashes} ${line.faint ? FAINT : USUAL}`);
    if (isForPointer(line)) {
      const place = path(corners, 'pointer-events="none"'); // where the pointer is told from
      const broad = `stroke="transparent" stroke-width="${BROAD}" pointer-events="stroke"`;
      const inside = [place, path(points, broad), curve];
      drawn.push(group(markOf(line, points, said, from, to), inside));
      continue;
    }
    if (line.look !== "points") drawn.push(curve);
    const radius = line.values.length > FEW ? 2.5 : 3.5;
    points.forEach((point, at) => {
      const inside = [dot(...point, 9, "transparent"), dot(...point, radius, stroke)];
      drawn.push(group({ hover: said(at), door: doors?.[there[at]] }, inside));
    });
  }

  // 3. The names. Those of equal ends stand in the order of the lines.
  const named = lines
    .map((line) => ({ ...line, name: line.end ?? line.name }))
    .filter(({ name }) => name);
  const heights = named.map((line) => Math.round(y(lastOf(line))));
  const spaced = spread(heights, tall, LINE);
  named.forEach(({ name, tone }, i) => {
    const style = `fill:${ink(tone)};font-size:${TOKEN}px`;
    const shown = fitting(name, right - 8, TOKEN);
    drawn.push(words(width - right + 8, spaced[i] + 4, shown, { style }));
  });
  return { drawn, height: tall + 22, middle: (from + to) / 2 };
}

/** The place of a step, a share of the width. */
const placeOf = (step, steps) => step / Math.max(1, steps.length - 1);

/** *line* with the *places* of its values, shares of the width. */
function placed(line, steps, reach) {
  if (steps.length) return { ...line, places: line.values.map((_, step) => placeOf(step, steps)) };
  if (line.at || !line.values.length)
    return { ...line, places: (line.at ?? []).map((number) => number / reach) };
  return { ...line, places: [0, 1], values: [line.values[0], line.values[0]] }; // level
}

/** What stands below lines, as [place, text]: the names of as many steps as a *room* has space for. */
function namesOfSteps(steps, room) {
  const every = Math.ceil((steps.length * Math.max(STEP, 6 + widest(steps, SMALL))) / room);
  const all = steps.map((step, i) => [placeOf(i, steps), step]);
  return all.filter((_, i) => i % every === 0);
}

/** The same of numbers. */
function numbersBelow(reach, unit, room) {
  const count = Math.floor(room / Math.max(NUMBER, 16 + widthOf(written(reach, unit), SMALL)));
  const numbers = roundNumbers(0, reach, Math.max(1, Math.min(MOST, count)));
  return numbers.map((number) => [number / reach, written(number, unit)]);
}

/** A line as one mark: the pointer finds the nearest of its *points*, and the keyboard the last one. */
function markOf({ name }, points, said, from, to) {
  const nearest = (place) => {
    let best = 0;
    points.forEach(([x], i) => {
      if (Math.abs(x - place) < Math.abs(points[best][0] - place)) best = i;
    });
    return { hover: said(best) };
  };
  return {
    called: name,
    hover: said(points.length - 1),
    at: (share) => nearest(from + (to - from) * share),
  };
}
