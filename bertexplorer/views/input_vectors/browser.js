// Input vectors: the word, position and segment vectors of one token, number by number, and how they add up.
import { decimal, quote } from "../../web/static/site/wording.js";
import { inputParts, longestPiece } from "../../web/static/site/inputs.js";
import { argmax, cosine, length, range } from "../../web/static/numbers.js";

/** @import { Figure } from "../../web/static/types.d.ts" */

export async function run(bert, text, { clip }) {
  const encoding = bert.tokenizer.encode(text);
  const { picked } = encoding;
  const position = picked[0] ?? longestPiece(encoding);
  const named = inputParts(bert, encoding);
  const parts = Object.keys(named);
  const vectors = parts.map((name) => [...named[name][position]]),
    added = vectors.slice(0, -1),
    most = percentile(added.flat(), clip);
  return {
    token: bert.tokenizer.pieces[encoding.ids[position]],
    position,
    parts,
    vectors,
    cosines: vectors.map((a) => vectors.map((b) => (length(a) && length(b) ? cosine(a, b) : null))),
    limits: [...added.map(() => most), percentile(vectors.at(-1), clip)],
    others: Math.max(0, picked.length - 1),
  };
}

/** The size that *share* per cent of *values* do not exceed, between two of them if need be. */
function percentile(values, share) {
  const sorted = values.map(Math.abs).sort((a, b) => a - b),
    place = (share / 100) * (sorted.length - 1),
    low = Math.floor(place);
  return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]) || 1;
}

export function rows({ token, position, parts, vectors }) {
  return parts.flatMap((part, i) =>
    vectors[i].map((value, dimension) => ({ token, position, part, dimension, value })),
  );
}

/** @returns {Figure} */
export function draw({ parts, vectors, cosines, limits }) {
  const names = parts.map((part) => (part === "normalised" ? "LayerNorm" : part));
  const rounded = (row, digits) =>
    row.map((one) => (one === null ? null : Number(one.toFixed(digits))));
  return {
    marks: 1,
    panels: [
      {
        title: "each number: orange −, blue +",
        marks: [
          {
            kind: "cells",
            rows: names.map((name, i) => `${name}\n${length(vectors[i]).toFixed(1)}`),
            columns: [],
            palette: "strong",
            values: vectors.map((vector, i) =>
              rounded(
                vector.map((one) => one / limits[i]),
                4,
              ),
            ),
            low: -1,
            high: 1,
            numbers: vectors.map((vector) => rounded(vector, 4)),
          },
        ],
      },
      {
        title: "cosine between them",
        marks: [
          {
            kind: "cells",
            rows: names,
            columns: names,
            values: cosines.map((row) => rounded(row, 3)),
            palette: "signed",
            low: -1,
            high: 1,
            text: cosines.map((row) => row.map((one) => (one === null ? "" : decimal(one)))),
          },
        ],
      },
    ],
  };
}

export function say({ token, position, parts, vectors, cosines, others }) {
  const lengths = vectors.map((vector) => length(vector).toFixed(1)),
    into = parts.indexOf("sum");
  if (into === 1) return `${quote(token)} enters as its word vector alone, ${lengths[0]} long.`;
  const added = parts
    .slice(0, into)
    .map((part, i) => `${part} ${lengths[i]}`)
    .join(", ");
  const closest = argmax(range(into).map((i) => cosines[into][i]));
  return (
    `For ${quote(token)} at position ${position}, vectors of these lengths are added: ${added}. ` +
    `The sum, ${lengths[into]} long, is closest in direction to the ${parts[closest]} vector ` +
    `(cosine ${cosines[into][closest].toFixed(2)}); LayerNorm makes it ${lengths[into + 1]} long (its colours have their own ` +
    `scale).${others ? ` ${others} more picked tokens are not shown.` : ""}`
  );
}
