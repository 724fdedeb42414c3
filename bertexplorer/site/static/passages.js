// Other texts, typed in one line, and bars for passages by their rank.
import { above, ACCENT, bars, grouped, HIDDEN, label, PALE, range, safe, texts } from "./chart.js";
import { Refusal } from "./tokens.js";

const MAX_TEXTS = 50, MAX_CHARACTERS = 20_000;
export const PASSAGE = 44;  // pixels

/** The texts of *typed*, one on each line or with | between, each once. */
export function parseTexts(typed) {
  const length = [...typed].length;
  if (length > MAX_CHARACTERS) {
    throw new Refusal(
      `The other second sentences have ${grouped(length)} characters; the limit is ${grouped(MAX_CHARACTERS)}. Remove some.`,
    );
  }
  const unique = [...new Set(typed.split(/[|\n]/).map((part) => part.trim()).filter(Boolean))];
  if (unique.length > MAX_TEXTS) throw new Refusal(`${unique.length} other second sentences were given; the limit is ${MAX_TEXTS}.`);
  return unique;
}

/** One side of a pair as a single text. What is hidden stays hidden. */
export const alone = ({ first, second, hidden }, side) => ({
  first: side ? second : first, hidden: hidden.filter((span) => span.side === side).map((span) => ({ ...span, side: 0 })),
});

/** Draw *passages*, {text, value, number: the value in words, own: whether it is the second text}, best first, in the panel *row*.
 *  A press opens one, with the *first* text and the others beside it. *ends*: of the axis. */
export function drawPassages(chart, row, first, passages, ends) {
  const others = safe(passages.map((one) => one.text).join(" | "));
  const customdata = passages.map(({ text }) => ({ text: safe(first), set: { others }, pair: safe(text) }));
  const hovertext = passages.map(({ text, number }) => `${label(text, 80)}: ${number}`);
  const colours = passages.map(({ own }) => (own ? ACCENT : PALE));
  chart.add(bars(passages.map((one) => one.value), colours, {
    text: passages.map((one) => one.number), width: 0.36, customdata, hovertext, hovertemplate: "%{hovertext}<extra></extra>",
  }), row);
  chart.add(
    texts(
      0,
      range(passages.length).map((place) => place - 0.42),
      passages.map(({ text }, i) => `${i + 1}. ${label(text, 52)}`),
    ),
    row,
  );
  chart.axes("y", { range: [passages.length - 0.6, -0.8], ...HIDDEN }, row);
  chart.axes("x", { range: ends, ...HIDDEN }, row);
  chart.note(above("the second text and the others, best first; press one to open it", 4, { row }));
}
