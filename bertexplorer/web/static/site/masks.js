// What the views of masks share: the text with its mask, and words of one or several pieces at a mask.
import { range, rankOf, sum, topk } from "../numbers.js";
import { Refusal } from "./refusal.js";

const MAX_WORDS = 50,
  MAX_PIECES = 20;

/** The encoding of *text*, which must hide something. */
export function encodeMasked(bert, text) {
  if (!bert.has.includes("masked_lm")) {
    throw new Refusal(
      `${bert.name} has no head that predicts words. Choose a checkpoint with one.`,
      "head",
    );
  }
  const encoding = bert.tokenizer.encode(text);
  if (encoding.masked.length) return encoding;
  const place = encoding.leftOut ? " within the tokens that are read" : "";
  throw new Refusal(
    `Nothing is hidden${place}, so there is nothing to predict. Put ${bert.tokenizer.mask} where a word is missing, or click a word to hide it.`,
    "mask",
  );
}

/** The *count* likeliest of *names*, by a row of log-probabilities. */
export const bestOf = (names, row, count) =>
  topk(row, Math.min(count, names.length)).map((id, i) => ({
    token: names[id],
    id,
    probability: Math.exp(row[id]),
    rank: i + 1,
  }));

/** The words of a line with commas, each once. */
export function parseWords(words) {
  const all = words.split(",").map((word) => word.trim().split(/\s+/).join(" "));
  const unique = [...new Set(all.filter(Boolean))];
  if (unique.length > MAX_WORDS)
    throw new Refusal(
      `${unique.length} words were given to look up; the limit is ${MAX_WORDS}. Remove some.`,
    );
  return unique;
}

/** The words at a mask, best first; *row*: the log-probabilities there. */
export async function scoreWords(bert, encoding, position, row, words) {
  const scores = [];
  for (const word of words) {
    const ids = bert.tokenizer.piecesAt(encoding, position, word);
    if (ids.length > MAX_PIECES) {
      throw new Refusal(
        `'${word}' is cut into ${ids.length} pieces; the limit is ${MAX_PIECES}. Choose a shorter word.`,
      );
    }
    const logProbability =
      ids.length === 1 ? row[ids[0]] : await piecesLogProb(bert, encoding, position, ids);
    scores.push({
      word,
      pieces: ids.map((id) => bert.tokenizer.pieces[id]),
      probability: Math.exp(logProbability),
      logProbability,
      rank: ids.length === 1 ? rankOf(row, ids[0]) : null,
    });
  }
  return scores.sort((a, b) => b.logProbability - a.logProbability);
}

/** The log-probability of a word of several pieces: each given those before it, with the later ones hidden (Kauf and Ivanova,
 *  2023). */
async function piecesLogProb(bert, encoding, position, ids) {
  const wide = insertMasks(bert, encoding, position, ids.length);
  if (wide.ids.length > bert.tokenizer.max_tokens) {
    throw new Refusal(
      `With ${ids.length} masks for the word, the text is ${wide.ids.length} tokens long; shorten it.`,
    );
  }
  const steps = ids.map((_, i) =>
    bert.tokenizer.withIds(wide, new Map(ids.slice(0, i).map((id, j) => [position + j, id]))),
  );
  const rows = await bert.maskedLogProbs(
    steps,
    range(ids.length, position).map((at) => [at]),
  );
  return sum(rows.map(([row], i) => row[ids[i]]));
}

/** The encoding with *count* masks in place of the one at *position*. */
function insertMasks(bert, encoding, position, count) {
  const { maskId } = bert.tokenizer;
  const spread = (values, fill) => [
    ...values.slice(0, position),
    ...Array(count).fill(fill),
    ...values.slice(position + 1),
  ];
  const { tokens, segments, spans, words } = encoding;
  return bert.tokenizer.complete({
    ...encoding,
    tokens: spread(tokens, tokens[position]),
    ids: spread(encoding.ids, maskId),
    originalIds: spread(encoding.originalIds, maskId),
    segments: spread(segments, segments[position]),
    spans: spread(spans, spans[position]),
    words: spread(words, words[position]),
    special: spread(encoding.special, false),
  });
}
