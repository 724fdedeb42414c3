// Term weights: the words by which a text would be found. A piece of the vocabulary weighs max_i log(1 + relu(logit_ij)) over the
// tokens i of the text, as in SPLADE (Formal et al., 2021), and two texts score the sum of the products of their weights.
import {
  beyondLimit,
  clip,
  counted,
  decimal,
  grouped,
  joinNames,
  percent,
  quote,
} from "../../web/static/site/wording.js";
import { most, range, sum } from "../../web/static/numbers.js";
import { alone } from "../../web/static/site/passages.js";
import { placesInPair } from "../../web/static/site/units.js";

/** @import { Figure, Panel } from "../../web/static/types.d.ts" */

const CHUNK = 64; // tokens whose logits are in memory at once
const NAMES = ["first", "second"];
const DENSE = 0.02; // share of the vocabulary beyond which the weights are not sparse

export async function run(bert, text, { top }) {
  await bert.logits([]); // refuses if there is no head
  const { tokenizer } = bert;
  const encodings = (text.second.trim() ? [0, 1] : [0]).map((side) =>
    tokenizer.encode(alone(text, side)),
  );
  const weighed = [];
  for (const encoding of encodings) weighed.push(await weigh(bert, encoding));
  const held = encodings.map(({ ids }) => new Set(ids));
  const texts = encodings.map((encoding, i) => termsOf(bert, encoding, weighed[i], held[i], top));
  const isPair = texts.length === 2;
  const products = isPair ? weighed[0].weights.map((one, i) => one * weighed[1].weights[i]) : [];
  const both = isPair
    ? [...held[0]].filter((id) => held[1].has(id) && !tokenizer.specialIds.has(id))
    : [];
  const common = largest(bert, products, top).map((id) => ({
    word: tokenizer.pieces[id],
    weight: products[id],
    own: both.includes(id),
    sources: encodings.map((encoding, i) => sourceOf(bert, encoding, weighed[i], id)),
  }));
  return {
    texts,
    common,
    score: isPair ? sum(products) : null,
    literal: sum(both.map((id) => products[id])),
    vocabulary: tokenizer.pieces.length,
    shown: onStrip(placesInPair(tokenizer.encode(text), encodings), texts),
    leftOut: sum(encodings.map((one) => one.leftOut)),
  };
}

/** {weights of all pieces, where: the position that gives it}. */
async function weigh(bert, encoding) {
  const pass = await bert.forward(encoding);
  const vectors = pass.vectors(bert.layers);
  const size = bert.tokenizer.pieces.length;
  const best = new Float64Array(size);
  const where = new Int32Array(size);
  for (let at = 0; at < vectors.length; at += CHUNK) {
    for (const [i, row] of (await bert.logits(vectors.slice(at, at + CHUNK))).entries()) {
      for (let id = 0; id < size; id += 1) {
        if (row[id] <= best[id]) continue;
        best[id] = row[id];
        where[id] = at + i;
      }
    }
  }
  return { weights: best.map(Math.log1p), where };
}

const sourceOf = ({ tokenizer }, { ids }, { where }, id) => tokenizer.pieces[ids[where[id]]];

/** The words with the largest weights above 0; punctuation and special tokens are no words. */
function largest({ tokenizer: { pieces, specialIds } }, weights, count) {
  const words = range(weights.length).filter(
    (id) => weights[id] > 0 && !specialIds.has(id) && /[\p{L}\p{N}]/u.test(pieces[id]),
  );
  return words.sort((a, b) => weights[b] - weights[a] || a - b).slice(0, count);
}

/** The terms of one text: those that it has and those that the head adds, and the largest weight that a token gives to an added one. */
function termsOf(bert, encoding, weighed, held, top) {
  const { weights, where } = weighed;
  const term = (own) => (id) => ({
    word: bert.tokenizer.pieces[id],
    weight: weights[id],
    own,
    sources: [sourceOf(bert, encoding, weighed, id)],
  });
  const added = largest(
      bert,
      weights.map((one, id) => (held.has(id) ? 0 : one)),
      top,
    ),
    shades = new Map();
  for (const id of added) shades.set(where[id], Math.max(shades.get(where[id]) ?? 0, weights[id]));
  return {
    own: largest(
      bert,
      weights.map((one, id) => (held.has(id) ? one : 0)),
      top,
    ).map(term(true)),
    added: added.map(term(false)),
    aboveZero: weights.reduce((total, one) => total + Number(one > 0), 0),
    shades,
  };
}

