// Bars: one below the other, from 0 on. Their labels stand on the left, or above them.
import {
  colour, FONT, fitting, most, rectangle, roundNumbers, short, SMALL, tickBelow, TOKEN, widest, widthOf, words, wrapped,
} from "./marks_parts.js";

const ROW = 32, LOW = 24, THICK = 22, APART = 8;  // a row, and one of many
const FEW = 24;  // bars whose rows are high
const LINE = 18, THIN = 14;  // a line of a label above a bar, and the bar below it
const NARROWEST = 64, WIDEST = 0.4;  // the room for labels on the left: in units, and as a share of the width
const ROOM = 0.35;  // for the words beside a bar, of the longest bar
const BESIDE = 6, CLOSE = 3;  // between a bar and its words; in a narrow panel
const NARROW = 100;  // a panel whose words are small
const TICK = 110;  // units for a number at the axis

export const numbers = ({ bars }) => bars.flatMap(({ value, behind, low, high, ticks = [] }) =>
  [value, behind, low, high, ...ticks.map((tick) => tick.value)]);

/** The room for the labels on the left. */
export function edge({ bars, tokens, above }, width) {
  if (above || !bars.some((bar) => bar.label)) return 0;
  const longest = widest(bars.map((bar) => bar.label), tokens ? TOKEN : FONT, tokens) + 2;
  return APART + Math.max(NARROWEST, Math.min(WIDEST * width, longest));
}

export function draw(mark, width, { group, beside, row, whole }) {
  const { bars, tokens, low, high } = mark, size = tokens ? TOKEN : FONT, kind = tokens ? "token" : "";
  const start = edge(mark, whole), isNamed = start > 0, names = start - APART;
  const small = width - start < NARROW ? "small" : "";

  // 1. The scale: bars begin at 0, and words have room beside their ends.
  const from = Math.min(0, low), to = Math.max(0, high), length = to - from || 1;
  const hasWords = !mark.above && bars.some((bar) => bar.text), room = hasWords ? roomFor(bars, length, width - start) : 0;
  const before = from < 0 && hasWords ? room : 0;
  const place = (value) => start + (width - start) * (value - from + before) / (length + room + before);

  // 2. The bars, each in its row.
  const drawn = [];
  let y = row?.above ?? 0;
  const top = y;
  for (const bar of bars) {
    const lines = mark.above ? wrapped(bar.label, width).slice(0, 2) : [];
    const tall = mark.above ? LINE * (lines.length + (bar.text ? 1 : 0)) + THIN + 14 : row?.height ?? (bars.length > FEW ? LOW : ROW);
    const thick = mark.above ? THIN : Math.min(THICK, tall - 6);
    const middle = mark.above ? y + tall - 14 - thick / 2 + 4 : y + tall / 2;
    const inside = [rectangle(0, y, width, tall, "transparent")];
    const bold = bar.bold ? "font-weight:700" : "";
    lines.forEach((line, i) => inside.push(words(0, y + LINE * (i + 0.75), fitting(line, width), { style: bold })));
    if (mark.above && bar.text) inside.push(words(0, y + LINE * (lines.length + 0.75), bar.text, { kind: "small" }));
    if (isNamed) inside.push(words(names, middle + 5, fitting(bar.label, names, size, tokens), { anchor: "end", kind }));
    if (Number.isFinite(bar.behind)) inside.push(span(place(0), place(bar.behind), middle, thick, colour("pale")));
    const height = Number.isFinite(bar.behind) ? thick / 2 : thick;
    if (Number.isFinite(bar.value)) inside.push(span(place(0), place(bar.value), middle, height, colour(bar.tone)));
    if (Number.isFinite(bar.low)) inside.push(whiskers(place(bar.low), place(bar.high), middle));
    for (const tick of bar.ticks ?? []) inside.push(rectangle(place(tick.value) - 1.5, middle - 10, 3, 20, colour(tick.tone ?? "orange")));
    if (!mark.above) inside.push(...textBeside(bar, place, middle, width, small));
    drawn.push(group({ hover: bar.hover ?? `${bar.label} ${bar.text ?? ""}`, door: bar.door }, inside));
    y += tall;
  }

  // 3. What lies across all bars, and the axis.
  const bands = beside.filter((other) => other.kind === "band").map((band) => bandOf(band, place, top, y));
  const rules = beside.filter((other) => other.kind === "rule").map((rule) => ruleOf(rule, place, top, y));
  if (mark.axis) {
    for (const tick of roundNumbers(from, to, Math.max(2, Math.floor((width - start) / TICK)))) {
      const text = mark.unit === "share" ? `${Math.round(100 * tick)} %` : short(tick);
      drawn.push(tickBelow(place(tick), y + 14, text, width));
    }
    y += 18;
  }
  return { drawn: [...bands, ...drawn, ...rules], height: y + (bands.length ? 14 : 0), middle: (start + width) / 2 };
}

/** The room that the words beside bars need, in the unit of the bars, of which *length* fill what is left of *width*. */
function roomFor(bars, length, width) {
  const isNarrow = width < NARROW, size = isNarrow ? SMALL : FONT;
  const parts = bars.flatMap((bar) => (bar.text ?? "").split(/ (?=· )/));
  const needed = (isNarrow ? CLOSE + 2 : 2 * BESIDE) + widest(parts, size);
  return Math.max(ROOM * length, length * needed / Math.max(4, width - needed));
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
  const isBack = bar.value < 0, ends = [0, bar.value, bar.high, bar.behind].filter(Number.isFinite).map(place);
  const apart = kind ? CLOSE : BESIDE, end = isBack ? Math.min(...ends) - apart : Math.max(...ends) + apart;
  const text = bar.text ?? "", at = text.lastIndexOf(" · ");
  const tooWide = widthOf(text, kind ? SMALL : FONT) > (isBack ? end : width - end);
  const lines = tooWide && at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text];
  const anchor = isBack ? "end" : "start", first = middle + 5 - 15 * (lines.length - 1) / 2;
  return lines.map((line, i) => words(end, first + 15 * i, line, { anchor, kind }));
}

function bandOf({ low, high, label = "" }, place, top, bottom) {
  const name = words(Math.max(0, place(low)), bottom + 12, label, { kind: "small" });
  return rectangle(place(low), top, place(high) - place(low), bottom - top, `${colour("pale")}" fill-opacity=".35`) + name;
}

function ruleOf({ at, tone, dash, label = "" }, place, top, bottom) {
  const dashes = dash === "solid" || !dash ? "" : 'stroke-dasharray="3 4"';
  const line = `<path d="M${place(at)} ${top}V${bottom}" stroke="${colour(tone)}" stroke-width="2" fill="none" ${dashes}/>`;
  return line + words(place(at) + 5, top + SMALL, label, { kind: "small" });
}
