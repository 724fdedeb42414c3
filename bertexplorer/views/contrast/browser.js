// Contrast: one mask in two sentences, compared over the whole vocabulary.
import { clip, grouped, percent, quote } from "../../web/static/site/wording.js";
import { encodeMasked } from "../../web/static/site/masks.js";
import { range } from "../../web/static/numbers.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure, Mark, Points } from "../../web/static/types.d.ts" */

const FLOOR = 1e-4; // a word is listed only if it is at least this probable in one of the two
const CELLS = 120,
  FAINT = 0.25; // along an axis, each about one dot wide; the opacity of one word
const MANY = 1000; // a larger ratio of two probabilities is not worth its digits

export async function run(bert, text, { other, named }) {
  await bert.logProbs([]); // refuses if there is no head
  const isAlone = !other.trim(),
    of = (side) => text.hidden.filter((span) => span.side === side);
  if (isAlone && !text.second.trim()) {
    throw new Refusal(
      "The other sentence is missing. Type one with [MASK] in it, to compare the two masks.",
      "pair",
    );
  }
  // the two of a pair, each alone; or the other in place of the first
  const encodings = isAlone
    ? [
        encodeMasked(bert, { ...text, second: "", hidden: of(0) }),
        encodeOther(bert, {
          ...text,
          first: text.second,
          second: "",
          hidden: of(1).map((span) => ({ ...span, side: 0 })),
        }),
      ]
    : [
        encodeMasked(bert, text),
        encodeOther(bert, { first: other, second: text.second, hidden: of(1) }),
      ];
  const [[first], [second]] = await bert.maskedLogProbs(
    encodings,
    encodings.map((one) => one.masked.slice(0, 1)),
  );
  return {
    texts: encodings.map((one) => one.texts[0].join("")),
    first,
    second,
    words: mostDifferent(first, second, bert.tokenizer.pieces, named),
    divergence: jensenShannon(first, second),
    pieces: bert.tokenizer.pieces,
    notes: encodings[1].notes,
    isAlone,
  };
}

function encodeOther(bert, text) {
  try {
    return encodeMasked(bert, text);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(`In the other sentence: ${error.message}`);
  }
}

/** The *count* words of each side that add most to the divergence, among the likely ones. */
function mostDifferent(first, second, pieces, count) {
  const ratio = (i) => second[i] - first[i],
    towards = (i) => Math.sign(ratio(i)) * divergenceOf(first[i], second[i]);
  const likely = range(pieces.length).filter(
    (i) => Math.max(first[i], second[i]) >= Math.log(FLOOR),
  );
  const order = likely.sort((a, b) => towards(a) - towards(b));
  const falling = order.slice(0, count).filter((i) => ratio(i) < 0),
    rising = order
      .reverse()
      .slice(0, count)
      .filter((i) => ratio(i) > 0);
  return [...falling, ...rising].map((id) => ({
    token: pieces[id],
    id,
    first: first[id],
    second: second[id],
    ratio: ratio(id),
  }));
}

/** Jensen-Shannon divergence in bits (Lin, 1991) of two distributions given as natural logs: 0 the same, 1 nothing in common. */
function jensenShannon(first, second) {
  let total = 0;
  first.forEach((one, i) => {
    total += divergenceOf(one, second[i]);
  });
  return Math.max(0, total);
}

/** What a word with these natural logs adds to it. */
function divergenceOf(first, second) {
  const p = Math.exp(first),
    q = Math.exp(second),
    middle = Math.log((p + q) / 2);
  return (p * (first - middle) + q * (second - middle)) / 2 / Math.LN2;
}

export function rows({ first, second, words, pieces }) {
  const likelier = Float32Array.from(first, (one, i) => Math.max(one, second[i]));
  const order = range(pieces.length).sort((a, b) => likelier[b] - likelier[a]);
  return [...new Set([...words.map((word) => word.id), ...order])].map((i) => ({
    token: pieces[i],
    log_probability_first: first[i],
    log_probability_second: second[i],
    log_ratio: second[i] - first[i],
  }));
}

