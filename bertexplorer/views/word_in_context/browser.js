// Word in context: how alike the vectors of one word are in different sentences, layer by layer, and two random words beside them
// (Ethayarajh, 2019, section 3.3).
import { capital, clip, counted, layerName, quote } from "../../web/static/site/wording.js";
import { argmax, mean, meanRow, range } from "../../web/static/numbers.js";
import { baseline, cosines, layerOf, wordVectors } from "../../web/static/site/vectors.js";
import {
  excerpt,
  findOccurrences,
  notDrawn,
  remarksOn,
  TONES,
} from "../../web/static/site/words.js";

/** @import { Cells, Figure, Line, Lines } from "../../web/static/types.d.ts" */

const MAX_OCCURRENCES = 40,
  NUMBERED = 9; // occurrences up to which cells show their numbers

export async function run(bert, text, options) {
  const layer = layerOf(bert, options.layer);
  const matches = findOccurrences(bert, text, options, 2);
  const occurrences = matches.occurrences.slice(0, MAX_OCCURRENCES);
  const groups = matches.encodings.map((_, i) =>
    occurrences.filter((one) => one.index === i).map((one) => one.positions),
  );
  const vectors = await wordVectors(bert, matches.encodings, groups);
  const tables = occurrences.map(({ index, positions }) =>
    meanRow(positions.map((at) => bert.wordVector(matches.encodings[index].ids[at]))),
  );
  const all = vectors.map(cosines);
  const { length } = occurrences;
  const pairs = range(length).flatMap((i) => range(length - i - 1, i + 1).map((j) => [i, j]));
  const labels = occurrences.map((one) => one.label);
  const labelled = pairs.filter(([i, j]) => labels[i] && labels[j]),
    same = labelled.filter(([i, j]) => labels[i] === labels[j]);
  const other = labelled.filter(([i, j]) => labels[i] !== labels[j]);
  const average = (which) => all.map((matrix) => mean(which.map(([i, j]) => matrix[i][j])));
  const hasSenses = same.length && other.length;
  const table = cosines(tables);
  return {
    words: matches.words,
    occurrences,
    cosines: all,
    pairs,
    baseline: await baseline(bert),
    layer,
    subtract: options.baseline,
    lacking: matches.lacking,
    leftOut: matches.occurrences.length - length,
    beyond: matches.beyond,
    mean: average(pairs),
    within: hasSenses ? average(same) : null,
    between: hasSenses ? average(other) : null,
    table: pairs.map(([i, j]) => table[i][j]),
  };
}

export function rows({ occurrences, cosines: all, pairs, baseline: random }) {
  return pairs.flatMap(([i, j]) => {
    const [a, b] = [occurrences[i], occurrences[j]];
    const pair = {
      a: i + 1,
      b: j + 1,
      word_a: a.word,
      word_b: b.word,
      sense_a: a.label,
      sense_b: b.label,
      sentence_a: a.sentence,
      sentence_b: b.sentence,
    };
    return all.map((matrix, layer) => ({
      layer,
      ...pair,
      cosine: matrix[i][j],
      random_words: random[layer],
      above_random: matrix[i][j] - random[layer],
    }));
  });
}

/** @returns {Figure} */
export function draw(result) {
  const above = result.subtract ? " above random words" : "";
  return {
    marks: 1,
    panels: [
      { title: `cosine${above}, ${layerName(result.layer)}`, marks: [matrix(result)] },
      { title: `mean cosine${above}, layer by layer`, x: "after layer", marks: [curves(result)] },
      { marks: [{ kind: "text", lines: key(result) }] },
    ],
  };
}

/** The cosine of each two occurrences.
 *  @returns {Cells} */
function matrix({ occurrences, cosines: all, pairs, baseline: random, layer, subtract }) {
  const places = range(occurrences.length),
    less = (at) => (subtract ? random[at] : 0);
  const furthest = Math.max(
    0.1,
    ...all.map((table, at) => Math.max(...pairs.map(([i, j]) => Math.abs(table[i][j] - less(at))))),
  );
  const values = places.map((i) =>
    places.map((j) => (i === j ? null : all[layer][i][j] - less(layer))),
  );
  const names = occurrences.map((one, i) => `${i + 1}. ${written(one, 60)}`);
  const tip = (i, j) =>
    `${names[i]}\n${names[j]}\ncosine ${all[layer][i][j].toFixed(2)}, random words ${random[layer].toFixed(2)}`;
  const numbers = places.map((i) => `${i + 1}`),
    isNumbered = places.length <= NUMBERED;
  return {
    kind: "cells",
    rows: numbers,
    columns: numbers,
    values,
    palette: "strong",
    low: -furthest,
    high: furthest,
    text: values.map((row) =>
      row.map((one) => (one === null || !isNumbered ? "" : one.toFixed(2))),
    ),
    hover: places.map((i) => places.map((j) => (i === j ? "" : tip(i, j)))),
  };
}

