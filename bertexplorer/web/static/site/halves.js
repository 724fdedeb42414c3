// The two halves of each layer, which the graph does not give. Each is added to its input and normalised: after it (BERT) or before it
// (ModernBERT, EuroBERT).
import { ACTIVATIONS } from "./activations.js";

/** The values of all tokens in a layer's attention, the parts of its heads side by side. */
export function valuesOf(bert, pass, layer) {
  const name = `encoder.layers.${layer}`,
    vectors = pass.vectors(layer);
  const read = bert.pre ? bert.norm(`${name}.attention_norm`, vectors) : vectors;
  const values = bert.linear(`${name}.attention.value`, read);
  const size = bert.hidden_size / bert.heads,
    each = bert.hidden_size / values[0].length; // heads that share one part
  if (each === 1) return values;
  return values.map((value) =>
    Float32Array.from(
      { length: bert.hidden_size },
      (_, n) => value[Math.floor(n / size / each) * size + (n % size)],
    ),
  );
}

/** The vectors of the tokens at *positions* after the attention half of a layer. */
export function attended(bert, pass, layer, positions) {
  const name = `encoder.layers.${layer}`;
  const size = bert.hidden_size / bert.heads;
  const values = valuesOf(bert, pass, layer);
  const contexts = positions.map((position) => {
    const context = new Float32Array(bert.hidden_size);
    for (let head = 0; head < bert.heads; head += 1) {
      const weights = pass.attention(layer, head, position);
      for (let n = head * size; n < (head + 1) * size; n += 1) {
        for (let j = 0; j < weights.length; j += 1) context[n] += weights[j] * values[j][n];
      }
    }
    return context;
  });
  const mixed = bert.linear(`${name}.attention.output`, contexts);
  const both = positions.map((position, i) =>
    pass.vector(layer, position).map((x, n) => x + mixed[i][n]),
  );
  return bert.pre ? both : bert.norm(`${name}.attention_norm`, both);
}

/** What the feed-forward half of a layer adds to *vectors*, which come from its attention half. */
export function fed(bert, layer, vectors) {
  const name = `encoder.layers.${layer}.feed_forward`,
    activate = ACTIVATIONS[bert.activation];
  const read = bert.pre ? bert.norm(`encoder.layers.${layer}.output_norm`, vectors) : vectors;
  let neurons = bert.linear(`${name}.expand`, read);
  if (bert.hasTensor(`${name}.gate.weight`)) {
    const gates = bert.linear(`${name}.gate`, read);
    neurons = neurons.map((row, i) => row.map((one, n) => activate(gates[i][n]) * one));
  } else neurons = neurons.map((row) => row.map(activate));
  return bert.linear(`${name}.contract`, neurons);
}

/** The vectors of the tokens at *positions* after a layer, without the norm that may follow the last one. */
export function outputs(bert, pass, layer, positions) {
  if (!bert.pre || layer < bert.layers - 1)
    return positions.map((at) => pass.vector(layer + 1, at));
  const vectors = attended(bert, pass, layer, positions),
    added = fed(bert, layer, vectors);
  return vectors.map((vector, i) => vector.map((one, n) => one + added[i][n]));
}
