// @ts-check
// How good a head is on sentences that it was not fitted on: one of each box is left out at a time, and the ridge is chosen anew without
// them. If one alone were left out, its own box would be the smaller one each time, and a head that knows nothing would always name
// another. Equal sentences are left out together. With more than ONE_EACH different sentences in a box, PARTS parts are left out in turn.
// The package computes the same (bertexplorer/teaching/evaluation.py); both are held to tests/cases/teaching.json.
import { expanded, fit, probabilities, reduced } from "./linear_head.js";

/** @import { Head, Vector } from "./linear_head.js" */
/** @typedef {{labels: number[], groups: number[], boxes: number}} Rows  The box of each row; rows that are equal have one group. */

export const RIDGES = [1, 0.1, 0.01, 0.001];
export const ONE_EACH = 30; // different sentences of a box, up to which one of each box is left out at a time
const PARTS = 10; // in which more of them are left out
const INNER = 4; // parts in which the ridge is chosen
const LEAST = 1e-6; // of a probability, so that its logarithm is finite
const Z_95 = 1.959963984540054;

/** The part of each row. The groups of each box are dealt out in turn, so that each part has some of every box; rows of one group are
 *  in one part.
 *  @param {Rows} rows @param {number} parts */
export function split({ labels, groups }, parts) {
  const partOf = new Map(); // group -> its part
  const dealt = new Map(); // box -> groups that were dealt out
  groups.forEach((group, row) => {
    if (partOf.has(group)) return;
    const before = dealt.get(labels[row]) ?? 0;
    partOf.set(group, before % parts);
    dealt.set(labels[row], before + 1);
  });
  return groups.map((group) => partOf.get(group));
}

/** The rows of *vectors* and *rows* at these *places*.
 *  @param {Vector[]} vectors @param {Rows} rows @param {number[]} places */
const at = (vectors, rows, places) => ({
  vectors: places.map((i) => vectors[i]),
  rows: {
    boxes: rows.boxes,
    labels: places.map((i) => rows.labels[i]),
    groups: places.map((i) => rows.groups[i]),
  },
});

/** For each part: the places of its rows, and of all others.
 *  @param {number[]} part */
function divisions(part) {
  const rows = [...part.keys()];
  const parts = [...new Set(part)].sort((a, b) => a - b);
  return parts.map((one) => ({
    test: rows.filter((row) => part[row] === one),
    train: rows.filter((row) => part[row] !== one),
  }));
}

/** Of RIDGES the one with the least log loss on rows that are left out, in INNER parts; of equal ones the largest.
 *  @param {Vector[]} vectors @param {Rows} rows */
export function chooseRidge(vectors, rows) {
  const losses = RIDGES.map((ridge) => {
    let loss = 0;
    for (const { test, train } of divisions(split(rows, INNER))) {
      if (!train.length) continue;
      const known = at(vectors, rows, train);
      const head = fit(known.vectors, known.rows.labels, rows.boxes, ridge);
      for (const i of test) {
        const own = probabilities(head, vectors[i])[rows.labels[i]];
        loss -= Math.log(Math.max(own, LEAST));
      }
    }
    return loss;
  });
  return RIDGES[losses.indexOf(Math.min(...losses))];
}

/** The head with the ridge that is best on rows that are left out.
 *  @param {Vector[]} vectors @param {Rows} rows @returns {{head: Head, ridge: number}} */
export function fitWithRidge(vectors, rows) {
  const { directions, coordinates } = reduced(vectors);
  const ridge = chooseRidge(coordinates, rows);
  const head = fit(coordinates, rows.labels, rows.boxes, ridge);
  return { head: expanded(head, directions), ridge };
}

/** For each row the probabilities of a head that was fitted without it, with a ridge that was chosen without it.
 *  @param {Vector[]} vectors @param {Rows} rows */
export function leftOutInTurn(vectors, rows) {
  const { coordinates } = reduced(vectors);
  const oneEach = split(rows, rows.labels.length);
  const count = Math.max(...oneEach) + 1; // as many as the largest box has different sentences
  const parts = count <= ONE_EACH ? oneEach : split(rows, PARTS);
  /** @type {number[][]} */
  const result = [];
  for (const { test, train } of divisions(parts)) {
    const known = at(coordinates, rows, train);
    const ridge = chooseRidge(known.vectors, known.rows);
    const head = fit(known.vectors, known.rows.labels, rows.boxes, ridge);
    for (const i of test) result[i] = probabilities(head, coordinates[i]);
  }
  return result;
}

/** The 95 % interval of a share of *right* in *count* cases (Wilson, 1927).
 *  @param {number} right @param {number} count */
export function interval(right, count) {
  const share = right / count;
  const square = (Z_95 * Z_95) / count;
  const middle = (share + square / 2) / (1 + square);
  const spread = Math.sqrt((share * (1 - share)) / count + square / (4 * count));
  const half = (Z_95 / (1 + square)) * spread;
  // at the ends exactly, which rounding would miss
  return { low: right === 0 ? 0 : middle - half, high: right === count ? 1 : middle + half };
}
