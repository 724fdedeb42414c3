// The parts of a pass that the graph does not give: the vectors that add up at the input, and the two halves of each layer.
import { sum } from "./numbers.js";

/** The vectors of the tokens on the way into the encoder, by name, in the order in which they are added. */
export function inputParts(bert, encoding) {
  const { ids, segments } = encoding, row = (name, i) => { const { data, shape: [, size] } = bert.tensor(name); return data.subarray(i * size, (i + 1) * size); };
  const named = (name) => bert.places.has(name), base = "encoder.embeddings", parts = { word: ids.map((id) => bert.wordVector(id)) };
  if (named(`${base}.positions.weight`)) parts.position = ids.map((_, i) => row(`${base}.positions.weight`, i + bert.first_position));
  if (named(`${base}.segments.weight`)) parts.segment = segments.map((segment) => row(`${base}.segments.weight`, segment));
  const added = Object.values(parts);
  parts.sum = ids.map((_, i) => added[0][i].map((_, n) => sum(added.map((vectors) => vectors[i][n]))));
  parts.normalised = bert.norm(`${base}.norm`, parts.sum);
  if (named(`${base}.project.weight`)) parts.projected = bert.linear(`${base}.project`, parts.normalised);
  return parts;
}

/** The vectors of the tokens at *positions* after the attention half of a layer. */
export function attended(bert, pass, layer, positions) {
  const name = `encoder.layers.${layer}`, size = bert.hidden_size / bert.heads, values = bert.linear(`${name}.attention.value`, pass.vectors(layer));
  const contexts = positions.map((position) => {
    const context = new Float32Array(bert.hidden_size);
    for (let head = 0; head < bert.heads; head += 1) {
      const weights = pass.attention(layer, head, position);
      for (let n = head * size; n < (head + 1) * size; n += 1) for (let j = 0; j < weights.length; j += 1) context[n] += weights[j] * values[j][n];
    }
    return context;
  });
  const mixed = bert.linear(`${name}.attention.output`, contexts);
  return bert.norm(`${name}.attention_norm`, positions.map((position, i) => pass.vector(layer, position).map((x, n) => x + mixed[i][n])));
}

/** What the feed-forward half of a layer adds to *vectors*, which come from its attention half. */
export function fed(bert, layer, vectors) {
  const name = `encoder.layers.${layer}.feed_forward`;
  return bert.linear(`${name}.contract`, bert.linear(`${name}.expand`, vectors).map((row) => row.map(gelu)));
}

const gelu = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));

/** The error function, to 1.2e-7 (Press et al., Numerical Recipes, 6.2). */
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const series = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223];
  const tail = t * Math.exp(-x * x + series.reduce((total, one) => total * t + one, 0));
  return x < 0 ? tail - 1 : 1 - tail;
}