/** @returns {Figure} */
export function draw({ texts, first, second, words, pieces }) {
  const p = Float32Array.from(first, Math.exp),
    q = Float32Array.from(second, Math.exp);
  const low = Math.floor(
    Math.log10(
      Math.max(
        1e-9,
        quantile(
          p.map((one, i) => Math.min(one, q[i])),
          0.02,
        ),
      ),
    ),
  );
  const dots = thinOut(p, q, -low / CELLS).filter(({ id }) => Math.min(p[id], q[id]) >= 10 ** low),
    equal = [10 ** low, 1];
  /** @type {Mark[]} */
  const marks = [
    named(
      "blue",
      words.filter((word) => word.ratio < 0),
    ),
    named(
      "orange",
      words.filter((word) => word.ratio > 0),
    ),
    {
      kind: "points",
      x: dots.map(({ id }) => p[id]),
      y: dots.map(({ id }) => q[id]),
      tone: "grey",
      size: "dot",
      log: true,
      opacity: dots.map(({ count }) => Math.round(100 * (1 - (1 - FAINT) ** count)) / 100),
      hover: dots.map(({ id, count }) => {
        const more = count > 1 ? ` and ${grouped(count - 1)} more` : "";
        return `${pieces[id]}${more}: ${percent(p[id])} and ${percent(q[id])}`;
      }),
    },
    {
      kind: "points",
      x: equal,
      y: equal,
      tone: "grey",
      size: "dot",
      joined: true,
      dash: "dot",
      log: true,
    }, // as likely in both
  ];
  return { marks: 1, panels: [{ x: texts[0], y: texts[1], marks }] };
}

/** The words that are more likely in one of the sentences, with their names.
 *  @returns {Points} */
function named(tone, words) {
  const x = words.map((word) => Math.exp(word.first)),
    y = words.map((word) => Math.exp(word.second));
  return {
    kind: "points",
    x,
    y,
    tone,
    names: words.map((word) => clip(word.token, 16)),
    log: true,
    hover: words.map((word, i) => `${word.token}: ${percent(x[i])} and ${percent(y[i])}`),
  };
}

function quantile(values, share) {
  const sorted = values.sort(),
    at = share * (sorted.length - 1),
    floor = Math.floor(at);
  return (
    sorted[floor] + (at - floor) * (sorted[Math.min(floor + 1, sorted.length - 1)] - sorted[floor])
  );
}

/** The first word of the vocabulary in each square *cell*, whose side is in decades, and how many words are there: a browser
 *  needs seconds for 30,000 dots. */
function thinOut(p, q, cell) {
  const cells = new Map(),
    place = (value) => Math.floor(Math.log10(Math.max(1e-30, value)) / cell);
  p.forEach((value, id) => {
    const x = place(value),
      y = place(q[id]),
      key = `${x} ${y}`;
    if (cells.has(key)) cells.get(key).count += 1;
    else cells.set(key, { id, x, y, count: 1 });
  });
  return [...cells.values()].sort((a, b) => a.x - b.x || a.y - b.y);
}

export function say({ words, divergence, notes, isAlone }) {
  const leaning = (sign) => words.filter((word) => word.ratio * sign > 0).slice(0, 3);
  const side = (sign) =>
    leaning(sign)
      .map((word) => `${quote(word.token)} (${timesAsLikely(word)})`)
      .join(", ") || "no word";
  return [
    `More likely in the first sentence: ${side(-1)}. In the second: ${side(1)}.`,
    `Overall, the two answers differ by ${divergence.toFixed(2)} bits (Jensen-Shannon: 0 the same, 1 nothing in common).`,
    ...(isAlone ? ["Each sentence is read alone."] : []),
    ...notes.map((note) => `Other sentence: ${note}`),
  ].join(" ");
}

function timesAsLikely({ ratio }) {
  const times = Math.exp(Math.abs(ratio));
  return times < MANY
    ? `${grouped(times, 1)} times as likely`
    : `over ${grouped(MANY)} times as likely`;
}
