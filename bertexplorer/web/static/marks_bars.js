// Bars: one below the other, from 0 on. Their labels stand on the left, or above them.
import {
  colour,
  fitting,
  FONT,
  rectangle,
  roundNumbers,
  short,
  SMALL,
  tickBelow,
  TOKEN,
  twoLines,
  widest,
  widthOf,
  words,
} from "./marks_parts.js";
import { most } from "./numbers.js";

const ROW = 32,
  LOW = 24,
  THICK = 22,
  APART = 8; // a row, and one of many
const FEW = 24; // bars whose rows are high
const LINE = 18,
  THIN = 14; // a line of a label above a bar, and the bar below it
const NARROWEST = 64,
  WIDEST = 0.45; // the room for labels on the left: in units, and as a share of the width
const SHORT = 0.25; // of the width: words beside a bar that stay on one line
const SHORTEST = 0.25,
  LITTLE = 0.05; // what the scale keeps of the width, however long the words are; in a narrow panel
const FAINT = '" fill-opacity=".4'; // of a bar that counts less, and of one behind another
const BESIDE = 6,
  CLOSE = 3; // between a bar and its words; in a narrow panel
const NARROW = 100; // a panel whose words are small
const TICK = 110; // units for a number at the axis

export const numbers = ({ bars }) =>
  bars.flatMap(({ value, behind, low, high, ticks = [] }) => [
    value,
    behind,
    low,
    high,
    ...ticks.map((tick) => tick.value),
  ]);

const isNamed = ({ above, bars }) => !above && bars.some((bar) => bar.label);
/** The ends of the scale: bars begin at 0. */
const endsOf = ({ low, high }) => [Math.min(0, low), Math.max(0, high)];
/** The numbers at which a bar, or what belongs to it, ends. */
const reach = ({ value, high, behind }) => [0, value, high, behind].filter(Number.isFinite);
const isNarrow = (mark, wide, pen) => wide - edge(mark, pen) < NARROW;

/** The room for the labels on the left, which all *marks* share. */
export function widestName(marks) {
  const widths = marks.filter(isNamed).map(({ bars, tokens }) =>
    widest(
      bars.map((bar) => bar.label),
      tokens ? TOKEN : FONT,
      tokens,
    ),
  );
  return Math.max(NARROWEST, 2 + most([0, ...widths]));
}

export const edge = (mark, pen) =>
  isNamed(mark) ? APART + Math.min(WIDEST * pen.whole, pen.names) : 0;

const alike = (mark, wide, pen) => `${Boolean(mark.above)} ${Math.round(wide - edge(mark, pen))}`;

/** The ends of the scales of *panels* as shares of the room beside the labels, so that the words beside each bar fit: the same for
 *  bars that have as much room. */
export function scales(panels, pen) {
  const groups = new Map();
  for (const { mark, wide } of panels) {
    if (mark.kind !== "bars") continue;
    const name = alike(mark, wide, pen);
    groups.set(name, [...(groups.get(name) ?? []), ...needs(mark, wide, pen)]);
  }
  return new Map([...groups].map(([name, words]) => [name, scaleOf(words)]));
}

/** {isBack, at, needed, shortest} of each bar with words: where it ends on the scale, the share of the room that its words need,
 *  and the least for the scale. */
function needs(mark, wide, pen) {
  const room = wide - edge(mark, pen),
    [from, to] = endsOf(mark);
  const [size, apart, shortest] = isNarrow(mark, wide, pen)
    ? [SMALL, CLOSE + 2, LITTLE]
    : [FONT, BESIDE + 4, SHORTEST];
  return mark.bars
    .filter((bar) => bar.text)
    .map((bar) => {
      const whole = widthOf(bar.text, size),
        needed = apart + (whole < SHORT * room ? whole : widest(split(bar.text), size));
      const isBack = bar.value < 0,
        end = isBack ? bar.value : most(reach(bar));
      return { isBack, at: (end - from) / (to - from || 1), needed: needed / room, shortest };
    });
}

function scaleOf(words) {
  let left = 0,
    right = 1;
  for (let round = 0; round < 3; round += 1) {
    for (const { isBack, at, needed, shortest } of words) {
      if (isBack && left + at * (right - left) < needed)
        left = Math.min(right - shortest, (needed - at * right) / (1 - at));
      if (!isBack && left + at * (right - left) > 1 - needed)
        right = Math.max(left + shortest, left + (1 - needed - left) / at);
    }
  }
  return { left, right };
}

