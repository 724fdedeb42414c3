// Other texts, typed in one line, and bars for passages by their rank.
import { grouped } from "./wording.js";
import { Refusal } from "./refusal.js";

const MAX_TEXTS = 50,
  MAX_CHARACTERS = 20_000;

/** The texts of *typed*, one on each line or with | between, each once. */
export function parseTexts(typed) {
  const length = [...typed].length;
  if (length > MAX_CHARACTERS) {
    throw new Refusal(
      `The other second sentences have ${grouped(length)} characters; the limit is ${grouped(MAX_CHARACTERS)}. Remove some.`,
    );
  }
  const unique = [
    ...new Set(
      typed
        .split(/[|\n]/)
        .map((part) => part.trim())
        .filter(Boolean),
    ),
  ];
  if (unique.length > MAX_TEXTS)
    throw new Refusal(
      `${unique.length} other second sentences were given; the limit is ${MAX_TEXTS}.`,
    );
  return unique;
}

/** One side of a pair as a single text. What is hidden stays hidden. */
export const alone = ({ first, second, hidden }, side) => ({
  first: side ? second : first,
  hidden: hidden.filter((span) => span.side === side).map((span) => ({ ...span, side: 0 })),
});

/** *passages* by their rank, {text, value, number: the value in words, own: whether it is the second text}, best first. A press
 *  opens one, with the *first* text and the others beside it. *scale*: {low, high}, its ends, if not those of the values.
 *  @returns {import("../types.d.ts").Panel} */
export function passagesPanel(first, passages, scale = {}) {
  const others = passages.map((one) => one.text).join(" | ");
  const bars = passages.map(({ text, value, number, own }, i) => ({
    label: `${i + 1}. ${text}`,
    value,
    text: number,
    tone: own ? "blue" : "pale",
    hover: `${text}: ${number}`,
    door: { text: first, pair: text, set: { others } },
  }));
  const title = "the second text and the others, best first; press one to open it";
  return { title, marks: [{ kind: "bars", bars, ...scale, above: true }] };
}
