// How a checkpoint makes one vector of a text, as its files say: prompt, limit, pooling, dense layers, normalisation. As in Python,
// where model/sentence_encoder.py reads the files.
import { argmax, length, meanRow, range, sum } from "../numbers.js";
import { TOKENS } from "../spans.js";
import { ACTIVATIONS } from "./activations.js";
import { Refusal } from "./refusal.js";
import { clip } from "./wording.js";

/** Mode -> the share that each of *count* tokens has in the vector; *before*: how many tokens of the text stand before them. Of "max"
 *  each number has its own. */
const SHARES = {
  cls: (count) => range(count).map((i) => Number(i === 0)),
  mean: (count) => Array(count).fill(1 / count),
  mean_sqrt_len_tokens: (count) => Array(count).fill(count ** -0.5),
  weightedmean: (count, before) => {
    const places = range(count).map((i) => before + i + 1);
    return places.map((place) => place / sum(places));
  },
  lasttoken: (count) => range(count).map((i) => Number(i === count - 1)),
};
const OF_ONE_TOKEN = ["cls", "lasttoken"];
const MODES_OF = { mean: ["mean"], CLS: ["cls"], max: ["max"], "last four summed": ["mean"] }; // a pooling's modes
const WORDS = { CLS: "the first token's vector", max: "the maximum over all tokens" }; // else the mean
const SIMILARITIES = {
  cosine: (a, b) => dotOf(a, b) / Math.max(length(a) * length(b), 1e-8),
  dot: dotOf,
  euclidean: (a, b) => -length(a.map((one, i) => one - b[i])),
  manhattan: (a, b) => -sum(a.map((one, i) => Math.abs(one - b[i]))),
};
/** @type {Record<string, any>} */
const PLAIN = {
  modes: ["mean"],
  steps: [],
  max_tokens: Infinity,
  lower_case: false,
  prompts: {},
  default_prompt: "",
  pools_prompt: true,
  similarity: "cosine",
  problem: "",
  words: "the mean over all tokens",
};

export class SentenceEncoder {
  /** *bert* has the weights of the dense layers; *about*: as site.json describes them, or a part of it;
   *  null: the files name none.
   *  @param {Record<string, any> | null} [about] */
  constructor(bert, about = null) {
    this.bert = bert;
    this.isNamed = Boolean(about);
    this.about = { ...PLAIN, ...about };
    this.about.words ??= PLAIN.words;
  }

  /** How two vectors are compared; minus a distance. */
  similarity(a, b) {
    return SIMILARITIES[this.about.similarity](a, b);
  }

  /** What stands before a text: the prompt with that *name*, none for "", the default one for null. */
  prompt(name) {
    const { prompts, default_prompt: usual } = this.about,
      chosen = name ?? usual;
    if (!chosen) return "";
    if (!Object.hasOwn(prompts, chosen)) {
      const known = Object.keys(prompts).join(", ").slice(0, 200) || "none";
      throw new Refusal(
        `There is no prompt '${clip(chosen, 60)}'; the checkpoint's files name ${known}.`,
      );
    }
    return prompts[chosen];
  }

  /** The encoding of a text, {first, second, hidden, picked}, whose vector is made; *name*: of its prompt. Its tokens before
   *  `unpooled` are not pooled. */
  encode(text, name = null) {
    const { tokenizer } = this.bert;
    const { max_tokens: limit, lower_case: isLower, pools_prompt: isPooled } = this.about;
    let before = this.prompt(name);
    let whole = withBefore(text, before);
    if (isLower) {
      before = before.toLowerCase();
      whole = inLowerCase(whole);
    }
    const encoding = tokenizer.encode(whole, limit);
    let unpooled = 0;
    if (!isPooled && before.trim()) {
      const alone = tokenizer.encode({ first: before }, limit);
      unpooled = alone.ids.length - Number(alone.special.at(-1)); // [SEP] stands after the text
    }
    return { ...encoding, unpooled };
  }

  /** The pooled vector of the vectors of a text's *tokens*, without the first *unpooled*. */
  pool(tokens, unpooled = 0) {
    const rows = tokens.slice(unpooled);
    return this.about.modes.flatMap((mode) => {
      if (mode !== "max") return [...meanRow(rows, SHARES[mode](rows.length, unpooled))];
      return range(rows[0].length).map((i) => Math.max(...rows.map((row) => row[i])));
    });
  }

  /** The vector of a text from its *pooled* one. */
  transform(pooled) {
    return this.about.steps.reduce((vector, step) => {
      if (step.kind === "truncate") return vector.slice(0, step.size);
      if (step.kind === "normalize") return scaled(vector, length(vector));
      return [...this.bert.linear(step.name, [vector])[0]].map(ACTIVATIONS[step.activation]);
    }, pooled);
  }

  /** Whether the vector of a text is a sum over its tokens, up to its length. */
  get isSum() {
    const { modes, steps } = this.about;
    const bends = steps.some((step) => step.kind === "dense" && step.activation !== "Identity");
    return !bends && !modes.some((mode) => OF_ONE_TOKEN.includes(mode));
  }

