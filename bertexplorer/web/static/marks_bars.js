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
  const room = wide - edge(mark, pen);
  const [from, to] = endsOf(mark);
  const [size, apart, shortest] = isNarrow(mark, wide, pen)
    ? [SMALL, CLOSE + 2, LITTLE]
    : [FONT, BESIDE + 4, SHORTEST];
  const withWords = mark.bars.filter((bar) => bar.text);
  return withWords.map((bar) => {
    const whole = widthOf(bar.text, size);
    const needed = apart + (whole < SHORT * room ? whole : widest(split(bar.text), size));
    const isBack = bar.value < 0;
    const end = isBack ? bar.value : most(reach(bar));
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
  const { beside } = pen;
  const [from, to] = endsOf(mark);
  const start = edge(mark, pen);
  const { left, right } = pen.scales.get(alike(mark, width, pen));
  const place = (value) =>
    start + (width - start) * (left + ((right - left) * (value - from)) / (to - from || 1));

  // 1. The bars, each in its row.
  const drawn = [];
  const top = pen.row?.above ?? (mark.above ? 6 : 0);
  let y = top;
  for (const bar of mark.bars) {
    const { shape, height } = rowOf(bar, mark, { y, place, width }, pen);
    drawn.push(shape);
    y += height;
  }

  // 2. What lies across all bars, and the axis.
  if (from < 0) drawn.push(rectangle(place(0) - 0.5, top, 1, y - top, colour("grey")));
  const ofKind = (kind) => beside.filter((other) => other.kind === kind);
  const bands = ofKind("band").map((band) => bandOf(band, place, top, y));
  const rules = ofKind("rule").map((rule) => ruleOf(rule, place, top, y));
  if (mark.axis) {
    const count = Math.max(2, Math.floor((width - start) / TICK));
    for (const tick of roundNumbers(from, to, count)) {
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

/** {shape, height}: the row of a *bar* that begins at *y*: its label, the bar, and what belongs to it. */
function rowOf(bar, mark, { y, place, width }, pen) {
  const { bars, tokens } = mark;
  // 1. The height of the row, and where its bar lies: beside its label, or below its lines.
  let lines = []; // {line, isBold}
  let tall = pen.row?.height ?? (bars.length > FEW ? LOW : ROW);
  let thick = Math.min(THICK, tall - 6);
  let middle = y + tall / 2;
  if (mark.above) {
    const room = bar.bold ? 0.93 * width : width;
    lines = bar.label
      .split("\n")
      .flatMap((part, i) =>
        twoLines(part, room).map((line) => ({ line, isBold: bar.bold && i === 0 })),
      );
    tall = LINE * lines.length + THIN + 20;
    thick = THIN;
    middle = y + LINE * lines.length + 4 + thick / 2;
  }

  // 2. The label.
  const parts = [rectangle(0, y, width, tall, "transparent")];
  lines.forEach(({ line, isBold }, i) => {
    const style = isBold ? "font-weight:700" : "";
    parts.push(words(0, y + LINE * (i + 0.75), line, { style }));
  });
  if (isNamed(mark)) {
    const end = edge(mark, pen) - APART;
    const name = fitting(bar.label, end, tokens ? TOKEN : FONT, tokens);
    parts.push(words(end, middle + 5, name, { anchor: "end", kind: tokens ? "token" : "" }));
  }

  // 3. The bar, and the one behind it, which it does not cover.
  const hasBehind = Number.isFinite(bar.behind);
  if (hasBehind)
    parts.push(span(place(0), place(bar.behind), middle, thick, colour(bar.tone) + FAINT));
  if (Number.isFinite(bar.value)) {
    const height = hasBehind ? 0.6 * thick : thick;
    const fill = colour(bar.tone) + (bar.faint ? FAINT : "");
    parts.push(span(place(0), place(bar.value), middle, height, fill));
  }

  // 4. Its interval, its ticks and its words.
  if (Number.isFinite(bar.low)) parts.push(whiskers(place(bar.low), place(bar.high), middle));
  for (const { value, tone } of bar.ticks ?? [])
    parts.push(rectangle(place(value) - 1.5, middle - 10, 3, 20, colour(tone ?? "orange")));
  const kind = isNarrow(mark, width, pen) ? "small" : "";
  parts.push(...textBeside(bar, place, middle, width, kind));
  const hover = bar.hover ?? `${bar.label} ${bar.text ?? ""}`;
  return { shape: pen.group({ hover, door: bar.door }, parts), height: tall };
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
  const text = bar.text ?? "";
  const ticks = bar.ticks ?? [];
  const size = kind ? SMALL : FONT;
  const apart = kind ? CLOSE : BESIDE;
  const whole = widthOf(text, size);
  const isBack = bar.value < 0;
  // 1. Where the words begin: behind the bar, and behind the ticks that would lie on them.
  const ends = reach(bar).map(place);
  let end = isBack ? Math.min(...ends) - apart : Math.max(...ends) + apart;
  const places = ticks.map((tick) => place(tick.value)).sort((a, b) => a - b);
  for (const x of places) {
    if (!isBack && x > end - 8 && x < end + whole + 4) end = x + 8;
  }
  // 2. One line, or two.
  const room = isBack ? end : width - end;
  const lines = whole > room ? split(text) : [text];
  const first = middle + 5 - (15 * (lines.length - 1)) / 2;
  const anchor = isBack ? "end" : "start";
  return lines.map((line, i) => words(end, first + 15 * i, line, { anchor, kind }));
}

function bandOf({ low, high, label = "" }, place, top, bottom) {
  const name = words(Math.max(0, place(low)), bottom + 12, label, { kind: "small" });
  const fill = `${colour("pale")}" fill-opacity=".35`;
  return rectangle(place(low), top, place(high) - place(low), bottom - top, fill) + name;
}

function ruleOf({ at, tone, dash, label = "" }, place, top, bottom) {
  const dashes = dash === "solid" || !dash ? "" : 'stroke-dasharray="3 4"';
  const line = `<path d="M${place(at)} ${top}V${bottom}" stroke="${colour(tone)}" stroke-width="2" fill="none" ${dashes}/>`;
  return line + words(place(at) + 5, top + SMALL, label, { kind: "small" });
}
