// Word in context: how alike the vectors of one word are in different sentences, layer by layer, and two random words beside them
// (Ethayarajh, 2019, section 3.3).
import {
  ACCENT, capital, cells, Chart, clip, counted, fromOne, GREEN, GROUPS, INK, layerLines, layerName, ORANGE, quote, safe, TEXT, title,
} from "../chart.js";
import { argmax, mean, meanRow, range } from "../numbers.js";
import { writeBelow } from "../scatter.js";
import { baseline, cosines, layerOf, wordVectors } from "../vectors.js";
import { excerpt, findOccurrences, remarksOn } from "../words.js";

const MAX_OCCURRENCES = 40, NUMBERED = 9;  // occurrences up to which cells show their numbers
const SHADES = [[0, "#a04500"], [0.25, "#e9a36f"], [0.5, "#f6f4f1"], [0.75, "#8fb8e2"], [1, "#1d548f"]];
// pixels: the cells, the panel below, between them; the share of the width for the lines
const WIDEST = 300, LINES = 190, GAP = 62, PLOT = 0.55;

export async function run(bert, text, options) {
  const layer = layerOf(bert, options.layer);
  const matches = findOccurrences(bert, text, options, 2);
  const occurrences = matches.occurrences.slice(0, MAX_OCCURRENCES);
  const groups = matches.encodings.map((_, i) => occurrences.filter((one) => one.index === i).map((one) => one.positions));
  const vectors = await wordVectors(bert, matches.encodings, groups);
  const tables = occurrences.map(({ index, positions }) =>
    meanRow(positions.map((at) => bert.wordVector(matches.encodings[index].ids[at]))));
  const all = vectors.map(cosines);
  const { length } = occurrences;
  const pairs = range(length).flatMap((i) => range(length - i - 1, i + 1).map((j) => [i, j]));
  const labels = occurrences.map((one) => one.label);
  const labelled = pairs.filter(([i, j]) => labels[i] && labels[j]), same = labelled.filter(([i, j]) => labels[i] === labels[j]);
  const other = labelled.filter(([i, j]) => labels[i] !== labels[j]);
  const average = (which) => all.map((matrix) => mean(which.map(([i, j]) => matrix[i][j])));
  const hasSenses = same.length && other.length;
  const table = cosines(tables);
  return {
    words: matches.words, occurrences, cosines: all, pairs, baseline: await baseline(bert), layer,
    subtract: options.baseline, lacking: matches.lacking,
    leftOut: matches.occurrences.length - length, beyond: matches.beyond,
    mean: average(pairs), within: hasSenses ? average(same) : null,
    between: hasSenses ? average(other) : null, table: pairs.map(([i, j]) => table[i][j]),
  };
}

export function rows({ occurrences, cosines: all, pairs, baseline: random }) {
  return pairs.flatMap(([i, j]) => {
    const [a, b] = [occurrences[i], occurrences[j]];
    const pair = {
      a: i + 1, b: j + 1, word_a: a.word, word_b: b.word, sense_a: a.label, sense_b: b.label,
      sentence_a: a.sentence, sentence_b: b.sentence,
    };
    return all.map((matrix, layer) => ({
      layer, ...pair, cosine: matrix[i][j], random_words: random[layer],
      above_random: matrix[i][j] - random[layer],
    }));
  });
}

export function draw(result) {
  const { length } = result.occurrences, height = length > 3 ? Math.floor(Math.min(56, WIDEST / length) * length) : 60 * length;
  const chart = Chart.panels([height, LINES], GAP, ["", `mean cosine${result.subtract ? " above random words" : ""}, layer by layer`]);
  drawPairs(chart, result);
  drawLines(chart, result);
  const below = writeBelow(chart, key(result), 40);
  return chart.finish(40 + height + LINES + GAP + below, { margin: { l: 8, r: 12, t: 40, b: below } });
}

/** A cell for each pair, in two layers, so that each number stands out from its cell. */
function drawPairs(chart, { occurrences, cosines: all, pairs, baseline: random, layer, subtract }) {
  const { length } = occurrences;
  const places = range(length);
  const less = (at) => (subtract ? random[at] : 0);
  const value = (i, j) => all[layer][i][j] - less(layer);
  const most = Math.max(0.1, ...all.map((matrix, at) => Math.max(...pairs.map(([i, j]) => Math.abs(matrix[i][j] - less(at))))));
  const names = occurrences.map((one, i) => `${i + 1}. ${safe(written(one, 60))}`);
  const tip = (i, j) => `${names[i]}<br>${names[j]}<br>cosine ${all[layer][i][j].toFixed(2)}, random words ${random[layer].toFixed(2)}`;
  const hover = places.map((i) => places.map((j) => (i === j ? "" : tip(i, j))));
  for (const isDark of [false, true]) {
    const isHere = (i, j) => (i !== j && Math.abs(value(i, j)) > 0.7 * most) === isDark;
    const select = (write, otherwise) => places.map((i) => places.map((j) => (isHere(i, j) ? write(i, j) : otherwise)));
    const z = select((i, j) => (i === j ? null : value(i, j)), null);
    const text = length <= NUMBERED ? select((i, j) => (i === j ? "" : value(i, j).toFixed(2)), "") : undefined;
    chart.add(cells(z, SHADES, -most, most, {
      text, hover, gap: length <= 20 ? 2 : 1, hoverongaps: false,
      textfont: { size: length <= 6 ? 13 : 12, color: isDark ? "#ffffff" : INK },
    }), 1);
  }
  const ticks = { ...fromOne(length, length <= 20 ? 1 : 5), fixedrange: true };
  chart.axes("x", {
    side: "top", tickangle: 0,
    title: title(`${subtract ? "cosine above random words" : "cosine"}, ${layerName(layer)}`, 6),
    range: [-0.5, length - 0.5],
    ...ticks,
  }, 1);
  chart.axes("y", { range: [length - 0.5, -0.5], ...ticks }, 1);
}

