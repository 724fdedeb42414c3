// The two halves of each layer, which the graph does not give.

/** The vectors of the tokens at *positions* after the attention half of a layer. */
export function attended(bert, pass, layer, positions) {
  const name = `encoder.layers.${layer}`;
  const size = bert.hidden_size / bert.heads;
  const values = bert.linear(`${name}.attention.value`, pass.vectors(layer));
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
  return bert.norm(
    `${name}.attention_norm`,
    positions.map((position, i) => pass.vector(layer, position).map((x, n) => x + mixed[i][n])),
  );
}

/** What the feed-forward half of a layer adds to *vectors*, which come from its attention half. */
export function fed(bert, layer, vectors) {
  const name = `encoder.layers.${layer}.feed_forward`;
  return bert.linear(
    `${name}.contract`,
    bert.linear(`${name}.expand`, vectors).map((row) => row.map(gelu)),
  );
}

export const gelu = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));

/** The error function, to 1.2e-7 (Press et al., Numerical Recipes, 6.2). */
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const series = [
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418,
    0.37409196, 1.00002368, -1.26551223,
  ];
  const tail = t * Math.exp(-x * x + series.reduce((total, one) => total * t + one, 0));
  return x < 0 ? tail - 1 : 1 - tail;
}
