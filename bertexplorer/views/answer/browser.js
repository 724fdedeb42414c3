// Answer: the labels or the score that a fine-tuned head gives a text, and the words that the best one rests on.
import { relevanceOf, labelLogits, valuesOf } from "../../web/static/site/classifier.js";
import { parseTexts, passagesPanel } from "../../web/static/site/passages.js";
import { encodePair } from "../../web/static/site/question.js";
import { unitsOf } from "../../web/static/site/units.js";
import { Refusal } from "../../web/static/site/refusal.js";
import {
  beyondLimit,
  clip,
  decimal,
  joinNames,
  percent,
  quote,
  signed,
} from "../../web/static/site/wording.js";
import { least, most } from "../../web/static/numbers.js";

/** @import { Bar, Figure, Mark, Panel } from "../../web/static/types.d.ts" */

const MOST_WORDS = 40,
  PASS_TOKENS = 16_384; // of a text whose words are hidden in turn, and that these texts may have together
const HIDDEN = 12, // words of the panel of hidden words
  NAMED = 8; // labels in the sentence
const FELT = 0.05, // the least change that the sentence names
  LIKELY = 0.5; // probability above which a text has one of several labels

export async function run(bert, text, { top, others }) {
  const encoding = bert.tokenizer.encode(text),
    words = hideableWords(bert, encoding);
  const without = words.map((word) => bert.tokenizer.hide(encoding, word.positions));
  const [own, ...rest] = await labelLogits(bert, [encoding, ...without]);
  const labels = rankedLabels(bert, own),
    [best] = labels;
  const hidden = words.map((word, i) => ({
    word: word.label,
    positions: word.positions,
    value: valuesOf(bert, rest[i])[best.index],
  }));
  const passages = others.trim() ? await rankPassages(bert, text, encoding, others, best) : [];
  const { kind } = bert.classifier;
  return {
    about: bert.classifier,
    kind,
    scored: kind === "score",
    top,
    length: encoding.ids.length,
    leftOut: encoding.leftOut,
    labels,
    hidden,
    passages,
    first: encoding.texts[0].join(""),
    relevance: relevanceOf(bert, best.logit),
  };
}

/** The words that can be hidden; none of a long text, or without a mask. */
function hideableWords(bert, encoding) {
  if (bert.tokenizer.maskId === null) return [];
  const masked = new Set(encoding.masked);
  const words = unitsOf(bert, encoding, true).filter(
    (unit) => !unit.special && !unit.positions.every((at) => masked.has(at)),
  );
  const isLong = words.length > MOST_WORDS || words.length * encoding.ids.length > PASS_TOKENS;
  return isLong ? [] : words;
}

/** {name, index, logit, value} of each label, the largest logit first. */
function rankedLabels(bert, logits) {
  const values = valuesOf(bert, logits);
  return bert.classifier.labels
    .map((name, index) => ({ name, index, logit: logits[index], value: values[index] }))
    .sort((a, b) => b.logit - a.logit);
}

/** The second text and the others by the number of the label *best*, the highest first. */
async function rankPassages(bert, text, encoding, others, best) {
  if (encoding.secondStart < 0)
    throw new Refusal(
      "There is no second text to rank with the others. Type the first of them as the second sentence.",
      "pair",
    );
  const first = { ...text, hidden: text.hidden.filter((span) => span.side === 0) };
  const pairs = parseTexts(others)
    .map((second) => encodeCandidate(bert, first, second))
    .filter(({ ids }) => String(ids) !== String(encoding.ids));
  const passages = [
    { text: encoding.texts[1].join(""), value: best.value, logit: best.logit, own: true },
  ];
  const logits = pairs.length ? await labelLogits(bert, pairs) : [];
  pairs.forEach((pair, i) =>
    passages.push({
      text: pair.texts[1].join(""),
      value: valuesOf(bert, logits[i])[best.index],
      logit: logits[i][best.index],
      own: false,
    }),
  );
  const scored = bert.classifier.kind === "score";
  return passages.sort((a, b) => (scored ? b.logit - a.logit : b.value - a.value));
}

