// Word path: the path of a word's vector through the layers on one plane, that of the first two principal components of all
// vectors at all layers, of the word's own, or of what sets its occurrences apart in each layer.
import {
  capital,
  clip,
  grouped,
  layerName,
  percent,
  quote,
} from "../../web/static/site/wording.js";
import { argmax, dot, length, mean, meanRow, range, sum } from "../../web/static/numbers.js";
import { cosines, layerOf, principal, unit, wordVectors } from "../../web/static/site/vectors.js";
import {
  excerpt,
  findOccurrences,
  notDrawn,
  remarksOn,
  TONES,
} from "../../web/static/site/words.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure, Line, Lines } from "../../web/static/types.d.ts" */

const MAX_PATHS = 7,
  CROWD = 400; // other tokens that are drawn
const SPANNED = {
  "all words": "all vectors of all layers",
  "these words": "these words' vectors of all layers",
  "their differences": "what sets these words apart in each layer",
};
const DASHES = ["solid", "dash", "dot", "dash", "solid", "dash", "dot"];

export async function run(bert, text, options) {
  const layer = layerOf(bert, options.layer);
  const matches = findOccurrences(bert, text, options);
  const occurrences = matches.occurrences.slice(0, MAX_PATHS);
  const groups = matches.encodings.map(({ spans }, i) => [
    ...range(spans.length)
      .filter((at) => spans[at])
      .map((at) => [at]),
    ...occurrences
      .filter((one) => one.index === i && one.positions.length > 1)
      .map((one) => one.positions),
  ]);
  const read = await wordVectors(bert, matches.encodings, groups);
  const places = groups.flatMap((some, index) => some.map((positions) => ({ index, positions })));
  const own = occurrences.map((one) =>
    places.findIndex(
      ({ index, positions }) => index === one.index && String(positions) === String(one.positions),
    ),
  );
  const single = range(places.length).filter((i) => places[i].positions.length === 1);
  const parting = options.plane === "their differences";
  if (parting && own.length < 2)
    throw new Refusal(
      "There is only one path, and none to compare it with. Add a sentence with the same word.",
    );
  const less = (some) => {
    const centre = meanRow(own.map((i) => some[i]));
    return some.map((row) => row.map((one, at) => one - centre[at]));
  };
  const vectors = parting ? read.map(less) : read;
  const others = single.filter(
    (i) =>
      !parting &&
      !occurrences.some(
        (one) => one.index === places[i].index && one.positions.includes(places[i].positions[0]),
      ),
  );
  const { centre, axes, shares } = principal(
    vectors.flatMap((some) => (options.plane === "all words" ? single : own).map((i) => some[i])),
  );
  const moved = axes.map((axis) => dot(centre, axis)),
    onPlane = (vector) => axes.map((axis, i) => dot(vector, axis) - moved[i]);
  const apart = (some) => {
    const table = cosines(own.map((i) => some[i]));
    return mean(table.flatMap((row, i) => row.slice(i + 1)));
  };
  return {
    occurrences,
    paths: own.map((i) => vectors.map((some) => onPlane(some[i]))),
    tokens: others.map(
      (i) => bert.tokenizer.pieces[matches.encodings[places[i].index].ids[places[i].positions[0]]],
    ),
    crowd: others.slice(0, CROWD).map((i) => onPlane(vectors[layer][i])),
    explained: shares,
    toInput: own.map((i) => {
      const input = unit(read[0][i]);
      return read.map((some) => dot(unit(some[i]), input));
    }),
    apart: own.length > 1 ? read.map(apart) : null,
    plane: options.plane,
    layer,
    leftOut: matches.occurrences.length - occurrences.length,
    beyond: matches.beyond,
  };
}

export function rows({ occurrences, paths, toInput }) {
  return occurrences.flatMap(({ word, sentence }, i) =>
    paths[i].map(([x, y], layer) => ({
      path: i + 1,
      word,
      sentence,
      layer,
      x,
      y,
      cosine_to_input: toInput[i][layer],
    })),
  );
}

