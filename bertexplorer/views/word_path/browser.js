// Word path: the path of a word's vector through the layers on one plane, that of the first two principal components of all
// vectors at all layers, of the word's own, or of what sets its occurrences apart in each layer.
import {
  capital, Chart, clip, grouped, GROUPS, label, layerLines, layerName, line, MONO, percent, quote, safe, TEXT, title,
} from "../chart.js";
import { argmax, dot, length, mean, meanRow, range, sum } from "../numbers.js";
import { limits, namesOf, QUIET, writeBelow } from "../scatter.js";
import { Refusal } from "../tokens.js";
import { cosines, layerOf, principal, unit, wordVectors } from "../vectors.js";
import { excerpt, findOccurrences, remarksOn } from "../words.js";

const MAX_PATHS = 7, CROWD = 400;  // other tokens that are drawn
const PLANE = 420, LINES = 170, GAP = 62, LARGE = 15;  // pixels: the plane, the panel below, between them, a marker
const PLOT = 0.7;  // share of the width for the lines
const SPANNED = {
  "all words": "all vectors of all layers", "these words": "these words' vectors of all layers",
  "their differences": "what sets these words apart in each layer",
};
const DASHES = ["solid", "dash", "dot", "dashdot", "solid", "dash", "dot"];

export async function run(bert, text, options) {
  const layer = layerOf(bert, options.layer);
  const matches = findOccurrences(bert, text, options);
  const occurrences = matches.occurrences.slice(0, MAX_PATHS);
  const groups = matches.encodings.map(({ spans }, i) => [
    ...range(spans.length).filter((at) => spans[at]).map((at) => [at]),
    ...occurrences.filter((one) => one.index === i && one.positions.length > 1).map((one) => one.positions),
  ]);
  const read = await wordVectors(bert, matches.encodings, groups);
  const places = groups.flatMap((some, index) => some.map((positions) => ({ index, positions })));
  const own = occurrences.map((one) =>
    places.findIndex(({ index, positions }) => index === one.index && String(positions) === String(one.positions)));
  const single = range(places.length).filter((i) => places[i].positions.length === 1);
  const parting = options.plane === "their differences";
  if (parting && own.length < 2) throw new Refusal("There is only one path, which differs from none. Add a sentence with the same word.");
  const less = (some) => {
    const centre = meanRow(own.map((i) => some[i]));
    return some.map((row) => row.map((one, at) => one - centre[at]));
  };
  const vectors = parting ? read.map(less) : read;
  const others = single.filter((i) => !parting && !occurrences
    .some((one) => one.index === places[i].index && one.positions.includes(places[i].positions[0])));
  const { centre, axes, shares } = principal(vectors.flatMap((some) => (options.plane === "all words" ? single : own).map((i) => some[i])));
  const moved = axes.map((axis) => dot(centre, axis)), onPlane = (vector) => axes.map((axis, i) => dot(vector, axis) - moved[i]);
  const apart = (some) => { const table = cosines(own.map((i) => some[i])); return mean(table.flatMap((row, i) => row.slice(i + 1))); };
  return {
    occurrences, paths: own.map((i) => vectors.map((some) => onPlane(some[i]))),
    tokens: others.map((i) => bert.tokenizer.pieces[matches.encodings[places[i].index].ids[places[i].positions[0]]]),
    crowd: others.slice(0, CROWD).map((i) => onPlane(vectors[layer][i])), explained: shares,
    toInput: own.map((i) => { const input = unit(read[0][i]); return read.map((some) => dot(unit(some[i]), input)); }),
    apart: own.length > 1 ? read.map(apart) : null,
    plane: options.plane, layer,
    leftOut: matches.occurrences.length - occurrences.length,
    beyond: matches.beyond,
  };
}

export function rows({ occurrences, paths, toInput }) {
  return occurrences.flatMap(({ word, sentence }, i) => paths[i].map(([x, y], layer) => ({
    path: i + 1, word, sentence, layer, x, y, cosine_to_input: toInput[i][layer],
  })));
}

