// Search: which lines mean something like the text, by the cosine of their vectors, and what two random sentences have.
import { clip, decimal, grouped, quote } from "../../web/static/site/wording.js";
import { dot, topk } from "../../web/static/numbers.js";
import { departure, promptName, sentenceVectors } from "../../web/static/site/sentence_encoder.js";
import {
  encodeLines,
  layerOf,
  linesOf,
  meanCosine,
  once,
  unit,
} from "../../web/static/site/vectors.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure, Mark, StyledWords } from "../../web/static/types.d.ts" */

const MAX_LINES = 10_000,
  SHOWN = 480; // letters of a line under the pointer

export async function run(bert, text, options, inputs) {
  const layer = layerOf(bert, options.layer);
  const lines = linesOf(options, inputs);
  const { pooling, top } = options;
  const searched = lines ?? bert.sentences;
  if (searched.length > MAX_LINES) {
    throw new Refusal(
      `${grouped(searched.length)} lines were given; the limit is ${grouped(MAX_LINES)}. Give fewer.`,
    );
  }
  const [own, before] = [options.prompt, options.line_prompt].map(promptName);
  const said = sayPrompts(bert.sentence.prompt(own), bert.sentence.prompt(before));
  const encoding = bert.sentence.encode(text, own),
    [vector] = await sentenceVectors(bert, [encoding], layer, pooling),
    query = unit(vector);
  const read = async (some) => {
    const { encodings, indices, notes } = encodeLines(bert, some, before);
    return {
      indices,
      notes,
      vectors: (await sentenceVectors(bert, encodings, layer, pooling)).map(unit),
    };
  };
  const builtIn = await once(`lines ${layer} ${pooling} ${before}`, () => read(bert.sentences));
  const { indices, notes, vectors } = lines
    ? await once(`lines ${options.lines} ${layer} ${pooling} ${before}`, () => read(lines))
    : builtIn;
  const cosines = vectors.map((one) => dot(one, query));
  const limit = `the checkpoint's limit of ${grouped(encoding.ids.length)} tokens`;
  const cut = encoding.leftOut
    ? `${grouped(encoding.leftOut)} tokens of the text are beyond ${limit}.`
    : "";
  return {
    hits: topk(cosines, top).map((at, i) => ({
      rank: i + 1,
      line: indices[at] + 1,
      text: searched[indices[at]][1],
      label: searched[indices[at]][0],
      cosine: Math.min(1, cosines[at]),
    })),
    count: indices.length,
    isBuiltIn: !lines,
    chance: meanCosine(builtIn.vectors),
    notes: [cut, notes, said, departure(bert, pooling, layer, false)].filter(Boolean).join(" "),
  };
}

/** What stands before the text and before each line; "" if nothing does. */
function sayPrompts(own, before) {
  if (!own && !before) return "";
  const [first, lines] = [own, before].map((one) =>
    one ? `“${[...one].slice(0, 60).join("")}”` : "nothing",
  );
  return `Before your text stands ${first}, before each line ${lines}.`;
}

export const rows = ({ hits, chance }) => hits.map((hit) => ({ ...hit, random_sentences: chance }));

/** @returns {Figure} */
export function draw({ hits, chance }) {
  const bars = hits.map((hit) => ({
    label: hit.label ? `${hit.text} (${hit.label})` : hit.text,
    value: hit.cosine,
    text: decimal(hit.cosine),
    hover: hover(hit),
    ticks: [{ value: chance }],
  }));
  /** @type {StyledWords[]} */
  const key = [
    { text: "┃", tone: "orange" },
    { text: ` two random sentences, ${decimal(chance)}` },
  ];
  /** @type {Mark[]} */
  const marks = [
    { kind: "bars", bars, high: 1, above: true, axis: true },
    { kind: "text", lines: [key] },
  ];
  return { marks: 1, panels: [{ x: "cosine", marks }] };
}

function hover({ rank, line, text, label: group, cosine }) {
  return `${rank}. line ${line}${group ? ` (${group})` : ""}\n${clip(text, SHOWN)}\ncosine ${decimal(cosine, 3)}`;
}

export function say({ hits: [best], count, isBuiltIn, chance, notes }) {
  const searched = `${grouped(count)} ${isBuiltIn ? "built-in sentences" : "uploaded lines"}`;
  return (
    `Of ${searched}, compared one by one, the nearest is ${quote(clip(best.text, 80))} with a cosine of ${best.cosine.toFixed(2)}; ` +
    `two sentences taken at random have ${chance.toFixed(2)} on average. ${notes}`.trim()
  );
}