function encodeCandidate(bert, first, second) {
  try {
    return encodePair(bert, { ...first, second });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(
      `'${second.slice(0, 58)}' cannot be a second sentence: nothing in it can be read.`,
    );
  }
}

/** The names of the labels that the text has. */
const chosenOf = ({ kind, labels }) =>
  kind === "labels"
    ? labels.filter(({ value }) => value > LIKELY).map(({ name }) => name)
    : [labels[0].name];

export function rows(result) {
  const { kind, labels, hidden, passages, relevance } = result,
    best = labels[0].name,
    chosen = chosenOf(result);
  const row = (kind, position, token, answer, rank, value, logit = "", isChosen = false) => ({
    kind,
    position,
    token,
    answer,
    rank,
    value,
    logit,
    chosen: isChosen,
  });
  const table = labels.map(({ name, value, logit }, i) =>
    row(kind, "", "", name, i + 1, value, logit, chosen.includes(name)),
  );
  if (relevance && relevance.value !== null)
    table.push(row(kind, "", "", "relevance", 2, relevance.value));
  for (const { word, positions, value } of hidden)
    table.push(row("hidden", positions[0], word, best, "", value));
  passages.forEach(({ text, value, logit, own }, i) =>
    table.push(row("passage", "", text, best, i + 1, value, logit, own)),
  );
  return table;
}

// The figure.

const measure = ({ scored }, value) => (scored ? decimal(value) : percent(value));
const nameOf = ({ scored, labels }) => (scored ? "the score" : quote(labels[0].name));

/** @returns {Figure} */
export function draw(result) {
  const { kind, labels, top, passages, first } = result,
    chosen = chosenOf(result);
  const bars = labels.slice(0, top).map(({ name, value, logit }) => {
    const number = measure(result, value);
    /** @type {Bar} */
    const bar = {
      label: name,
      value,
      text: number,
      tone: chosen.includes(name) ? "blue" : "pale",
      hover: `${name}: ${number}, logit ${decimal(logit)}`,
    };
    return bar;
  });
  const words = strongestWords(result).map((word) => wordBar(result, word));
  const scale = scaleOf(
    result,
    [...bars, ...words].map((bar) => bar.value),
  );
  /** @type {Mark[]} */
  const marks = [{ kind: "bars", bars, ...scale }];
  if (kind === "labels") marks.push({ kind: "rule", at: LIKELY, tone: "grey", dash: "dot" });
  const title = {
    label: "probability of each label",
    labels: "probability of each label, one by one",
    score: "score",
  }[kind];
  /** @type {Panel[]} */
  const panels = [{ title, marks }];
  if (passages.length) {
    const ranked = passages.map((one) => ({ ...one, number: measure(result, one.value) }));
    panels.push(
      passagesPanel(
        first,
        ranked,
        scaleOf(
          result,
          passages.map((one) => one.value),
        ),
      ),
    );
  }
  if (words.length) {
    const without = `${nameOf(result)} if one word is hidden`;
    panels.push({
      title: without,
      marks: [{ kind: "bars", bars: words, ...scale, tokens: true }],
    });
  }
  return { marks: 1, panels };
}

/** The ends of the scale of *values*; a score has no largest value. */
function scaleOf({ scored }, values) {
  if (!scored) return { low: 0, high: 1 };
  return { low: least([0, ...values]), high: most([0, ...values]) };
}

/** The words whose hiding changes the best label most, in the order of the text. */
function strongestWords({ labels: [best], hidden }) {
  const change = ({ value }) => Math.abs(value - best.value);
  const strongest = [...hidden].sort((a, b) => change(b) - change(a)).slice(0, HIDDEN);
  return hidden.filter((word) => strongest.includes(word));
}

/** What is left of the best label without a word. The label rests on the word if it falls by at least a quarter of what is most.
 *  @returns {Bar} */
function wordBar(result, { word, value }) {
  const {
    labels: [best],
    hidden,
  } = result;
  const number = measure(result, value),
    change = `${signed(value - best.value)} beside the whole text`;
  const furthest = most(hidden.map((other) => best.value - other.value));
  const rests = best.value - value >= Math.max(furthest / 4, FELT);
  return {
    label: word,
    value,
    text: number,
    tone: rests ? "orange" : "pale",
    hover: `${best.name} with [MASK] in place of ${word}: ${number}, ${change}`,
  };
}

