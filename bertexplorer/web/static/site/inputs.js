// The vectors that add up to the input of the first layer.
import { argmax, sum } from "../numbers.js";

/** The vectors of the tokens on the way into the encoder, by name, in the order in which they are added. */
export function inputParts(bert, encoding) {
  const { ids, segments } = encoding;
  const row = (name, i) => {
    const {
      data,
      shape: [, size],
    } = bert.tensor(name);
    return data.subarray(i * size, (i + 1) * size);
  };
  const named = (name) => bert.hasTensor(name),
    base = "encoder.embeddings",
    parts = { word: ids.map((id) => bert.wordVector(id)) };
  if (named(`${base}.positions.weight`))
    parts.position = ids.map((_, i) => row(`${base}.positions.weight`, i + bert.first_position));
  if (named(`${base}.segments.weight`))
    parts.segment = segments.map((segment) => row(`${base}.segments.weight`, segment));
  const added = Object.values(parts);
  parts.sum = ids.map((_, i) =>
    added[0][i].map((_, n) => sum(added.map((vectors) => vectors[i][n]))),
  );
  if (named(`${base}.norm.weight`)) parts.normalised = bert.norm(`${base}.norm`, parts.sum);
  if (named(`${base}.project.weight`))
    parts.projected = bert.linear(`${base}.project`, parts.normalised);
  return parts;
}

/** The position of the longest piece that is not a special token. */
export const longestPiece = ({ tokens, special }) =>
  argmax(tokens.map((token, i) => (special[i] ? 0 : [...token].length)));
