// Contrast: one mask in two sentences, compared over the whole vocabulary.
import { ACCENT, Chart, clip, GREY, grouped, label, MONO, ORANGE, quote, range, safe, title } from "../chart.js";
import { encodeMasked } from "../masks.js";
import { Refusal } from "../tokens.js";

const FLOOR = 1e-4;  // a word is listed only if it is at least this probable in one of the two
const LINE = 34;  // characters below the plot, on a phone
const CELLS = 120, FAINT = 0.25;  // along an axis, each about one dot wide; the opacity of one word
const MANY = 1000;  // a larger ratio of two probabilities is not worth its digits

export async function run(bert, text, { other, named }) {
  await bert.logProbs([]);  // refuses if there is no head
  const isAlone = !other.trim(), of = (side) => text.hidden.filter((span) => span.side === side);
  if (isAlone && !text.second.trim()) {
    throw new Refusal("The other sentence is missing. Type one with [MASK] in it, to compare the two masks.", "pair");
  }
  // the two of a pair, each alone; or the other in place of the first
  const encodings = isAlone
    ? [
      encodeMasked(bert, { ...text, second: "", hidden: of(0) }),
      encodeOther(bert, { ...text, first: text.second, second: "", hidden: of(1).map((span) => ({ ...span, side: 0 })) }),
    ]
    : [encodeMasked(bert, text), encodeOther(bert, { first: other, second: text.second, hidden: of(1) })];
  const [[first], [second]] = await bert.maskedLogProbs(encodings, encodings.map((one) => one.masked.slice(0, 1)));
  return {
    texts: encodings.map((one) => one.texts[0].join("")), first, second, words: mostDifferent(first, second, bert.tokenizer.pieces, named),
    divergence: jensenShannon(first, second), pieces: bert.tokenizer.pieces, notes: encodings[1].notes, isAlone,
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
  const ratio = (i) => second[i] - first[i], towards = (i) => Math.sign(ratio(i)) * divergenceOf(first[i], second[i]);
  const likely = range(pieces.length).filter((i) => Math.max(first[i], second[i]) >= Math.log(FLOOR));
  const order = likely.sort((a, b) => towards(a) - towards(b));
  const falling = order.slice(0, count).filter((i) => ratio(i) < 0), rising = order.reverse().slice(0, count).filter((i) => ratio(i) > 0);
  return [...falling, ...rising].map((id) => ({ token: pieces[id], id, first: first[id], second: second[id], ratio: ratio(id) }));
}

/** Jensen-Shannon divergence in bits (Lin, 1991) of two distributions given as natural logs: 0 the same, 1 nothing in common. */
function jensenShannon(first, second) {
  let total = 0;
  first.forEach((one, i) => { total += divergenceOf(one, second[i]); });
  return Math.max(0, total);
}

/** What a word with these natural logs adds to it. */
function divergenceOf(first, second) {
  const p = Math.exp(first), q = Math.exp(second), middle = Math.log((p + q) / 2);
  return (p * (first - middle) + q * (second - middle)) / 2 / Math.LN2;
}

export function rows({ first, second, words, pieces }) {
  const likelier = Float32Array.from(first, (one, i) => Math.max(one, second[i]));
  const order = range(pieces.length).sort((a, b) => likelier[b] - likelier[a]);
  return [...new Set([...words.map((word) => word.id), ...order])].map((i) => (
    { token: pieces[i], log_probability_first: first[i], log_probability_second: second[i], log_ratio: second[i] - first[i] }
  ));
}

export function draw({ texts, first, second, words, pieces }) {
  const p = Float32Array.from(first, Math.exp), q = Float32Array.from(second, Math.exp);
  const low = Math.floor(Math.log10(Math.max(1e-9, quantile(p.map((one, i) => Math.min(one, q[i])), 0.02))));
  const chart = new Chart({
    type: "scatter", x: [10 ** low, 1], y: [10 ** low, 1], mode: "lines", line: { color: GREY, dash: "dot" },
    hoverinfo: "skip",
  });
  const dots = thinOut(p, q, -low / CELLS);
  chart.add({
    type: "scatter", x: dots.map(({ id }) => p[id]), y: dots.map(({ id }) => q[id]), mode: "markers",
    marker: { size: 4, color: GREY, opacity: dots.map(({ count }) => Math.round(100 * (1 - (1 - FAINT) ** count)) / 100) },
    text: dots.map(({ id, count }) => safe(pieces[id]) + (count > 1 ? ` and ${grouped(count - 1)} more` : "")),
    hovertemplate: "%{text}: %{x:.2%} and %{y:.2%}<extra></extra>",
  });
  for (const [side, colour] of [[-1, ACCENT], [1, ORANGE]]) {
    const ours = words.filter((word) => word.ratio * side > 0), labelled = withoutOverlap(ours, -low);
    chart.add({
      type: "scatter", x: ours.map((word) => Math.exp(word.first)), y: ours.map((word) => Math.exp(word.second)), mode: "markers+text",
      marker: { size: 8, color: colour }, customdata: ours.map((word) => safe(word.token)),
      text: ours.map((word) => (labelled.includes(word) ? label(word.token, 16) : "")),
      textposition: ours.map((word) => labelPosition(side, word, low)),
      textfont: { family: MONO, size: 13, color: colour },
      hovertemplate: "%{customdata}: %{x:.2%} and %{y:.2%}<extra></extra>",
      cliponaxis: false,
    });
  }
  const log = { type: "log", range: [low - 0.3, 0], tickformat: "~%", tick0: 0, tickfont: { size: 12 } };
  chart.axes("x", {
    title: title(wrap(clip(texts[0], 2 * LINE)).map(safe).join("<br>"), 10),
    dtick: low > -5 ? 2 : 4, tickangle: 0, ...log,
  });
  chart.axes("y", { title: title(label(texts[1], 52), 10), dtick: 2, ...log });
  return chart.finish(560, { margin: { l: 8, r: 24, t: 16, b: 8 } });
}

function quantile(values, share) {
  const sorted = values.sort(), at = share * (sorted.length - 1), floor = Math.floor(at);
  return sorted[floor] + (at - floor) * (sorted[Math.min(floor + 1, sorted.length - 1)] - sorted[floor]);
}

/** The first word of the vocabulary in each square *cell*, whose side is in decades, and how many words are there: a browser
 *  needs seconds for 30,000 dots. */
function thinOut(p, q, cell) {
  const cells = new Map(), place = (value) => Math.floor(Math.log10(Math.max(1e-30, value)) / cell);
  p.forEach((value, id) => {
    const x = place(value), y = place(q[id]), key = `${x} ${y}`;
    if (cells.has(key)) cells.get(key).count += 1;
    else cells.set(key, { id, x, y, count: 1 });
  });
  return [...cells.values()].sort((a, b) => a.x - b.x || a.y - b.y);
}

/** Where the label of *word* is off the diagonal and the edges of the plot. */
function labelPosition(side, { first }, low) {
  const x = first / Math.LN10;
  if (side < 0) return x < -2 ? "middle right" : "bottom center";
  return x > low + 2 ? "middle left" : "top center";
}

/** The words whose labels do not overlap an earlier label; the others appear under the pointer. */
function withoutOverlap(words, decades) {
  const apart = (a, b) => Math.abs(a - b) / Math.LN10 / decades, letters = (word) => [...word.token].length, placed = [];
  for (const word of words) {
    const isClear = (one) => apart(word.first, one.first) > 0.011 * (letters(word) + letters(one)) || apart(word.second, one.second) > 0.04;
    if (placed.every(isClear)) placed.push(word);
  }
  return placed;
}

/** At most two lines of *text*, cut between words. */
function wrap(text) {
  const lines = [""];
  for (const word of text.match(new RegExp(`\\S{1,${LINE}}`, "gu"))) {
    const last = lines.at(-1), longer = last ? `${last} ${word}` : word;
    if (longer.length <= LINE) lines[lines.length - 1] = longer;
    else if (lines.length === 1) lines.push(word);
    else return [lines[0], `${last.length < LINE ? last : last.replace(/ ?\S+$/, "") || last.slice(0, -1)}…`];
  }
  return lines;
}

export function say({ words, divergence, notes, isAlone }) {
  const leaning = (sign) => words.filter((word) => word.ratio * sign > 0).slice(0, 3);
  const side = (sign) => leaning(sign).map((word) => `${quote(word.token)} (${timesAsLikely(word)})`).join(", ") || "no word";
  return [
    `More likely in the first sentence: ${side(-1)}. In the second: ${side(1)}.`,
    `Overall, the two answers differ by ${divergence.toFixed(2)} bits (Jensen-Shannon: 0 the same, 1 nothing in common).`,
    ...(isAlone ? ["Each sentence is read alone."] : []),
    ...notes.map((note) => `Other sentence: ${note}`),
  ].join(" ");
}

function timesAsLikely({ ratio }) {
  const times = Math.exp(Math.abs(ratio));
  return times < MANY ? `${grouped(times, 1)} times as likely` : `over ${grouped(MANY)} times as likely`;
}
