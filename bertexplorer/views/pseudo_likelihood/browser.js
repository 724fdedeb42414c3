// Pseudo-likelihood: how likely each token is given all the others, and so how likely the sentence is.
import { ACCENT, Chart, counted, decimal, grouped, label, percent, quote, ticks } from "../chart.js";
import { argmax, most as largest, range, rankOf, sum } from "../numbers.js";
import { Refusal } from "../tokens.js";

const LEVEL = 8, NAMED = 24;  // bars whose numbers fit side by side on a phone, more are turned; tokens that all have a name

export async function run(bert, text, { hide, most }) {
  const { tokenizer } = bert;
  const typed = tokenizer.encode(text);
  const encoding = tokenizer.complete({ ...typed, ids: typed.originalIds });
  const { ids, words } = encoding;
  await bert.logProbs([]);  // refuses if there is no head
  const open = range(ids.length).filter((i) => !encoding.special[i] && ids[i] !== tokenizer.maskId), positions = open.slice(0, most);
  if (!open.length) {
    throw new Refusal(
      "The text has only masks or characters outside the vocabulary, so there is no word to score. Type a sentence.",
    );
  }
  const covered = (at) => (hide === "the piece" ? [at] : range(ids.length - at, at).filter((i) => words[i] === words[at]));
  const found = await bert.maskedLogProbs(positions.map((at) => tokenizer.hide(encoding, covered(at))), positions.map((at) => [at]));
  const scored = positions.map((position, i) => {
    const [row] = found[i], id = ids[position];
    return { position, token: encoding.tokens[position], probability: Math.exp(row[id]), logProbability: row[id], rank: rankOf(row, id) };
  });
  const total = sum(scored.map((one) => one.logProbability));
  const holes = ids.filter((id) => id === tokenizer.maskId).length;  // typed masks, which stay in every pass
  return { scored, total, perplexity: Math.exp(-total / scored.length), unscored: open.length - scored.length, holes };
}

export function rows({ scored }) {
  return scored.map(({ position, token, probability, logProbability, rank }) => ({
    position, token, probability, log_probability: logProbability, rank,
  }));
}

export function draw({ scored }) {
  const bits = scored.map((one) => -one.logProbability / Math.LN2);
  const labels = scored.map((one) => label(one.token, 16));
  const few = scored.length <= LEVEL;
  const chart = new Chart({
    type: "bar", x: range(scored.length), y: bits, marker: { color: ACCENT },
    ...(scored.length <= NAMED && { text: scored.map((one) => percent(one.probability)) }),
    textposition: "outside", textangle: few ? 0 : -90, ...(!few && { textfont: { size: 12 } }), cliponaxis: false,
    constraintext: few ? "inside" : "none",  // turned, it is read above a thin bar, too
    customdata: scored.map((one, i) => `${labels[i]}: ${percent(one.probability)}, rank ${grouped(one.rank)}`),
    hovertemplate: "%{customdata}, %{y:.1f} bits<extra></extra>",
  });
  chart.axes("x", { showgrid: false, tickangle: -45, ...ticks(labels, { step: Math.max(1, Math.ceil(scored.length / NAMED)), mono: 13 }) });
  chart.axes("y", { title: { text: "surprise (bits)" }, range: [0, Math.max(4, largest(bits) * 1.2)] });
  return chart.finish(420, { bargap: 0.25 });
}

/** Position -> probability. */
export const colours = ({ scored }) => Object.fromEntries(scored.map((one) => [one.position, one.probability]));

export function say({ scored, total, perplexity, unscored, holes }) {
  const ownChoices = scored.filter((one) => one.rank === 1).length, worst = scored[argmax(scored.map((one) => -one.logProbability))];
  const part = unscored ? `the first ${scored.length} of ${scored.length + unscored}` : scored.length;
  return `The pseudo-log-likelihood is ${decimal(total, 1)} nats over ${part} tokens, a perplexity of ${grouped(perplexity, 1)}. `
    + `The most surprising token is ${quote(worst.token)} with ${percent(worst.probability)}; ${ownChoices} of ${scored.length} are the checkpoint's own first choice.${sayHoles(holes)}`;
}

function sayHoles(holes) {
  if (!holes) return "";
  const stay = holes === 1 ? "stays a hole in every pass and has" : "stay holes in every pass and have";
  return ` The ${counted(holes, "mask")} in the text ${stay} no score: type a word there to score it.`;
}
