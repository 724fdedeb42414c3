// Facts: what the questions of lessons ask of a view's result, by the names that lessons call them, and the conditions and texts that
// do so. The site's builder makes trees of these (finds.py): of a condition [name, …], of a text one with {value, form} in its slots.
import { decimal, grouped, quote } from "./wording.js";
import { Refusal } from "./refusal.js";

const MORE_DIGITS = 3; // at most, for a value that is close to a limit

// Facts. Layers, places and ranks count from 1; layer 0 is the input of the first layer.

/** The facts of the *result* of a state, by name. */
export const factsOf = (bert, state, result) => ({
  ...textFacts(bert, state),
  ...FACTS[state.view]?.(result, bert),
});

const textFacts = ({ layers }, { text, pair }) => ({
  layers: () => layers,
  words: (side = 1) => wordsOf(side === 2 ? pair : text).length,
  shared_words: () => new Set(wordsOf(text).filter((word) => wordsOf(pair).includes(word))).size,
  mentions: (word) => wordsOf(text).includes(word.toLowerCase()),
});

/** The words of *text* in lower case, without punctuation. */
const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+(?:['’][\p{L}\p{N}_]+)*/gu) ?? [];

const FACTS = {
  "fill-mask": ({ blanks }, { tokenizer }) => ({
    top: (rank = 1, blank = 1) =>
      item(item(blanks, blank, "mask").candidates, rank, "answer").token,
    p: (word, blank = 1) => Math.exp(item(blanks, blank, "mask").row[pieceId(tokenizer, word)]),
  }),
  decoding: ({ fillings }) => {
    const filling = (method) =>
      named(
        fillings,
        fillings.map((one) => one.method),
        method,
        "method",
      );
    const tokens = (method) =>
      [...filling(method).steps].sort((a, b) => a.position - b.position).map(({ token }) => token);
    return {
      filled: (method) => tokens(method).join(" "),
      chained: (method) => filling(method).chained,
    };
  },
  layers: ({ layers, settled }) => ({
    settled: () => settled,
    top: (layer = -1) =>
      itemAtLayer(layers, layer === -1 ? layers.length - 1 : layer).candidates[0].token,
  }),
  "next-sentence": ({ forward }) => ({ is_next: () => forward.isNext }),
  search: ({ hits }) => {
    const line = (rank) => item(hits, rank, "line");
    return {
      hit: (rank = 1) => line(rank).text,
      topic: (rank = 1) => line(rank).label,
      cosine: (rank = 1) => line(rank).cosine,
    };
  },
  "sentence-similarity": ({ similarity, asSimilar, chance, pairs, rows, columns }) => ({
    similarity: () => similarity,
    as_similar: () => asSimilar / chance.length,
    top_first: (rank = 1) => rows[item(pairs, rank, "pair")[0]].label,
    top_second: (rank = 1) => columns[item(pairs, rank, "pair")[1]].label,
  }),
  switchboard: ({ answer, off, before, after }) => ({
    answer: () => answer,
    before: () => before.value,
    after: () => after.value,
    heads_off: () => off.length,
    top_after: () => item(after.candidates, 1, "answer").token,
  }),
  template: ({ fillings, words, probabilities }) => {
    const row = (filling) =>
      named(
        probabilities,
        fillings.map((choices) => choices.join(" / ")),
        filling,
        "filling",
      );
    const p = (filling, word) => named(row(filling), words, word, "word");
    return { ratio: (filling, word, other) => Math.log2(p(filling, word) / p(filling, other)) };
  },
  "term-weights": ({ texts }) => {
    const terms = (side) => item(texts, side, "text"),
      all = (side) => [...terms(side).own, ...terms(side).added];
    const term = (word, side) =>
      named(
        all(side),
        all(side).map((one) => one.word),
        word,
        "word",
      );
    return {
      added: (rank = 1, side = 1) => item(terms(side).added, rank, "word").word,
      weight: (word, side = 1) => term(word, side).weight,
      source: (word, side = 1) => term(word, side).sources[0],
    };
  },
  tokenization: ({ words }) => ({
    longest: () => Math.max(0, ...words.map(({ steps }) => steps.length)),
  }),
  "word-in-context": ({ cosines }) => ({
    cosine: (first, second, layer) =>
      item(item(itemAtLayer(cosines, layer), first, "occurrence"), second, "occurrence"),
  }),
};

/** The item with this *number*, from 1. */
function item(items, number, kind) {
  if (number >= 1 && number <= items.length) return items[number - 1];
  throw new Refusal(`There is no ${kind} ${number}; there are ${items.length}.`);
}

function itemAtLayer(items, layer) {
  if (layer >= 0 && layer < items.length) return items[layer];
  throw new Refusal(`There is no layer ${layer}; there are 0 to ${items.length - 1}.`);
}

/** The one of *items* that is called *name* among their *names*. */
function named(items, names, name, kind) {
  if (names.includes(name)) return items[names.indexOf(name)];
  throw new Refusal(
    `There is no ${kind} '${name}'; wanted one of ${names.map((one) => `'${one}'`).join(", ")}.`,
  );
}

function pieceId({ pieces }, word) {
  for (const piece of [word, word.toLowerCase()]) {
    const id = pieces.indexOf(piece);
    if (id >= 0) return id;
  }
  throw new Refusal(`'${word}' is not one piece of the vocabulary. Name a word that is.`);
}

// Conditions.

const OPERATORS = {
  not: (a) => !a,
  "+": (a, b) => a + b,
  "-": (a, b) => (b === undefined ? -a : a - b),
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  abs: Math.abs,
  min: Math.min,
  max: Math.max,
  len: (word) => [...word].length,
  log2: Math.log2,
};

/** The value of a condition, or of a part of one. */
export function valueOf(tree, facts) {
  if (!Array.isArray(tree)) return tree;
  const [name, ...given] = tree;
  const value = (part) => valueOf(part, facts);
  if (name === "and") return given.every(value);
  if (name === "or") return given.some(value);
  const called = OPERATORS[name] ?? facts[name];
  if (!called)
    throw new Refusal(
      `A site cannot check this, as it lacks the fact ${name}. To have it checked, install the explorer.`,
    );
  return called(...given.map(value));
}

// Texts.

/** A text with the values in its slots. *limits*: what was asked for; a value that rounding makes look like one gets more digits. */
export function fill(tree, facts, limits) {
  const out = [];
  for (const part of tree) {
    if (Array.isArray(part)) {
      out.push([part[0], part[1], fill(part[2], facts, limits)]);
      continue;
    }
    const words =
      typeof part === "string" ? part : formatted(valueOf(part.value, facts), part.form, limits);
    out.push(typeof out.at(-1) === "string" ? out.pop() + words : words);
  }
  return out;
}

/** *value* in a sentence; *form*: "%" for per cent, ".2" for digits, a quotation mark for a word in quotation marks. */
function formatted(value, form, limits) {
  if (typeof value === "string") return form === '"' ? quote(value) : value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  const others = limits.filter((limit) => limit !== value);
  const texts = Array.from({ length: MORE_DIGITS + 1 }, (_, more) => number(value, form, more));
  return (
    texts.find((text, more) => !others.some((limit) => number(limit, form, more) === text)) ??
    texts[0]
  );
}

function number(value, form, more) {
  const digits = Number(form.replace(/\D/g, "")) + more;
  if (form === ",") return grouped(value, more).replace("-", "−");
  if (form.endsWith("%")) return `${decimal(100 * value, digits)} %`;
  return form.startsWith(".") ? decimal(value, digits) : general(value, 3 + more);
}

/** *value* with so many *digits* that count, without zeros at the end; a power of ten where it is large or small. */
function general(value, digits) {
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const isFar = power < -4 || power >= digits;
  let written = String(Number(value.toPrecision(digits)));
  if (isFar) written = `${Number(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  return written.replaceAll("-", "−");
}
