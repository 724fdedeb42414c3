// Search: which lines mean something like the text, by the cosine of their vectors, and what two random sentences have.
import {
  above, ACCENT, bars, Chart, clip, coloured, grouped, HIDDEN, label, ORANGE, quote, range, safe, texts, title, wrap,
} from "../chart.js";
import { dot, topk } from "../numbers.js";
import { Refusal } from "../tokens.js";
import { encodeLines, layerOf, linesOf, meanCosine, once, sentenceVectors, unit } from "../vectors.js";

const MAX_LINES = 10_000, ROW = 62, LETTERS = 37;  // pixels of a result; letters in a line of it

export async function run(bert, text, options, inputs) {
  const layer = layerOf(bert, options.layer);
  const lines = linesOf(options, inputs);
  const { pooling, top } = options;
  const searched = lines ?? bert.sentences;
  if (searched.length > MAX_LINES) {
    throw new Refusal(`${grouped(searched.length)} lines were given; the limit is ${grouped(MAX_LINES)}. Give fewer.`);
  }
  const encoding = bert.tokenizer.encode(text), [vector] = await sentenceVectors(bert, [encoding], layer, pooling), query = unit(vector);
  const read = async (some) => {
    const { encodings, indices, notes } = encodeLines(bert, some);
    return { indices, notes, vectors: (await sentenceVectors(bert, encodings, layer, pooling)).map(unit) };
  };
  const builtIn = await once(`lines ${layer} ${pooling}`, () => read(bert.sentences));
  const { indices, notes, vectors } = lines ? await once(`lines ${options.lines} ${layer} ${pooling}`, () => read(lines)) : builtIn;
  const cosines = vectors.map((one) => dot(one, query));
  const limit = `the checkpoint's limit of ${grouped(encoding.ids.length)} tokens`;
  const cut = encoding.leftOut ? `${grouped(encoding.leftOut)} tokens of the text are beyond ${limit}.` : "";
  return {
    hits: topk(cosines, top).map((at, i) => ({
      rank: i + 1, line: indices[at] + 1, text: searched[indices[at]][1], label: searched[indices[at]][0], cosine: Math.min(1, cosines[at]),
    })),
    count: indices.length, isBuiltIn: !lines, chance: meanCosine(builtIn.vectors), notes: `${cut} ${notes}`.trim(),
  };
}

export const rows = ({ hits, chance }) => hits.map((hit) => ({ ...hit, random_sentences: chance }));

export function draw({ hits, chance }) {
  const values = hits.map((hit) => hit.cosine), low = Math.min(0, chance, ...values);
  const chart = new Chart(bars(values, ACCENT, { width: 0.26, hovertext: hits.map(hover), hoverinfo: "text" }));
  const names = hits.map((hit) => twoLines(`${hit.cosine.toFixed(2)}  ${hit.text}${hit.label ? ` (${hit.label})` : ""}`));
  chart.add(texts(low, range(hits.length).map((row) => row - 0.42), names));
  for (const row of range(hits.length)) chart.shape({
    type: "line", x0: chance, x1: chance, y0: row - 0.18, y1: row + 0.18, line: { color: ORANGE, width: 3 },
  });
  chart.note(above(coloured(`Orange: two random sentences, ${chance.toFixed(2)}`, ORANGE)));
  chart.axes("x", { range: [low, 1], fixedrange: true, nticks: 6, title: title("cosine") });
  chart.axes("y", { range: [hits.length - 0.6, -0.8], ...HIDDEN });
  return chart.finish(Math.max(300, 90 + ROW * hits.length), { margin: { l: 8, r: 16, t: 40, b: 48 } });
}

/** *text* on at most two lines. */
function twoLines(text) {
  const [first, ...rest] = wrap(text, LETTERS);
  return [first, ...(rest.length ? [clip(rest.join(" "), LETTERS)] : [])].map(safe).join("<br>");
}

function hover({ rank, line, text, label: group, cosine }) {
  const lines = wrap(text, 60);
  const body = lines.slice(0, 8).map(safe).join("<br>") + (lines.length > 8 ? "…" : "");
  return `${rank}. line ${line}${group ? ` (${label(group, 30)})` : ""}<br>${body}<br>cosine ${cosine.toFixed(3)}`;
}

export function say({ hits: [best], count, isBuiltIn, chance, notes }) {
  const searched = `${grouped(count)} ${isBuiltIn ? "built-in sentences" : "uploaded lines"}`;
  return `Of ${searched}, compared one by one, the nearest is ${quote(clip(best.text, 80))} with a cosine of ${best.cosine.toFixed(2)}; `
    + `two sentences taken at random have ${chance.toFixed(2)} on average. ${notes}`.trim();
}