/** An occurrence with its sense. */
function written(occurrence, length) {
  const sense = occurrence.label ? ` (${clip(occurrence.label, 16)})` : "";
  return excerpt(occurrence, length - [...sense].length) + sense;
}

/** The mean cosine of the occurrences after each layer: above that of random words, or beside it.
 *  @returns {Lines} */
function curves({ within, between, mean: all, baseline: random, layer, subtract }) {
  const less = (values) => values.map((one, at) => one - (subtract ? random[at] : 0)); // as in the cells
  const lines = within
    ? [line("same sense", less(within)), line("other sense", less(between), "green", "dash")]
    : [line("the word", less(all))];
  if (!subtract) lines.push(line("random words", random, "orange", "dot"));
  const steps = ["in", ...range(random.length - 1, 1).map(String)],
    doors = random.map((_, at) => ({ set: { layer: at } }));
  return { kind: "lines", steps, lines, high: 1, chosen: layer, doors };
}

/** @returns {Line} */
function line(
  name,
  values,
  /** @type {Line["tone"]} */ tone = "blue",
  /** @type {Line["dash"]} */ dash = "solid",
) {
  const hover = values.map((value, layer) => `${name}, ${layerName(layer)}: ${value.toFixed(2)}`);
  return { name, values, end: `${values.at(-1).toFixed(2)} ${name}`, tone, dash, hover };
}

/** The sentences under the figure, coloured by sense. */
function key(result) {
  const senses = [...new Set(result.occurrences.map((one) => one.label).filter(Boolean))];
  const tone = (sense) => (sense ? TONES[senses.indexOf(sense) % TONES.length] : "grey");
  return [
    ...result.occurrences.map((one, i) => ({
      text: `${i + 1}. ${written(one, 34)}`,
      tone: tone(one.label),
    })),
    ...remarks(result).map((text) => ({ text })),
  ];
}

const remarks = ({ leftOut, lacking }) => [
  ...notDrawn(leftOut),
  ...(lacking ? [`${counted(lacking, "sentence")} without the word`] : []),
];

export function say(result) {
  const {
    occurrences,
    words,
    cosines: all,
    pairs,
    mean: means,
    baseline: random,
    layer,
    within,
    between,
    table,
    subtract,
  } = result;
  const values = pairs.map(([i, j]) => all[layer][i][j]);
  const spread = Math.sqrt(mean(values.map((one) => (one - mean(values)) ** 2)));
  const word = words
    .slice(0, 3)
    .map((one) => quote(clip(one, 30)))
    .join(" and ");
  const sentences = [
    `The ${occurrences.length} occurrences of ${word} have a mean cosine of ${means[layer].toFixed(2)}` +
      `${occurrences.length > 2 ? ` (±${spread.toFixed(2)})` : ""} ${layer ? `in layer ${layer}` : "in the input vectors"}; ` +
      `two random words have ${random[layer].toFixed(2)} there` +
      `${subtract ? `, so ${(means[layer] - random[layer]).toFixed(2)} above them is drawn` : ""}.`,
  ];
  if (within) {
    const gap = within.map((one, i) => one - between[i]),
      best = argmax(gap);
    const apart =
      gap[best] > 0.005
        ? `furthest apart ${best ? `in layer ${best}` : "in the input"} (by ${gap[best].toFixed(2)})`
        : "not apart in any layer";
    const less = subtract ? random[layer] : 0,
      above = subtract ? " above random words" : "";
    sentences.push(
      `Occurrences of the same sense have ${(within[layer] - less).toFixed(2)}${above}, of different senses ` +
        `${(between[layer] - less).toFixed(2)}; the senses are ${apart}.`,
    );
  }
  const same =
    Math.min(...table) > 0.9999
      ? "one vector (cosine 1.00)"
      : `a mean cosine of ${mean(table).toFixed(2)}`;
  sentences.push(
    `In the embedding table ${word} ${words.length === 1 ? "has" : "have"} ${same}; with positions added, before layer 1, ${means[0].toFixed(2)}.`,
  );
  const builtIn = occurrences.filter((one) => one.kind === "built-in").length;
  if (builtIn === occurrences.length)
    sentences.push("None of the sentences is yours; all are built-in ones with this word.");
  else if (builtIn)
    sentences.push(
      "Only the first sentence is yours; the others are built-in ones with the same word.",
    );
  const [hidden, beyond] = remarksOn(result);
  return [...sentences, hidden, ...remarks(result).map((remark) => `${capital(remark)}.`), beyond]
    .filter(Boolean)
    .join(" ");
}
