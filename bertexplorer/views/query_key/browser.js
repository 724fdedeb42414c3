// Query and key: the products of single dimensions that add up to the attention score of one token in one head (Vaswani et al.,
// 2017, section 3.2.1).
import {
  beyondLimit,
  clip,
  decimal,
  grouped,
  percent,
  quote,
} from "../../web/static/site/wording.js";
import {
  areWords,
  checkNumber,
  linkWindow,
  placeName,
  strongestLinks,
} from "../../web/static/site/heads.js";
import { argmax, mean, most, range, sum } from "../../web/static/numbers.js";

/** @import { Bars, Cells, Figure } from "../../web/static/types.d.ts" */

const MAX_ROWS = 100_000; // of an exported file
const DRAWN = 40,
  LETTERS = 12; // tokens; letters of one in a button

export async function run(bert, text, options) {
  checkNumber(options.layer, bert.layers, "layer", 0);
  checkNumber(options.head, bert.heads, "head", 0);
  const encoding = bert.tokenizer.encode(text),
    { picked, masked, special, ids } = encoding;
  const position = [...picked, ...masked, special.indexOf(false), 0].find((at) => at >= 0),
    pass = await bert.forward(encoding);
  const link = strongestLink(bert, encoding, pass, position);
  const isFree = !options.layer && !options.head; // then the head of the strongest link is shown
  const [layer, head] =
    isFree && link ? link.head.map((one) => one + 1) : [options.layer || 1, options.head || 1];
  const size = bert.hidden_size / bert.heads,
    part = (row) => [...row.subarray((head - 1) * size, head * size)];
  const through = (name, rows) =>
    bert.linear(`encoder.layers.${layer - 1}.attention.${name}`, rows).map(part);
  const [query] = through("query", [pass.vector(layer - 1, position)]),
    keys = through("key", pass.vectors(layer - 1));
  const products = keys.map((key) => key.map((one, i) => one * query[i]));
  return {
    head: [layer - 1, head - 1],
    tokens: ids.map((id) => bert.tokenizer.pieces[id]),
    position,
    query,
    keys,
    products,
    sums: products.map(sum),
    scores: products.map((row) => sum(row) / Math.sqrt(size)),
    weights: [...pass.attention(layer - 1, head - 1, position)],
    isPicked: picked.length > 0,
    others: Math.max(0, picked.length - 1),
    leftOut: encoding.leftOut,
    link,
  };
}

/** The strongest link from the token to another word, in a head that does not always look the same distance away. */
function strongestLink(bert, encoding, pass, position) {
  const at = linkWindow(encoding, position);
  const every = range(bert.layers).map((layer) =>
    range(bert.heads).map((head) => at.map((i) => pass.attention(layer, head, i))),
  );
  const [link] = strongestLinks(every, at, areWords(bert, encoding), [position]);
  return link && link.source === position && !link.positional ? link : null;
}

export function rows(result) {
  const {
    head: [layer, head],
    tokens,
    position,
    query,
    keys,
    products,
    scores,
    weights,
  } = result;
  const start = {
    layer: layer + 1,
    head: head + 1,
    from: tokens[position],
    from_position: position,
  };
  return strongest(result, Math.max(1, Math.floor(MAX_ROWS / query.length))).flatMap((j) =>
    query.map((one, i) => ({
      ...start,
      to: tokens[j],
      to_position: j,
      dimension: i,
      query: one,
      key: keys[j][i],
      product: products[j][i],
      score: scores[j],
      weight: weights[j],
      seen: true,
    })),
  );
}

/** The positions of the tokens with the largest weights, in the order of the text. */
const strongest = ({ weights }, count) =>
  range(weights.length)
    .sort((i, j) => weights[j] - weights[i] || i - j)
    .slice(0, count)
    .sort((i, j) => i - j);

