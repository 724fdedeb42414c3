// Pseudo-likelihood: how likely each token is given all the others, and so how likely the sentence is.
import { counted, decimal, grouped, percent, quote } from "../../web/static/site/wording.js";
import { argmax, most as largest, range, rankOf, sum } from "../../web/static/numbers.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure } from "../../web/static/types.d.ts" */

const MOST = 4; // bits up to which all figures have one scale

export async function run(bert, text, { hide, most }) {
  const { tokenizer } = bert;
  const typed = tokenizer.encode(text);
  const encoding = tokenizer.complete({ ...typed, ids: typed.originalIds });
  const { ids, words } = encoding;
  await bert.logProbs([]); // refuses if there is no head
  const open = range(ids.length).filter((i) => !encoding.special[i] && ids[i] !== tokenizer.maskId),
    positions = open.slice(0, most);
  if (!open.length) {
    throw new Refusal(
      "The text has only masks or characters outside the vocabulary, so there is no word to score. Type a sentence.",
    );
  }
  const covered = (at) =>
    hide === "the piece" ? [at] : range(ids.length - at, at).filter((i) => words[i] === words[at]);
  const found = await bert.maskedLogProbs(
    positions.map((at) => tokenizer.hide(encoding, covered(at))),
    positions.map((at) => [at]),
  );
  const scored = positions.map((position, i) => {
    const [row] = found[i],
      id = ids[position];
    return {
      position,
      token: encoding.tokens[position],
      probability: Math.exp(row[id]),
      logProbability: row[id],
      rank: rankOf(row, id),
    };
  });
  const total = sum(scored.map((one) => one.logProbability));
  const holes = ids.filter((id) => id === tokenizer.maskId).length; // typed masks, which stay in every pass
  return {
    scored,
    total,
    perplexity: Math.exp(-total / scored.length),
    unscored: open.length - scored.length,
    holes,
  };
}

export function rows({ scored }) {
  return scored.map(({ position, token, probability, logProbability, rank }) => ({
    position,
    token,
    probability,
    log_probability: logProbability,
    rank,
  }));
}

/** @returns {Figure} */
export function draw({ scored }) {
  const bars = scored.map(({ token, logProbability, probability, rank }) => {
    const bits = -logProbability / Math.LN2,
      share = percent(probability);
    return {
      label: token,
      value: bits,
      text: share,
      hover: `${token}: ${share}, rank ${grouped(rank)}, ${bits.toFixed(1)} bits`,
    };
  });
  const high = Math.max(MOST, largest(bars.map((bar) => bar.value)));
  return {
    marks: 1,
    panels: [{ title: "surprise (bits)", marks: [{ kind: "columns", bars, high, tokens: true }] }],
  };
}

/** Position -> probability. */
export const colours = ({ scored }) =>
  Object.fromEntries(scored.map((one) => [one.position, one.probability]));

export function say({ scored, total, perplexity, unscored, holes }) {
  const ownChoices = scored.filter((one) => one.rank === 1).length,
    worst = scored[argmax(scored.map((one) => -one.logProbability))];
  const part = unscored
    ? `the first ${scored.length} of ${scored.length + unscored}`
    : scored.length;
  return (
    `The pseudo-log-likelihood is ${decimal(total, 1)} nats over ${part} tokens, a perplexity of ${grouped(perplexity, 1)}. ` +
    `The most surprising token is ${quote(worst.token)} with ${percent(worst.probability)}; ${ownChoices} of ${scored.length} are the checkpoint's own first choice.${sayHoles(holes)}`
  );
}

function sayHoles(holes) {
  if (!holes) return "";
  const stay =
    holes === 1 ? "stays a hole in every pass and has" : "stay holes in every pass and have";
  return ` The ${counted(holes, "mask")} in the text ${stay} no score: type a word there to score it.`;
}
