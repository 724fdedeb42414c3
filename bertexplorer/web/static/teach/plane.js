// @ts-check
// The two directions in which vectors differ most (principal components), and where each vector lies along them.
import { dot } from "../numbers.js";

const STEPS = 200; // of the power method

/** [x, y] of each of *vectors*.
 *  @param {ArrayLike<number>[]} vectors @returns {number[][]} */
export function plane(vectors) {
  const width = vectors[0].length,
    middle = new Float64Array(width);
  for (const vector of vectors)
    for (let i = 0; i < width; i++) middle[i] += vector[i] / vectors.length;
  const rest = vectors.map((vector) => middle.map((value, i) => vector[i] - value)),
    places = /** @type {number[][]} */ (vectors.map(() => []));
  for (let axis = 0; axis < 2; axis++) {
    const direction = mainDirection(rest);
    rest.forEach((vector, row) => {
      const along = dot(vector, direction);
      places[row].push(along);
      for (let i = 0; i < width; i++) vector[i] -= along * direction[i];
    });
  }
  return places;
}

/** The direction of unit length along which *vectors*, whose mean is 0, have the largest squares. Its sign: that of the longest vector.
 *  @param {Float64Array[]} vectors */
function mainDirection(vectors) {
  let direction = vectors.reduce((best, one) => (dot(one, one) > dot(best, best) ? one : best));
  for (let step = 0; step < STEPS; step++) {
    const next = new Float64Array(direction.length);
    for (const vector of vectors) {
      const along = dot(vector, direction);
      for (let i = 0; i < next.length; i++) next[i] += along * vector[i];
    }
    const length = Math.sqrt(dot(next, next));
    if (!length) return next;
    direction = next.map((value) => value / length);
  }
  return direction;
}
