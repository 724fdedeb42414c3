// @ts-check
// A linear head on sentence vectors: logistic regression with a ridge (multinomial, for two boxes and more). The vectors are first
// moved to their mean and scaled to a mean squared length of 1, so that one ridge means the same for every encoder. Boxes count alike,
// however many sentences they have. The package computes the same (bertexplorer/teaching/head.py); both are held to
// tests/cases/teaching.json.

import { dot } from "../numbers.js";

/** @typedef {ArrayLike<number>} Vector */
/** @typedef {{weights: Float64Array[], bias: number[]}} Head  A logit for each box: weights times the vector, plus the bias. */

const TOLERANCE = 1e-6; // of the gradient
const ITERATIONS = 500;
const MEMORY = 8; // steps from which L-BFGS estimates the curvature

/** The probability of each box, 0 to 1.
 *  @param {number[]} logits */
export function softmax(logits) {
  const most = Math.max(...logits);
  const shares = logits.map((logit) => Math.exp(logit - most));
  const sum = shares.reduce((all, share) => all + share, 0);
  return shares.map((share) => share / sum);
}

/** @param {Head} head @param {Vector} vector */
export const probabilities = (head, vector) =>
  softmax(head.bias.map((bias, box) => bias + dot(head.weights[box], vector)));

/** Orthonormal directions that span *vectors*, and the coordinates of each in them. Distances and products stay, and a head that is
 *  fitted to the coordinates is that of the vectors, in a fraction of the time: there are at most as many as vectors.
 *  @param {Vector[]} vectors */
export function reduced(vectors) {
  /** @type {Float64Array[]} */
  const directions = [];
  for (const vector of vectors) {
    const rest = Float64Array.from(vector);
    const length = Math.sqrt(dot(rest, rest));
    for (let pass = 0; pass < 2; pass++) {
      // a second pass removes what rounding left
      for (const direction of directions) {
        const along = dot(direction, rest);
        for (let i = 0; i < rest.length; i++) rest[i] -= along * direction[i];
      }
    }
    const left = Math.sqrt(dot(rest, rest));
    if (left > 1e-9 * length) directions.push(rest.map((value) => value / left));
  }
  return {
    directions,
    coordinates: vectors.map((vector) =>
      Float64Array.from(directions, (direction) => dot(direction, vector)),
    ),
  };
}

/** How much each of *vectors*, on which *head* was fitted, adds to the logit of *box* for *vector*. With the bias they sum to the
 *  logit, as the weights of a ridge are a sum over what the head was fitted on (Schölkopf et al., 2001).
 *  @param {Head} head @param {number} ridge @param {Vector[]} vectors @param {number[]} labels
 *  @param {number} box @param {Vector} vector */
export function pulls(head, ridge, vectors, labels, box, vector) {
  const { middle, scale, scaled } = standardised(vectors);
  const moved = middle.map((value, i) => (vector[i] - value) / scale);
  const shares = balanced(labels);
  return vectors.map((own, i) => {
    const missing = (labels[i] === box ? 1 : 0) - probabilities(head, own)[box];
    return (shares[i] * missing * dot(scaled[i], moved)) / ridge;
  });
}

/** The head of the vectors whose coordinates are those of *head*.
 *  @param {Head} head @param {Float64Array[]} directions @returns {Head} */
export const expanded = (head, directions) => ({
  bias: head.bias,
  weights: head.weights.map((along) => {
    const weights = new Float64Array(directions[0].length);
    directions.forEach((direction, k) => {
      for (let i = 0; i < weights.length; i++) weights[i] += along[k] * direction[i];
    });
    return weights;
  }),
});

/** The share of each row in the loss: every label has the same one.
 *  @param {number[]} labels */
function balanced(labels) {
  const counts = new Map();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return labels.map((label) => 1 / (counts.size * counts.get(label)));
}

/** The head that minimises the mean log loss of the *labels* (0 to *boxes* - 1), in which boxes count alike, plus ridge / 2 times the
 *  squared length of its weights. A box without a vector gets no probability.
 *  @param {Vector[]} vectors @param {number[]} labels @param {number} boxes @param {number} ridge @returns {Head} */
export function fit(vectors, labels, boxes, ridge) {
  // 1. The weights and the bias of each box that has vectors, for vectors that were moved and scaled.
  const width = vectors[0].length;
  const { middle, scale, scaled } = standardised(vectors);
  const present = [...new Set(labels)].sort((a, b) => a - b);
  const places = labels.map((label) => present.indexOf(label));
  const point =
    present.length > 1
      ? minimise(scaled, places, present.length, ridge)
      : new Float64Array(width + 1);
  // 2. The same for the vectors as they are.
  /** @type {Head} */
  const head = {
    weights: Array.from({ length: boxes }, () => new Float64Array(width)),
    bias: Array(boxes).fill(-Infinity),
  };
  present.forEach((box, place) => {
    const own = point.subarray(place * (width + 1), (place + 1) * (width + 1));
    const weights = own.subarray(0, width).map((weight) => weight / scale);
    head.weights[box] = weights;
    head.bias[box] = own[width] - dot(weights, middle);
  });
  return head;
}