export function draw(result) {
  const { apart, toInput: [first], occurrences: [word] } = result;
  const chart = Chart.panels([PLANE, LINES], GAP, [
    "", apart ? "mean cosine of the occurrences with each other" : "cosine with the word's own input vector",
  ]);
  drawPlane(chart, result);
  const [values, colour, name] = apart ? [apart, TEXT, "with each other"] : [first, GROUPS[0], label(word.word, 8)];
  const line = { name, text: `${values.at(-1).toFixed(2)} ${name}`, values: values.map(rounded), colour, dash: "solid" };
  layerLines(chart, [line], [Math.min(0, ...values), 1], result.layer, LINES, PLOT);
  const below = writeBelow(chart, [
    ...result.occurrences.map((one, i) => [`${i + 1}. ${safe(excerpt(one, 34))}`, GROUPS[i]]),
    ...remarks(result).map((remark) => [remark, TEXT]),
  ], 40);
  return chart.finish(30 + PLANE + LINES + GAP + below, { margin: { l: 8, r: 12, t: 30, b: below } });
}

const rounded = (number) => Math.round(1e4 * number) / 1e4;

/** The paths over the crowd: the other tokens of the texts, where they are at the chosen layer. */
function drawPlane(chart, result) {
  const { crowd, paths, layer, tokens } = result;
  const points = [...paths.flat(), ...crowd];
  const column = (some, at) => some.map((point) => rounded(point[at]));
  const ranges = [0, 1].map((at) => limits(points.map((point) => point[at])));
  const hovertext = tokens.slice(0, CROWD).map((token) => `${label(token)}, ${layerName(layer)}`);
  chart.add({
    type: "scatter", x: column(crowd, 0), y: column(crowd, 1), mode: "markers",
    marker: { color: TEXT, size: 5, opacity: 0.55 }, hovertext, hoverinfo: "text",
  }, 1);
  paths.forEach((path, i) => {
    const marker = {
      color: GROUPS[i],
      size: path.map((_, at) => (at === layer ? LARGE : 7)),
      symbol: path.map((_, at) => (at ? "circle" : "diamond")),
    };
    const name = `${i + 1}. ${label(result.occurrences[i].word)}`;
    const hovers = result.toInput[i].map((value, at) => `${name}, ${layerName(at)}: cosine ${value.toFixed(2)} with its input`);
    chart.add(line(column(path, 0), column(path, 1), GROUPS[i], {
      dash: DASHES[i], marker, cliponaxis: undefined, hovertext: hovers, hoverinfo: "text",
      customdata: path.map((_, at) => ({ set: { layer: at } })),
    }), 1);
  });
  const others = [0, ...range(paths[0].length - 1, 1).reverse()].filter((at) => at !== layer);
  chart.add(
    namesOf([
      ...paths.map((path, i) => ({
        place: path[layer],
        text: `${i + 1} ${clip(result.occurrences[i].word, 14)}`,
        colour: GROUPS[i], size: LARGE,
      })),
      ...others.flatMap((at) => paths.map((path, i) => ({ place: path[at], text: at ? String(at) : "input", colour: GROUPS[i] }))),
      ...crowd.map((place, i) => ({ place, text: clip(tokens[i], 12), colour: TEXT })),
    ], PLANE, ranges, MONO),
    1,
  );
  chart.axes("x", {
    range: ranges[0],
    title: title(`first component, ${percent(result.explained[0])} of the variance`, 8, 13),
    ...QUIET,
  }, 1);
  chart.axes("y", { range: ranges[1], ...QUIET }, 1);
}

const remarks = ({ leftOut, tokens }) => [
  ...(leftOut ? [`${leftOut} more occurrences are not drawn`] : []),
  ...(tokens.length > CROWD ? [`of ${grouped(tokens.length)} other tokens ${CROWD} are drawn`] : []),
];

export function say(result) {
  const { occurrences, toInput: [first], layer, paths: [path], apart } = result;
  const steps = path.slice(1).map((point, i) => length(point.map((one, at) => one - path[i][at])));
  const end = layer < first.length - 1 ? ` and ${first.at(-1).toFixed(2)} at the end` : "";
  const at = layer ? `after layer ${layer}` : "at the input", number = occurrences.length === 2 ? "two" : occurrences.length;
  const [hidden, beyond] = remarksOn(result);
  return [
    `The plane shows ${percent(sum(result.explained))} of the variance of ${SPANNED[result.plane]}.`,
    `${quote(clip(occurrences[0].word, 30))} has a cosine of ${first[layer].toFixed(2)} with its own input ${at}${end}; `
      + `on this plane it moves furthest in layer ${argmax(steps) + 1}.`,
    apart
      && `The ${number} occurrences have a mean cosine of ${apart[0].toFixed(2)} with each other at the input and ${apart.at(-1).toFixed(2)} at the end.`,
    hidden, ...remarks(result).map((remark) => `${capital(remark)}.`), beyond,
  ].filter(Boolean).join(" ");
}