/** Position -> how much the best label falls without its word, from -1 to 1. */
export function colours({ labels: [best], hidden }) {
  const falls = hidden.map(({ value }) => best.value - value);
  const furthest = most([FELT, ...falls.map(Math.abs)]);
  return Object.fromEntries(
    hidden.flatMap(({ positions }, i) => positions.map((at) => [at, falls[i] / furthest])),
  );
}

// The sentence.

export function say(result) {
  const { about, length, leftOut } = result;
  const sentences = [sayLabels(result), ...sayPassages(result), ...sayHidden(result)];
  sentences.push(...about.caveats);
  if (0 < about.max_tokens && about.max_tokens < length)
    sentences.push(`The run cut its texts to ${about.max_tokens} tokens; here ${length} are read.`);
  return [...sentences, ...beyondLimit(leftOut)].join(" ");
}

function sayLabels(result) {
  const {
    kind,
    labels,
    labels: [best, second],
  } = result;
  if (kind === "score") {
    const subject = labels.length === 1 ? "The score is" : `${quote(best.name)} has the score`;
    return `${subject} ${decimal(best.value)}${sayRelevance(result)}.`;
  }
  const told = ({ name, value }) => `${quote(name)} (${percent(value)})`;
  if (kind === "labels") {
    const likely = labels.filter(({ value }) => value > LIKELY).map(told);
    if (!likely.length)
      return `No label is above 50 %; the likeliest is ${quote(best.name)} with ${percent(best.value)}.`;
    const named = likely.slice(0, NAMED);
    if (likely.length > NAMED) named.push(`${likely.length - NAMED} more`);
    return `Above 50 %: ${joinNames(named)}.`;
  }
  const then = second ? `, then ${quote(second.name)} with ${percent(second.value)}` : "";
  return `The label is ${quote(best.name)} with ${percent(best.value)}${then}.`;
}

/** What a re-ranker's files make of its score, as the end of a sentence. */
function sayRelevance({ relevance }) {
  if (!relevance) return "";
  const { name, value } = relevance;
  if (value === null)
    return `, of which its files make a relevance by ${name}, which is not computed here`;
  if (name === "Identity") return ", which its files take for the relevance as it is";
  if (name === "Sigmoid") return `, a relevance of ${percent(value)} (its sigmoid)`;
  return `, a relevance of ${decimal(value)} (by ${name})`;
}

/** Which of the second texts is first, and where that of the pair stands. */
function sayPassages(result) {
  const { passages } = result;
  if (!passages.length) return [];
  const [first] = passages,
    among = `Of ${passages.length} second texts it is`;
  if (first.own) return [`${among} first.`];
  const rank = 1 + passages.findIndex((one) => one.own);
  const number = measure(result, first.value);
  return [`${among} number ${rank}; first is ${quote(clip(first.text, 60))} (${number}).`];
}

/** The words without which the best label falls furthest, and rises furthest. */
function sayHidden(result) {
  const {
    labels: [best],
    hidden,
    scored,
  } = result;
  if (!hidden.length) return [];
  const carrier = hidden.reduce((low, one) => (one.value < low.value ? one : low));
  const opponent = hidden.reduce((high, one) => (one.value > high.value ? one : high));
  const falls = best.value - carrier.value >= FELT,
    rises = opponent.value - best.value >= FELT;
  const lowest = measure(result, carrier.value),
    highest = measure(result, opponent.value);
  if (falls) {
    const more = rises ? `; hide ${quote(opponent.word)} and it rises to ${highest}` : "";
    return [`Hide ${quote(carrier.word)} and ${nameOf(result)} falls to ${lowest}${more}.`];
  }
  if (rises) return [`Hide ${quote(opponent.word)} and ${nameOf(result)} rises to ${highest}.`];
  const slight = scored ? "0.05" : "5 points";
  return [
    `No single word decides it: hiding any one of them changes ${nameOf(result)} by less than ${slight}.`,
  ];
}