/** The *middle* of *vectors*, the *scale* by which they are divided once they are moved to it, and what they are then, *scaled*.
 *  @param {Vector[]} vectors */
function standardised(vectors) {
  const middle = new Float64Array(vectors[0].length);
  for (const vector of vectors) {
    for (let i = 0; i < middle.length; i++) middle[i] += vector[i] / vectors.length;
  }
  const moved = vectors.map((vector) => middle.map((value, i) => vector[i] - value));
  const squares = moved.reduce((sum, vector) => sum + dot(vector, vector), 0);
  const scale = Math.sqrt(squares / vectors.length) || 1;
  return { middle, scale, scaled: moved.map((vector) => vector.map((value) => value / scale)) };
}

/** The weights and the bias of each class, one class after the other, by L-BFGS (Liu and Nocedal, 1989).
 *  @param {Float64Array[]} vectors @param {number[]} labels @param {number} classes @param {number} ridge */
function minimise(vectors, labels, classes, ridge) {
  let point = new Float64Array(classes * (vectors[0].length + 1));
  let { loss, gradient } = lossAt(point, vectors, labels, classes, ridge);
  /** @type {{step: Float64Array, change: Float64Array, product: number}[]} */
  const memory = [];
  for (let i = 0; i < ITERATIONS && Math.sqrt(dot(gradient, gradient)) > TOLERANCE; i++) {
    // 1. The next point along the direction, and the loss and the gradient there.
    const direction = descent(gradient, memory);
    const slope = dot(direction, gradient);
    const { next, there } = firstEnough((length) => {
      const next = point.map((value, k) => value + length * direction[k]);
      const there = lossAt(next, vectors, labels, classes, ridge);
      return { next, there, enough: there.loss <= loss + 1e-4 * length * slope };
    });
    if (there.loss >= loss) break; // no digit is left to gain
    // 2. What the step says of the curvature.
    const step = next.map((value, k) => value - point[k]);
    const change = there.gradient.map((value, k) => value - gradient[k]);
    const product = dot(step, change);
    if (product > 0) memory.push({ step, change, product });
    if (memory.length > MEMORY) memory.shift();
    point = next;
    ({ loss, gradient } = there);
  }
  return point;
}

/** The first step that gains *enough*: a whole one, a half, a quarter … (Armijo, 1966).
 *  @template {{enough: boolean}} Step
 *  @param {(length: number) => Step} step */
function firstEnough(step) {
  for (let length = 1; ; length /= 2) {
    const taken = step(length);
    if (taken.enough || length < 1e-12) return taken;
  }
}

/** The direction in which L-BFGS goes: minus the gradient times the estimated inverse of the curvature.
 *  @param {Float64Array} gradient @param {{step: Float64Array, change: Float64Array, product: number}[]} memory */
function descent(gradient, memory) {
  const direction = gradient.map((value) => -value);
  const add = (/** @type {Float64Array} */ vector, /** @type {number} */ by) => {
    for (let k = 0; k < direction.length; k++) direction[k] += by * vector[k];
  };
  const shares = memory.map(() => 0);
  for (let i = memory.length - 1; i >= 0; i--) {
    shares[i] = dot(memory[i].step, direction) / memory[i].product;
    add(memory[i].change, -shares[i]);
  }
  const last = memory.at(-1);
  if (last) add(direction.slice(), last.product / dot(last.change, last.change) - 1);
  memory.forEach(({ step, change, product }, i) =>
    add(step, shares[i] - dot(change, direction) / product),
  );
  return direction;
}

/** The loss at a *point*, and its gradient.
 *  @param {Float64Array} point @param {Float64Array[]} vectors @param {number[]} labels
 *  @param {number} classes @param {number} ridge */
function lossAt(point, vectors, labels, classes, ridge) {
  const width = vectors[0].length;
  const weights = balanced(labels);
  const logits = Array(classes).fill(0);
  const gradient = new Float64Array(point.length);
  let loss = 0;
  // 1. How well the labels are told.
  vectors.forEach((vector, row) => {
    for (let c = 0; c < classes; c++) {
      const start = c * (width + 1);
      let logit = point[start + width];
      for (let i = 0; i < width; i++) logit += point[start + i] * vector[i];
      logits[c] = logit;
    }
    const shares = softmax(logits);
    loss -= weights[row] * Math.log(Math.max(shares[labels[row]], 1e-300));
    for (let c = 0; c < classes; c++) {
      const start = c * (width + 1);
      const error = weights[row] * (shares[c] - (c === labels[row] ? 1 : 0));
      for (let i = 0; i < width; i++) gradient[start + i] += error * vector[i];
      gradient[start + width] += error;
    }
  });
  // 2. How long the weights are.
  for (let c = 0; c < classes; c++) {
    for (let k = c * (width + 1); k < c * (width + 1) + width; k++) {
      loss += (ridge / 2) * point[k] * point[k];
      gradient[k] += ridge * point[k];
    }
  }
  return { loss, gradient };
}