/** @returns {Figure} */
export function draw(result) {
  const { apart, explained, occurrences } = result;
  return {
    marks: 1,
    panels: [
      { x: `first component, ${percent(explained[0])} of the variance`, marks: plane(result) },
      {
        title: apart
          ? "mean cosine of the occurrences with each other"
          : "cosine with the word's own input vector",
        x: "after layer",
        marks: [curve(result)],
      },
      {
        marks: [
          {
            kind: "text",
            lines: [
              ...occurrences.map((one, i) => ({
                text: `${i + 1}. ${excerpt(one, 34)}`,
                tone: TONES[i],
              })),
              ...remarks(result).map((text) => ({ text })),
            ],
          },
        ],
      },
    ],
  };
}

const rounded = (number) => Math.round(1e4 * number) / 1e4;
const column = (points, at) => points.map((point) => rounded(point[at]));

/** The paths; behind them the crowd: the other tokens of the texts, where they are at the chosen layer. */
function plane({ crowd: all, paths, layer, tokens: names, occurrences, toInput }) {
  const tracks = paths.map((path, i) => {
    const { word } = occurrences[i],
      said = (at) => (at === layer ? `${i + 1} ${clip(word, 14)}` : at ? `${at}` : "input");
    return {
      kind: "points",
      x: column(path, 0),
      y: column(path, 1),
      tone: TONES[i],
      names: path.map((_, at) => said(at)),
      hover: toInput[i].map(
        (value, at) =>
          `${i + 1}. ${word}, ${layerName(at)}: cosine ${value.toFixed(2)} with its input`,
      ),
      doors: path.map((_, at) => ({ set: { layer: at } })),
      chosen: layer,
      joined: true,
      dash: DASHES[i],
    };
  });
  const crowd = all.slice(0, CROWD),
    tokens = names.slice(0, CROWD);
  const hover = tokens.map((token) => `${token}, ${layerName(layer)}`);
  return [
    ...tracks,
    {
      kind: "points",
      x: column(crowd, 0),
      y: column(crowd, 1),
      tone: "grey",
      size: "dot",
      names: tokens,
      hover,
    },
  ];
}

/** How alike the paths are, layer by layer; of a single one, its cosine with its own input.
 *  @returns {Lines} */
function curve({ apart, toInput: [first], occurrences: [{ word }], layer }) {
  const values = apart ?? first,
    name = apart ? "with each other" : clip(word, 8);
  const hover = values.map((value, at) => `${name}, ${layerName(at)}: ${value.toFixed(2)}`);
  /** @type {Line} */
  const line = {
    name,
    values: values.map(rounded),
    end: `${values.at(-1).toFixed(2)} ${name}`,
    tone: apart ? "grey" : "blue",
    hover,
  };
  const steps = ["in", ...range(values.length - 1, 1).map(String)],
    doors = values.map((_, at) => ({ set: { layer: at } }));
  return { kind: "lines", steps, lines: [line], high: 1, chosen: layer, doors };
}

const remarks = ({ leftOut, tokens }) => [
  ...notDrawn(leftOut),
  ...(tokens.length > CROWD
    ? [`of ${grouped(tokens.length)} other tokens ${CROWD} are drawn`]
    : []),
];

export function say(result) {
  const {
    occurrences,
    toInput: [first],
    layer,
    paths: [path],
    apart,
  } = result;
  const steps = path.slice(1).map((point, i) => length(point.map((one, at) => one - path[i][at])));
  const end = layer < first.length - 1 ? ` and ${first.at(-1).toFixed(2)} at the end` : "";
  const at = layer ? `after layer ${layer}` : "at the input",
    number = occurrences.length === 2 ? "two" : occurrences.length;
  const [hidden, beyond] = remarksOn(result);
  return [
    `The plane shows ${percent(sum(result.explained))} of the variance of ${SPANNED[result.plane]}.`,
    `${quote(clip(occurrences[0].word, 30))} has a cosine of ${first[layer].toFixed(2)} with its own input ${at}${end}; ` +
      `on this plane it moves furthest in layer ${argmax(steps) + 1}.`,
    apart &&
      `The ${number} occurrences have a mean cosine of ${apart[0].toFixed(2)} with each other at the input and ${apart.at(-1).toFixed(2)} at the end.`,
    hidden,
    ...remarks(result).map((remark) => `${capital(remark)}.`),
    beyond,
  ]
    .filter(Boolean)
    .join(" ");
}