/** The token of the pair -> the largest weight that it gives to an added word, as a share of the largest of all. */
function onStrip(places, texts) {
  const furthest = most([0, ...texts.flatMap(({ shades }) => [...shades.values()])]) || 1;
  const onPair = ({ shades }, side) =>
    [...shades].map(([at, value]) => [places[side][at], value / furthest]);
  return Object.fromEntries(texts.flatMap(onPair).filter(([place]) => place >= 0));
}

export function rows({ texts, common }) {
  const row =
    (kind) =>
    ({ word, weight, own, sources }) => ({
      kind,
      word,
      weight,
      in_text: own,
      from_first: sources[0],
      from_second: sources[1] ?? "",
    });
  return [
    ...texts.flatMap(({ own, added }, i) => [...own, ...added].map(row(NAMES[i]))),
    ...common.map(row("both")),
  ];
}

/** @returns {Figure} */
export function draw({ texts, common }) {
  const of = (i) => (texts.length === 2 ? `the ${NAMES[i]} text` : "the text");
  const lists = [
    ["what both share: the product of its two weights", common, "orange"],
    ...texts.flatMap(({ own, added }, i) => [
      [`words of ${of(i)}`, own, "pale"],
      [`words that BERT adds to ${of(i)}`, added, "blue"],
    ]),
  ];
  return {
    marks: 1,
    panels: lists
      .filter(([, terms]) => terms.length)
      .map(([title, terms, tone]) => weights(title, terms, tone)),
  };
}

/** A bar for each of *terms*. Among those that both texts share, a piece that both have is pale.
 *  @returns {Panel} */
function weights(title, terms, tone) {
  const bars = terms.map((term) => ({
    label: term.word,
    value: term.weight,
    text: decimal(term.weight),
    tone: term.own && tone === "orange" ? "pale" : tone,
    hover: `${term.word}: ${decimal(term.weight)}, from ${origin(term)}`,
  }));
  return { title, marks: [{ kind: "bars", bars, tokens: true }] };
}

/** The token that gives the weight, in each text. */
const origin = ({ sources }) => sources.map((source) => clip(source, 20)).join(" and ");

export const colours = ({ shown }) => shown;

export function say(result) {
  const { texts, vocabulary } = result,
    counts = texts.map(({ aboveZero }) => aboveZero);
  const have = `${counts.map((one) => grouped(one)).join(" and ")} of ${counted(vocabulary, "piece")} have a weight`;
  const isDense = Math.min(...counts) > DENSE * vocabulary;
  const density = isDense
    ? `This checkpoint was not trained for such a search, so the weights are nearly alike: ${have}, where a few hundred would.`
    : `${have}, few enough for a search by words.`;
  const subject = (i) =>
    texts.length === 2 ? `To the ${NAMES[i]} text` : "To the words of the text";
  const sentences = [
    ...(texts.length === 2 ? [sayShared(result)] : []),
    ...texts.map(({ added }, i) => sayAdded(added, subject(i))),
  ];
  if (isDense)
    sentences.unshift(density); // said first, as all bars are nearly alike then
  else sentences.push(density);
  return [...sentences, ...beyondLimit(result.leftOut)].join(" ");
}

function sayShared({ common, score, literal }) {
  if (!common.length) return "The two texts share no piece: their score is 0.";
  const names = common
    .slice(0, 3)
    .map((term) => `${quote(clip(term.word))} (${decimal(term.weight, 1)}, from ${origin(term)})`);
  return `The score is ${grouped(score)}: most is added by ${joinNames(names)}. Pieces that both texts have are ${percent(literal / score)} of it.`;
}

function sayAdded(added, subject) {
  const names = added
    .slice(0, 3)
    .map(({ word, sources: [source] }) => `${quote(clip(word))} (from ${quote(clip(source))})`);
  return names.length ? `${subject} BERT adds ${joinNames(names)}.` : `${subject} BERT adds none.`;
}
