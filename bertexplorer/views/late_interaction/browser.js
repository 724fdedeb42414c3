// Late interaction: each token of a query finds its best match in a passage, and the cosines of the matches are added up: MaxSim
// (ColBERT; Khattab and Zaharia, 2020), with the vectors of one layer.
import {
  beyondLimit,
  clip,
  decimal,
  grouped,
  joinNames,
  quote,
} from "../../web/static/site/wording.js";
import { argmax, dot, most, range, sum } from "../../web/static/numbers.js";
import { alone, parseTexts, passagesPanel } from "../../web/static/site/passages.js";
import { ordinaryTokens, placesInPair } from "../../web/static/site/units.js";
import { baseline, layerOf, unit } from "../../web/static/site/vectors.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Cells, Figure, Panel } from "../../web/static/types.d.ts" */

const NOTHING = "A text has only [CLS] and [SEP], and these are left out. Type a sentence.";
const MAX_CELLS = 20_000;
const NUMBERED = 12,
  DRAWN = 60; // tokens of the passage up to which cells show their numbers; tokens of each side that are drawn

export async function run(bert, text, options) {
  const layer = layerOf(bert, options.layer),
    { tokenizer } = bert;
  if (!text.second.trim()) {
    throw new Refusal(
      "There is no passage in which the tokens could find a match. Type it as the second sentence.",
      "pair",
    );
  }
  const [query, own] = [0, 1].map((side) => tokenizer.encode(alone(text, side)));
  const others = parseTexts(options.others)
    .map((first) => tokenizer.encode({ first }))
    .filter(({ ids }) => String(ids) !== String(own.ids));
  if (query.ids.length * own.ids.length > MAX_CELLS) {
    const [asked, read] = [query, own].map(({ ids }) => grouped(ids.length));
    throw new Refusal(
      `The query has ${asked} tokens and the passage ${read}; the table can have ${grouped(MAX_CELLS)} cells. Shorten them.`,
    );
  }
  const encodings = [query, own, ...others];
  const kept = encodings.map((encoding) =>
    options.special === "included" ? range(encoding.ids.length) : ordinaryTokens(encoding, NOTHING),
  );
  const vectors = await bert.take(encodings, (pass, i) =>
    kept[i].map((at) => unit(pass.vector(layer, at))),
  );
  const table = (passage) => vectors[0].map((a) => passage.map((b) => dot(a, b)));
  const passages = encodings.slice(1).map(({ texts }, i) => ({
    text: texts[0].join(""),
    value: sum(table(vectors[i + 1]).map((row) => most(row))),
    own: i === 0,
  }));
  const cosines = table(vectors[1]),
    best = cosines.map((row) => most(row));
  const [asking, answering] = [query, own].map(({ ids }, side) =>
    kept[side].map((at) => tokenizer.pieces[ids[at]]),
  );
  const columns = answering.map((_, j) => most(cosines.map((row) => row[j]))),
    places = placesInPair(tokenizer.encode(text), [query, own]);
  const shades = [best, columns].flatMap((values, side) =>
    kept[side].map((at, i) => [places[side][at], Math.max(0, values[i])]),
  );
  return {
    query: asking,
    passage: answering,
    cosines,
    matches: cosines.map(argmax),
    best,
    score: sum(best),
    layer,
    chance: (await baseline(bert))[layer],
    passages: others.length ? passages.sort((a, b) => b.value - a.value) : [],
    first: query.texts[0].join(""),
    shown: Object.fromEntries(shades.filter(([place]) => place >= 0)),
    leftOut: sum(encodings.map((one) => one.leftOut)),
  };
}

export function rows({ query, passage, cosines, matches, score }) {
  return query.flatMap((token, i) =>
    passage.map((other, j) => ({
      query: token,
      query_position: i,
      passage: other,
      passage_position: j,
      cosine: cosines[i][j],
      best: matches[i] === j,
      score,
    })),
  );
}

/** @returns {Figure} */
export function draw(result) {
  /** @type {Panel[]} */
  const panels = [{ title: "the best match of each row is framed", marks: [table(result)] }];
  const ranked = result.passages.map((one) => ({ ...one, number: decimal(one.value) }));
  if (ranked.length) panels.push(passagesPanel(result.first, ranked));
  return { marks: 1, panels };
}

/** The cosine of each token of the query with each of the passage; the best match of a row is framed.
 *  @returns {Cells} */
function table(result) {
  const [query, passage] = [result.query, result.passage].map((tokens) => tokens.slice(0, DRAWN));
  const cosines = result.cosines.slice(0, DRAWN).map((row) => row.slice(0, DRAWN));
  return {
    kind: "cells",
    rows: query,
    columns: passage,
    values: cosines.map((row) => row.map((one) => Math.max(0, Math.min(1, one)))),
    low: 0,
    high: 1,
    text:
      passage.length <= NUMBERED ? cosines.map((row) => row.map((one) => decimal(one))) : undefined,
    hover: query.map((token, i) =>
      passage.map((other, j) => `${token} and ${other}: ${decimal(cosines[i][j], 3)}`),
    ),
    tokens: true,
    framed: result.matches
      .slice(0, DRAWN)
      .map((j, i) => [i, j])
      .filter(([, j]) => j < DRAWN),
  };
}

export const colours = ({ shown }) => shown;

export function say({ query, passage, matches, best, score, layer, chance, passages, leftOut }) {
  const order = range(query.length).sort((i, j) => best[j] - best[i] || i - j);
  const least = order[order.length - 1];
  const rank = 1 + passages.findIndex((one) => one.own);
  const names = order
    .slice(0, 3)
    .map((i) => `${quote(query[i])} with ${quote(passage[matches[i]])} (${decimal(best[i])})`);
  return [
    `The score is ${decimal(score)}, the sum over ${query.length} tokens of the query. Best match ${joinNames(names)}; ` +
      `least ${quote(query[least])} (${decimal(best[least])}). Two random words have ${decimal(chance)} at layer ${layer}.`,
    passages.length &&
      `Of ${passages.length} passages the passage is ${rank === 1 ? "first" : `number ${rank}; first is ${quote(clip(passages[0].text, 60))}`}.`,
    Math.max(query.length, passage.length) > DRAWN &&
      `The first ${DRAWN} tokens of each side are drawn.`,
    ...beyondLimit(leftOut),
  ]
    .filter(Boolean)
    .join(" ");
}