/** An occurrence with its sense. */
function written(occurrence, length) {
  const sense = occurrence.label ? ` (${clip(occurrence.label, 16)})` : "";
  return excerpt(occurrence, length - [...sense].length) + sense;
}

function drawLines(chart, { within, between, mean: all, baseline: random, layer, subtract }) {
  const own = within
    ? [["same sense", ACCENT, "solid", within], ["other sense", GREEN, "dash", between]]
    : [["the word", ACCENT, "solid", all]];
  const less = (values) => values.map((one, at) => one - random[at]);  // as in the cells
  const above = own.map(([name, colour, dash, values]) => [name, colour, dash, less(values)]);
  const drawn = subtract ? above : [...own, ["random words", ORANGE, "dot", random]];
  const lines = drawn.map(([name, colour, dash, values]) => ({
    name, text: `${values.at(-1).toFixed(2)} ${name}`, values, colour, dash,
  }));
  layerLines(chart, lines, [Math.min(0, ...lines.flatMap(({ values }) => values)), 1], layer, LINES, PLOT);
}

/** The sentences under the figure, coloured by sense. */
function key(result) {
  const senses = [...new Set(result.occurrences.map((one) => one.label).filter(Boolean))];
  const colour = (sense) => (sense ? GROUPS[senses.indexOf(sense) % GROUPS.length] : TEXT);
  return [
    ...result.occurrences.map((one, i) => [`${i + 1}. ${safe(written(one, 34))}`, colour(one.label)]),
    ...remarks(result).map((remark) => [remark, TEXT]),
  ];
}

const remarks = ({ leftOut, lacking }) => [
  ...(leftOut ? [`${leftOut} more occurrences are not drawn`] : []),
  ...(lacking ? [`${counted(lacking, "sentence")} without the word`] : []),
];

export function say(result) {
  const { occurrences, words, cosines: all, pairs, mean: means, baseline: random, layer, within, between, table, subtract } = result;
  const values = pairs.map(([i, j]) => all[layer][i][j]);
  const spread = Math.sqrt(mean(values.map((one) => (one - mean(values)) ** 2)));
  const word = words.slice(0, 3).map((one) => quote(clip(one, 30))).join(" and ");
  const sentences = [
    `The ${occurrences.length} occurrences of ${word} have a mean cosine of ${means[layer].toFixed(2)}`
      + `${occurrences.length > 2 ? ` (±${spread.toFixed(2)})` : ""} ${layer ? `in layer ${layer}` : "in the input vectors"}; `
      + `two random words have ${random[layer].toFixed(2)} there`
      + `${subtract ? `, so ${(means[layer] - random[layer]).toFixed(2)} above them is drawn` : ""}.`,
  ];
  if (within) {
    const gap = within.map((one, i) => one - between[i]), best = argmax(gap);
    const apart = gap[best] > 0.005
      ? `furthest apart ${best ? `in layer ${best}` : "in the input"} (by ${gap[best].toFixed(2)})`
      : "not apart in any layer";
    const less = subtract ? random[layer] : 0, above = subtract ? " above random words" : "";
    sentences.push(`Occurrences of the same sense have ${(within[layer] - less).toFixed(2)}${above}, of different senses `
      + `${(between[layer] - less).toFixed(2)}; the senses are ${apart}.`);
  }
  const same = Math.min(...table) > 0.9999 ? "one vector (cosine 1.00)" : `a mean cosine of ${mean(table).toFixed(2)}`;
  sentences.push(`In the embedding table ${word} ${words.length === 1 ? "has" : "have"} ${same}; with positions added, before layer 1, ${means[0].toFixed(2)}.`);
  const builtIn = occurrences.filter((one) => one.kind === "built-in").length;
  if (builtIn === occurrences.length) sentences.push("None of the sentences is yours; all are built-in ones with this word.");
  else if (builtIn) sentences.push("Only the first sentence is yours; the others are built-in ones with the same word.");
  const [hidden, beyond] = remarksOn(result);
  return [...sentences, hidden, ...remarks(result).map((remark) => `${capital(remark)}.`), beyond].filter(Boolean).join(" ");
}