export function draw(mark, width, pen) {
  const { group, beside, row } = pen,
    { left, right } = pen.scales.get(alike(mark, width, pen)),
    [from, to] = endsOf(mark);
  const { bars, tokens } = mark,
    size = tokens ? TOKEN : FONT,
    kind = tokens ? "token" : "",
    start = edge(mark, pen),
    names = start - APART;
  const place = (value) =>
    start + (width - start) * (left + ((right - left) * (value - from)) / (to - from || 1));
  const small = isNarrow(mark, width, pen) ? "small" : "",
    usual = bars.length > FEW ? LOW : ROW;

  // 1. The bars, each in its row.
  const drawn = [];
  let y = row?.above ?? (mark.above ? 6 : 0);
  const top = y;
  for (const bar of bars) {
    const parts = mark.above
      ? bar.label.split("\n").map((part) => twoLines(part, bar.bold ? 0.93 * width : width))
      : [];
    const lines = parts.flat(),
      isBold = (i) => bar.bold && i < parts[0].length;
    const tall = mark.above ? LINE * lines.length + THIN + 20 : (row?.height ?? usual);
    const thick = mark.above ? THIN : Math.min(THICK, tall - 6);
    const middle = mark.above ? y + LINE * lines.length + 4 + thick / 2 : y + tall / 2;
    const inside = [rectangle(0, y, width, tall, "transparent")];
    lines.forEach((line, i) =>
      inside.push(
        words(0, y + LINE * (i + 0.75), line, { style: isBold(i) ? "font-weight:700" : "" }),
      ),
    );
    if (isNamed(mark))
      inside.push(
        words(names, middle + 5, fitting(bar.label, names, size, tokens), { anchor: "end", kind }),
      );
    if (Number.isFinite(bar.behind))
      inside.push(span(place(0), place(bar.behind), middle, thick, colour(bar.tone) + FAINT));
    const height = Number.isFinite(bar.behind) ? 0.6 * thick : thick;
    const fill = colour(bar.tone) + (bar.faint ? FAINT : "");
    if (Number.isFinite(bar.value))
      inside.push(span(place(0), place(bar.value), middle, height, fill));
    if (Number.isFinite(bar.low)) inside.push(whiskers(place(bar.low), place(bar.high), middle));
    for (const tick of bar.ticks ?? [])
      inside.push(
        rectangle(place(tick.value) - 1.5, middle - 10, 3, 20, colour(tick.tone ?? "orange")),
      );
    inside.push(...textBeside(bar, place, middle, width, small));
    drawn.push(
      group({ hover: bar.hover ?? `${bar.label} ${bar.text ?? ""}`, door: bar.door }, inside),
    );
    y += tall;
  }

  // 2. What lies across all bars, and the axis.
  if (from < 0) drawn.push(rectangle(place(0) - 0.5, top, 1, y - top, colour("grey")));
  const bands = beside
    .filter((other) => other.kind === "band")
    .map((band) => bandOf(band, place, top, y));
  const rules = beside
    .filter((other) => other.kind === "rule")
    .map((rule) => ruleOf(rule, place, top, y));
  if (mark.axis) {
    for (const tick of roundNumbers(from, to, Math.max(2, Math.floor((width - start) / TICK)))) {
      const text = mark.unit === "share" ? `${Math.round(100 * tick)} %` : short(tick);
      drawn.push(tickBelow(place(tick), y + 14, text, width));
    }
    y += 18;
  }
  return {
    drawn: [...bands, ...drawn, ...rules],
    height: y + (bands.length ? 14 : 0),
    middle: (start + width) / 2,
  };
}

/** *text* on two lines, the second from the last “·” on. */
function split(text) {
  const at = text.lastIndexOf(" · ");
  return at > 0 ? [text.slice(0, at), text.slice(at + 3)] : [text];
}

const span = (from, to, middle, thick, fill) =>
  rectangle(Math.min(from, to), middle - thick / 2, Math.max(1, Math.abs(to - from)), thick, fill);

/** An interval: a thin line with an end on both sides. */
function whiskers(low, high, middle) {
  const ends = [low, high].map((x) => rectangle(x - 1, middle - 5, 2, 10, colour("grey")));
  return rectangle(low, middle - 1, high - low, 2, colour("grey")) + ends.join("");
}

/** The words beside the end of a bar; on two lines, the second from the last “·” on, where they are wider than the room. */
function textBeside(bar, place, middle, width, kind) {
  const isBack = bar.value < 0,
    ends = reach(bar).map(place);
  const size = kind ? SMALL : FONT,
    apart = kind ? CLOSE : BESIDE;
  let end = isBack ? Math.min(...ends) - apart : Math.max(...ends) + apart;
  for (const x of (bar.ticks ?? []).map((tick) => place(tick.value)).sort((a, b) => a - b)) {
    if (!isBack && x > end - 8 && x < end + widthOf(bar.text ?? "", size) + 4) end = x + 8;
  }
  const text = bar.text ?? "",
    tooWide = widthOf(text, size) > (isBack ? end : width - end);
  const lines = tooWide ? split(text) : [text];
  const anchor = isBack ? "end" : "start",
    first = middle + 5 - (15 * (lines.length - 1)) / 2;
  return lines.map((line, i) => words(end, first + 15 * i, line, { anchor, kind }));
}

function bandOf({ low, high, label = "" }, place, top, bottom) {
  const name = words(Math.max(0, place(low)), bottom + 12, label, { kind: "small" });
  return (
    rectangle(
      place(low),
      top,
      place(high) - place(low),
      bottom - top,
      `${colour("pale")}" fill-opacity=".35`,
    ) + name
  );
}

function ruleOf({ at, tone, dash, label = "" }, place, top, bottom) {
  const dashes = dash === "solid" || !dash ? "" : 'stroke-dasharray="3 4"';
  const line = `<path d="M${place(at)} ${top}V${bottom}" stroke="${colour(tone)}" stroke-width="2" fill="none" ${dashes}/>`;
  return line + words(place(at) + 5, top + SMALL, label, { kind: "small" });
}