  /** What each token adds to the vector of its text: rows that sum to it. Only where the vector `isSum`. */
  parts(tokens, unpooled = 0) {
    let rows = shared(tokens.slice(unpooled), this.about.modes, unpooled);
    for (const step of this.about.steps) {
      if (step.kind === "truncate") rows = rows.map((row) => row.slice(0, step.size));
      else if (step.kind === "normalize") {
        const size = length(total(rows));
        rows = rows.map((row) => scaled(row, size));
      } else {
        const [bias] = this.bert.linear(step.name, [rows[0].map(() => 0)]);
        const less = 1 - 1 / rows.length; // each row has its part of the bias
        rows = this.bert
          .linear(step.name, rows)
          .map((row) => [...row].map((one, i) => one - less * bias[i]));
      }
    }
    const nothing = rows[0].map(() => 0);
    return [...range(unpooled).map(() => nothing), ...rows];
  }
}

/** The vector of each text: of *encodings*, after *layer*, by a *pooling* or as the checkpoint's files say, which is "own". */
export async function sentenceVectors(bert, encodings, layer, pooling) {
  const encoder = encoderOf(bert, pooling);
  return bert.take(encodings, (pass, i) => {
    const tokens = tokensOf(pass, layer, pooling);
    return encoder.transform(encoder.pool(tokens, encodings[i].unpooled));
  });
}

/** The vectors of the tokens of a *pass* after *layer*, or the sums of those of the last four layers. */
export const tokensOf = (pass, layer, pooling) =>
  pooling === "last four summed"
    ? range(pass.length).map((at) => lastFour(pass, at))
    : pass.vectors(layer);

/** What makes the vectors for a *pooling*. */
export function encoderOf(bert, pooling) {
  if (pooling !== "own")
    return new SentenceEncoder(bert, { modes: MODES_OF[pooling], words: WORDS[pooling] });
  if (bert.sentence.about.problem)
    throw new Refusal(`${bert.sentence.about.problem} Choose the pooling, such as the mean.`);
  return bert.sentence;
}

/** The name of a prompt as it was typed: null for the default one, "" for none. */
export function promptName(typed) {
  const name = (typed ?? "").trim();
  if (!name) return null;
  return name === "none" ? "" : name;
}

/** A sentence that says that a *pooling* after *layer* makes other vectors than the checkpoint's own sentence encoder, or what is missing
 *  for these. *lengths*: whether the lengths of vectors matter. */
export const departure = (bert, pooling, layer, lengths) =>
  `${bert.remark} ${ownDeparture(bert, pooling, layer, lengths)}`.trim();

function ownDeparture(bert, pooling, layer, lengths) {
  if (!bert.sentence.isNamed) return "";
  const { problem, steps, modes, words } = bert.sentence.about;
  if (problem) return problem;
  const left = steps.at(-1)?.kind === "normalize" && !lengths ? steps.slice(0, -1) : steps;
  const isAlike =
    pooling === "own" || (!left.length && String(MODES_OF[pooling]) === String(modes));
  if (isAlike && pooling !== "last four summed" && layer === bert.layers) return "";
  return `This departs from the checkpoint's own sentence encoder: ${words}, at the last layer.`;
}

function dotOf(a, b) {
  return sum(a.map((one, i) => one * b[i]));
}

const total = (rows) =>
  meanRow(
    rows,
    rows.map(() => 1),
  );
const scaled = (vector, size) => vector.map((one) => one / Math.max(size, 1e-12));
const lastFour = (pass, at) =>
  total(range(Math.min(4, pass.bert.layers)).map((i) => pass.vector(pass.bert.layers - i, at)));

/** Each of *rows* with its share in the pooled vector, mode beside mode. */
function shared(rows, modes, before) {
  const largest = range(rows[0].length).map((i) => argmax(rows.map((row) => row[i]))); // whose number counts
  return rows.map((row, at) =>
    modes.flatMap((mode) => {
      if (mode === "max") return [...row].map((one, i) => (largest[i] === at ? one : 0));
      const share = SHARES[mode](rows.length, before)[at];
      return [...row].map((one) => one * share);
    }),
  );
}

/** *text* with a prompt *before* it. */
function withBefore({ first, second = "", hidden = [], picked = [] }, before) {
  const more = [...before].length;
  const moved = (span) =>
    span.side === 0 ? { ...span, start: span.start + more, end: span.end + more } : span;
  return { first: before + first, second, hidden: hidden.map(moved), picked: picked.map(moved) };
}

/** *text* in lower case. Some letters become two, which moves the spans behind them. */
function inLowerCase({ first, second, hidden, picked }) {
  const moved = (span) => {
    const letters = [...(span.side ? second : first)];
    const at = (end) => [...letters.slice(0, end).join("").toLowerCase()].length;
    return span.side === TOKENS ? span : { ...span, start: at(span.start), end: at(span.end) };
  };
  return {
    first: first.toLowerCase(),
    second: second.toLowerCase(),
    hidden: hidden.map(moved),
    picked: picked.map(moved),
  };
}