/** @returns {Figure} */
export function draw(result) {
  const drawn = strongest(result, DRAWN),
    { tokens, position, link } = result;
  /** @type {Figure} */
  const figure = {
    marks: 1,
    panels: [
      { title: "orange −, blue +", marks: [queryCells(result)] },
      {
        title: "products, dimension by dimension",
        share: 0.6,
        marks: [productCells(result, drawn)],
      },
      { title: "score → weight", beside: true, share: 0.4, marks: [weightBars(result, drawn)] },
    ],
  };
  if (leadsAway(result)) {
    figure.buttons = [
      {
        text: `Strongest: ${placeName(link.head)}, ${clip(tokens[position], LETTERS)} → ${clip(tokens[link.target], LETTERS)}`,
        door: { set: { layer: link.head[0] + 1, head: link.head[1] + 1 } },
      },
    ];
  }
  return figure;
}

const rounded = (row) => row.map((one) => Math.round(1e4 * one) / 1e4);
const furthest = (values) => most(values.map(Math.abs)) || 1;

/** The query itself, on its own scale.
 *  @returns {Cells} */
function queryCells({ query }) {
  return {
    kind: "cells",
    rows: ["query"],
    columns: [],
    values: [rounded(query)],
    palette: "strong",
    low: -furthest(query),
    high: furthest(query),
    hover: [query.map((one, i) => `query, dimension ${i}: ${decimal(one)}`)],
    tokens: true,
  };
}

/** Orange lowers the score, blue raises it.
 *  @returns {Cells} */
function productCells({ tokens, position, query, keys, products }, drawn) {
  const largest = furthest(drawn.flatMap((j) => products[j]));
  const product = (i, key) => `${decimal(query[i])} × ${decimal(key)} = ${decimal(query[i] * key)}`;
  return {
    kind: "cells",
    rows: drawn.map((j) => `${j === position ? "▸ " : ""}${tokens[j]}`),
    columns: [],
    values: drawn.map((j) => rounded(products[j])),
    palette: "strong",
    low: -largest,
    high: largest,
    hover: drawn.map((j) =>
      keys[j].map((key, i) => `${tokens[j]}, dimension ${i}:\n${product(i, key)}`),
    ),
    tokens: true,
  };
}

/** The weight of each token, with its score: the scaled sum of its row.
 *  @returns {Bars} */
function weightBars({ tokens, query, sums, scores, weights }, drawn) {
  const root = Math.sqrt(query.length).toFixed(2);
  const bars = drawn.map((j) => ({
    label: "",
    value: weights[j],
    text: `${decimal(scores[j], 1)} → ${percent(weights[j])}`,
    hover: `${tokens[j]}: ${decimal(sums[j])} ÷ ${root} = ${decimal(scores[j])}, weight ${percent(weights[j])}`,
  }));
  return { kind: "bars", bars, high: Math.max(0.01, most(weights)) };
}

const leadsAway = ({ link, head }) => link && placeName(link.head) !== placeName(head);

export function say(result) {
  const { head, tokens, position, products, sums, scores, weights, link } = result,
    best = argmax(weights),
    row = products[best];
  const first = argmax(row.map(Math.abs)),
    name = (at) => quote(clip(tokens[at], 30));
  return [
    `In head ${placeName(head)}, ${name(position)} gives ${percent(weights[best])} of its attention to ${name(best)}: ${row.length} products sum to ` +
      `${decimal(sums[best], 1)}, which divided by √${row.length} is a score of ${decimal(scores[best], 1)}; the mean over the tokens is ${decimal(mean(scores), 1)}. ` +
      `Dimension ${first} counts most, with ${decimal(row[first], 1)}.`,
    leadsAway(result) &&
      `Its strongest look at another word is in head ${placeName(link.head)}: ${percent(link.weight)} to ${name(link.target)}.`,
    !result.isPicked && "Press a token to see its query.",
    result.others &&
      `${result.others} more picked token${result.others > 1 ? "s are" : " is"} not shown.`,
    tokens.length > DRAWN &&
      `Of ${grouped(tokens.length)} tokens, the ${DRAWN} with the largest weights are drawn.`,
    ...beyondLimit(result.leftOut),
  ]
    .filter(Boolean)
    .join(" ");
}

export const colours = ({ weights }) =>
  Object.fromEntries(weights.map((weight, j) => [j, weight / most(weights)]));
