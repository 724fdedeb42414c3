// The vectors that add up to the input of the first layer.
import { argmax, range } from "./numbers.js";

/** The vectors of each token on the way in, by name: word, position and segment (if the checkpoint has segments), their sum, and the
 *  sum after LayerNorm. */
export function inputParts(bert, { ids, segments }) {
  const start = "encoder.embeddings", size = bert.word_size, hasSegments = bert.places.has(`${start}.segments.weight`);
  const row = (name, i) => bert.tensor(`${start}.${name}.weight`).data.subarray(i * size, (i + 1) * size), word = ids.map((id) => row("words", id));
  const position = ids.map((_, i) => row("positions", i));
  const segment = hasSegments ? segments.map((one) => row("segments", one)) : null;
  const sum = ids.map((_, at) => word[at].map((one, i) => one + position[at][i] + (hasSegments ? segment[at][i] : 0)));
  return { word, position, ...(hasSegments && { segment }), sum, normalised: bert.norm(`${start}.norm`, sum) };
}

/** The position of the longest piece that is not a special token. */
export const longestPiece = ({ tokens, special }) => argmax(tokens.map((token, i) => (special[i] ? 0 : [...token].length)));
