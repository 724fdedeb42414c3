// Late interaction: each token of a query finds its best match in a passage, and the cosines of the matches are added up: MaxSim
// (ColBERT; Khattab and Zaharia, 2020), with the vectors of one layer.
import {
  above, beyondLimit, cells, Chart, clip, decimal, down, fromZero, grouped, heightOf, ink, joinNames, label, ORANGE, quote, SHADES, ticks,
} from "../chart.js";
import { argmax, dot, most, range, sum } from "../numbers.js";
import { alone, drawPassages, parseTexts, PASSAGE } from "../passages.js";
import { Refusal } from "../tokens.js";
import { ordinaryTokens, placesInPair } from "../units.js";
import { baseline, layerOf, unit } from "../vectors.js";

const NOTHING = "A text has only [CLS] and [SEP], and these are left out. Type a sentence.";
const MAX_CELLS = 20_000, ROW = 30, GAP = 70;  // pixels: a token of the query, between the panels
const NUMBERED = 12, DRAWN = 60;  // tokens of the passage up to which cells show their numbers; tokens of each side that are drawn

export async function run(bert, text, options) {
  const layer = layerOf(bert, options.layer), { tokenizer } = bert;
  if (!text.second.trim()) {
    throw new Refusal("There is no passage in which the tokens could find a match. Type it as the second sentence.", "pair");
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
  const kept = encodings.map((encoding) => (
    options.special === "included" ? range(encoding.ids.length) : ordinaryTokens(encoding, NOTHING)
  ));
  const vectors = await bert.take(encodings, (pass, i) => kept[i].map((at) => unit(pass.vector(layer, at))));
  const table = (passage) => vectors[0].map((a) => passage.map((b) => dot(a, b)));
  const passages = encodings.slice(1).map(({ texts }, i) => ({
    text: texts[0].join(""), value: sum(table(vectors[i + 1]).map((row) => most(row))), own: i === 0,
  }));
  const cosines = table(vectors[1]), best = cosines.map((row) => most(row));
  const [asking, answering] = [query, own].map(({ ids }, side) => kept[side].map((at) => tokenizer.pieces[ids[at]]));
  const columns = answering.map((_, j) => most(cosines.map((row) => row[j]))), places = placesInPair(tokenizer.encode(text), [query, own]);
  const shades = [best, columns].flatMap((values, side) => kept[side].map((at, i) => [places[side][at], Math.max(0, values[i])]));
  return {
    query: asking, passage: answering, cosines, matches: cosines.map(argmax), best, score: sum(best), layer,
    chance: (await baseline(bert))[layer],
    passages: others.length ? passages.sort((a, b) => b.value - a.value) : [], first: query.texts[0].join(""),
    shown: Object.fromEntries(shades.filter(([place]) => place >= 0)),
    leftOut: sum(encodings.map((one) => one.leftOut)),
  };
}

export function rows({ query, passage, cosines, matches, score }) {
  return query.flatMap((token, i) => passage.map((other, j) => ({
    query: token, query_position: i, passage: other, passage_position: j, cosine: cosines[i][j], best: matches[i] === j, score,
  })));
}

export function draw(result) {
  const { passages, first } = result;
  const heights = [Math.max(120, ROW * Math.min(DRAWN, result.query.length)), ...(passages.length ? [PASSAGE * passages.length] : [])];
  const chart = Chart.panels(heights, GAP);
  drawCells(chart, result);
  const ranked = passages.map((one) => ({ ...one, number: decimal(one.value) }));
  if (ranked.length) drawPassages(chart, 2, first, ranked, fromZero(ranked.map((one) => one.value)));
  return chart.finish(Math.max(300, heightOf(heights, GAP) + 120), { margin: { l: 8, r: 44, t: 104, b: 8 } });
}

function drawCells(chart, { cosines, matches, ...result }) {
  const query = result.query.slice(0, DRAWN);
  const passage = result.passage.slice(0, DRAWN);
  const part = cosines.slice(0, DRAWN).map((row) => row.slice(0, DRAWN));
  const isSmall = passage.length <= NUMBERED;
  const text = part.map((row) => row.map((one) => (isSmall ? decimal(one) : "")));
  const hover = query.map((token, i) => passage.map((other, j) => `${label(token)} and ${label(other)}: ${decimal(part[i][j], 3)}`));
  chart.add(
    cells(part.map((row) => row.map((one) => Math.max(0, Math.min(1, one)))), SHADES, 0, 1, {
      text, hover, textfont: ink(12), gap: 2,
    }),
    1,
  );
  matches.slice(0, DRAWN).forEach((j, i) => {
    if (j < DRAWN) chart.shape({ type: "rect", line: { color: ORANGE, width: 2 }, x0: j - 0.5, x1: j + 0.5, y0: i - 0.5, y1: i + 0.5 }, 1);
  });
  const names = (tokens) => tokens.map((token) => label(token, 14));
  chart.axes("x", { side: "top", tickangle: -60, ticklabeloverflow: "allow", showgrid: false, ...ticks(names(passage), { mono: 13 }) }, 1);
  chart.axes("y", down(names(query), { mono: 13 }), 1);
  chart.note(above("the best match of each row is framed", 74, { row: 1 }));
}

export const colours = ({ shown }) => shown;

export function say({ query, passage, matches, best, score, layer, chance, passages, leftOut }) {
  const order = range(query.length).sort((i, j) => best[j] - best[i] || i - j);
  const least = order.at(-1);
  const rank = 1 + passages.findIndex((one) => one.own);
  const names = order.slice(0, 3).map((i) => `${quote(query[i])} with ${quote(passage[matches[i]])} (${decimal(best[i])})`);
  return [
    `The score is ${decimal(score)}, the sum over ${query.length} tokens of the query. Best match ${joinNames(names)}; `
      + `least ${quote(query[least])} (${decimal(best[least])}). Two random words have ${decimal(chance)} at layer ${layer}.`,
    passages.length
      && `Of ${passages.length} passages the passage is ${rank === 1 ? "first" : `number ${rank}; first is ${quote(clip(passages[0].text, 60))}`}.`,
    Math.max(query.length, passage.length) > DRAWN && `The first ${DRAWN} tokens of each side are drawn.`, ...beyondLimit(leftOut),
  ].filter(Boolean).join(" ");
}
