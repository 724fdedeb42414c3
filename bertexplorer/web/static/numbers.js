// Small mathematics that views share.

/** @typedef {ArrayLike<number>} Numbers */

/** @param {number[]} values */
export const sum = (values) => values.reduce((total, one) => total + one, 0);
/** @param {number[]} values */
export const mean = (values) => sum(values) / values.length;
/** @param {number} count */
export const range = (count, from = 0) => Array.from({ length: count }, (_, i) => from + i);
/** The index of the largest of *values*, the first one of equals.
 *  @param {Numbers} values */
export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i += 1) if (values[i] > values[best]) best = i;
  return best;
}

/** @param {Iterable<number>} values */
export function most(values) {
  let best = -Infinity;
  for (const one of values) if (one > best) best = one;
  return best;
}

/** @param {Iterable<number>} values */
export function least(values) {
  let best = Infinity;
  for (const one of values) if (one < best) best = one;
  return best;
}

/** @param {number} x */
export const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));

/** @param {Iterable<number>} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b),
    half = (sorted.length - 1) / 2;
  return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2;
}

/** @param {Numbers} a
 *  @param {Numbers} b */
export function dot(a, b) {
  let total = 0;
  for (let i = 0; i < a.length; i += 1) total += a[i] * b[i];
  return total;
}

/** e to the power of each of *values*.
 *  @param {Numbers} values */
export function exponentials(values) {
  const out = new Float32Array(values.length);
  for (let i = 0; i < out.length; i += 1) out[i] = Math.exp(values[i]);
  return out;
}

/** @param {Numbers} a */
export const length = (a) => Math.sqrt(dot(a, a));
/** @param {Numbers} a
 *  @param {Numbers} b */
export const cosine = (a, b) => dot(a, b) / (length(a) * length(b));

/** The sum of *rows*, each times its weight, divided by their count unless there are *weights*.
 *  @param {Numbers[]} rows
 *  @param {Numbers | null} [weights] */
export function meanRow(rows, weights = null) {
  const out = new Float64Array(rows[0].length);
  rows.forEach((row, j) => {
    for (let i = 0; i < out.length; i += 1)
      out[i] += weights ? weights[j] * row[i] : row[i] / rows.length;
  });
  return out;
}

/** The indices of the *count* largest of *values*, the largest first; of equals, the first one.
 *  @param {Numbers} values
 *  @param {number} count */
export function topk(values, count) {
  /** @type {number[]} */
  const best = [];
  for (let i = 0; i < values.length; i += 1) {
    if (best.length === count && values[i] <= values[best[count - 1]]) continue;
    let at = best.length;
    while (at && values[best[at - 1]] < values[i]) at -= 1;
    best.splice(at, 0, i);
    if (best.length > count) best.pop();
  }
  return best;
}

/** The number below which *share* of *values* lie, between neighbours in proportion.
 *  @param {Iterable<number>} values
 *  @param {number} share */
export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort(),
    at = share * (sorted.length - 1),
    low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** Entropy in bits of natural-log probabilities.
 *  @param {Iterable<number>} logProbs */
export function entropyBits(logProbs) {
  let total = 0;
  for (const one of logProbs) total -= Math.exp(one) * one;
  return total / Math.LN2;
}

/** The rank, from 1, of the value at *index* among *values*.
 *  @param {Numbers & Iterable<number>} values
 *  @param {number} index */
export function rankOf(values, index) {
  let rank = 1;
  for (const one of values) if (one > values[index]) rank += 1;
  return rank;
}
