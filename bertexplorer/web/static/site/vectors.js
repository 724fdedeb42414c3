// Vectors of words and of texts, their cosines, and what two random words or sentences have. `bert.sentences` are the built-in
// sentences, each with its topic: [[topic, sentence], …].
import { dot, length, meanRow, range, sum } from "../numbers.js";
import { Refusal } from "./refusal.js";

const WORD = /[\p{L}\p{N}_]+/gu;
const MOST_STEPS = 3_000,
  CLOSE = 1e-9; // of the power method
const kept = new Map(); // what is the same for all texts: a worker has one checkpoint

/** What *make* gives, made once. */
export function once(key, make) {
  if (!kept.has(key)) kept.set(key, make());
  return kept.get(key);
}

/** *layer* as an index; -1 means the last. */
export function layerOf({ name, layers }, layer) {
  if (layer >= -1 && layer <= layers) return layer === -1 ? layers : layer;
  throw new Refusal(
    `Layer ${layer} was requested; ${name} has layers 1 to ${layers}, and 0, the input of the first. Choose one of these, or -1 for the last.`,
  );
}

/** *vector* scaled to length 1; one of length 0 stays. */
export const unit = (vector) => {
  const size = Math.max(length(vector), 1e-12);
  return Float64Array.from(vector, (one) => one / size);
};

/** The cosine of every two of *vectors*. */
export function cosines(vectors) {
  const ones = vectors.map(unit);
  return ones.map((a) => ones.map((b) => Math.max(-1, Math.min(1, dot(a, b)))));
}

/** The mean cosine over all pairs of different vectors (Ethayarajh, 2019). */
export function meanCosine(vectors) {
  const count = vectors.length;
  const ones = vectors.map(() => 1);
  const total = meanRow(vectors.map(unit), ones);
  return (dot(total, total) - count) / (count * (count - 1));
}

/** The words in a text: {text, span}, spans in code points. */
export function wordsIn(text, side = 0) {
  return [...text.matchAll(WORD)].map((match) => ({
    text: match[0],
    span: spanOf(text, match, side),
  }));
}

export function spanOf(text, match, side) {
  const start = [...text.slice(0, match.index)].length;
  return { side, start, end: start + [...match[0]].length };
}

/** The positions of the pieces that cover characters of *span*. */
export function piecePositions({ spans }, { side, start, end }) {
  return range(spans.length).filter(
    (i) => spans[i]?.side === side && spans[i].start < end && start < spans[i].end,
  );
}

/** The vectors of words at every layer. *groups*: for each encoding its words, each a list of positions, whose mean is taken. */
export async function wordVectors(bert, encodings, groups) {
  const layers = range(bert.layers + 1);
  const vectorOf = (pass, layer) => (positions) =>
    meanRow(positions.map((at) => pass.vector(layer, at)));
  const taken = await bert.take(encodings, (pass, i) =>
    layers.map((layer) => groups[i].map(vectorOf(pass, layer))),
  );
  return layers.map((layer) => taken.flatMap((one) => one[layer]));
}

/** The mean cosine of two different words in different sentences, at every layer. */
export const baseline = (bert) =>
  once("words", async () => {
    // 1. The words of the built-in sentences that are read, and their pieces.
    const encodings = bert.sentences.map(([, sentence]) =>
      bert.tokenizer.encode({ first: sentence }),
    );
    const all = []; // {word, sentence}
    const groups = encodings.map((encoding, sentence) => {
      const group = [];
      for (const { text, span } of wordsIn(encoding.texts[0].join(""))) {
        const positions = piecePositions(encoding, span);
        if (!positions.length) continue;
        all.push({ word: text.toLowerCase(), sentence });
        group.push(positions);
      }
      return group;
    });
    // 2. The mean over all pairs, at each layer.
    const byLayer = await wordVectors(bert, encodings, groups);
    return byLayer.map((vectors) => {
      const units = vectors.map(unit);
      let total = 0;
      let count = 0;
      all.forEach((a, i) =>
        all.slice(0, i).forEach((b, j) => {
          if (a.word === b.word || a.sentence === b.sentence) return;
          total += dot(units[i], units[j]);
          count += 1;
        }),
      );
      return total / count;
    });
  });

/** The uploaded lines as [label, text], which have no labels; null if the built-in ones are asked for. */
export function linesOf(options, { lines }) {
  if (options.lines && !lines)
    throw new Refusal(`The lines '${options.lines}' are no longer stored. Upload the file again.`);
  return lines ? lines.map((line) => ["", line]) : null;
}

/** The encodings of *lines*, [[label, text], …], their indices there, and a note on those that are left out or cut.
 *  *prompt*: the name of what stands before each. */
export function encodeLines(bert, lines, prompt = null) {
  const encodings = [];
  const indices = [];
  lines.forEach(([, text], i) => {
    try {
      encodings.push(bert.sentence.encode({ first: text }, prompt));
      indices.push(i);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  });
  if (!encodings.length)
    throw new Refusal(
      `None of the ${lines.length.toLocaleString("en")} lines can be read. Give lines of text.`,
    );
  const notes = [];
  const skipped = lines.length - indices.length;
  if (skipped)
    notes.push(
      `${skipped.toLocaleString("en")} of ${lines.length.toLocaleString("en")} lines cannot be read and are left out.`,
    );
  const cut = encodings.filter((one) => one.leftOut);
  if (cut.length) {
    const most = Math.max(...cut.map((one) => one.ids.length));
    const linesAre = cut.length > 1 ? "lines are" : "line is";
    notes.push(
      `${cut.length.toLocaleString("en")} ${linesAre} longer than the ${most.toLocaleString("en")} tokens that are read, and cut.`,
    );
  }
  return { encodings, indices, notes: notes.join(" ") };
}

/** Two principal components of *vectors* (Pearson, 1901): {centre, axes, shares of the variance}. The greatest entry of an axis is
 *  positive. */
export function principal(vectors) {
  const centre = meanRow(vectors),
    size = centre.length,
    covariance = range(size).map(() => new Float64Array(size)),
    axes = [],
    shares = [];
  for (const vector of vectors) {
    const moved = vector.map((one, i) => one - centre[i]);
    for (let i = 0; i < size; i += 1) {
      const row = covariance[i],
        one = moved[i];
      for (let j = 0; j <= i; j += 1) row[j] += one * moved[j];
    }
  }
  for (let i = 0; i < size; i += 1)
    for (let j = 0; j < i; j += 1) covariance[j][i] = covariance[i][j];
  const whole = Math.max(sum(range(size).map((i) => covariance[i][i])), 1e-12);
  while (axes.length < 2) {
    let axis = unit(range(size).map((i) => 1 + ((i * 0.618) % 1))),
      value = 0;
    for (let step = 0, change = 1; step < MOST_STEPS && change > CLOSE; step += 1) {
      // the power method, at right angles to the axes found
      let next = Float64Array.from(covariance, (row) => dot(row, axis));
      for (const found of axes) {
        const along = dot(next, found);
        next = next.map((one, i) => one - along * found[i]);
      }
      value = length(next);
      next = unit(next);
      change = length(next.map((one, i) => one - axis[i]));
      axis = next;
    }
    const largest = axis.reduce(
      (best, one, i) => (Math.abs(one) > Math.abs(axis[best]) ? i : best),
      0,
    );
    axes.push(axis[largest] < 0 ? axis.map((one) => -one) : axis);
    shares.push(value / whole);
  }
  return { centre, axes, shares };
}
