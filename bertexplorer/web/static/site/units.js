// What the views of attention share: the tokens or whole words between which it is shown, and its numbers between them.
import { meanRow, range, sum } from "../numbers.js";
import { Refusal } from "./refusal.js";

/** The tokens of *encoding*, or (*merge*) its words: {label, positions, side, special}. Each token belongs to one. */
export function unitsOf({ tokenizer }, encoding, merge = false) {
  const { cls, sep, pad } = tokenizer.special;
  const frame = [cls, sep, pad];
  const second = encoding.secondStart < 0 ? encoding.ids.length : encoding.secondStart;
  const units = [];
  encoding.tokens.forEach((token, i) => {
    const special = frame.includes(token),
      word = special ? null : encoding.words[i];
    if (merge && word !== null && units.at(-1)?.word === word) units.at(-1).positions.push(i);
    else units.push({ positions: [i], word, side: Number(i >= second), special });
  });
  return units.map(({ positions, side, special }) => {
    const ids = positions.map((i) => encoding.ids[i]);
    return {
      label: ids.length === 1 ? tokenizer.pieces[ids[0]] : tokenizer.join(ids),
      positions,
      side,
      special,
    };
  });
}

/** Attention of a head between units: summed over the tokens that are looked at, averaged over those that look (Clark et al., 2019,
 *  section 4.1). *read* gives the numbers of a token. */
export const between = (read, rows, columns) =>
  rows.map((unit) => {
    const numbers =
      unit.positions.length === 1 ? read(unit.positions[0]) : meanRow(unit.positions.map(read));
    return Float32Array.from(columns, ({ positions }) =>
      positions.reduce((total, i) => total + numbers[i], 0),
    );
  });

/** Rows scaled to sum to 1; those of zeros stay. */
export const rescale = (matrix) =>
  matrix.map((row) => {
    const total = sum(row);
    return total ? row.map((one) => one / total) : row;
  });

/** The mean of the rows *which* of a matrix. */
export const meanOf = (matrix, which) =>
  which.length === 1 ? matrix[which[0]] : meanRow(which.map((i) => matrix[i]));

/** The positions of all tokens but [CLS] and [SEP]. */
export function ordinaryTokens(
  encoding,
  refusal = "The text has only [CLS] and [SEP], and these are left out. Type a sentence.",
) {
  const kept = range(encoding.ids.length).filter(
    (i) => !encoding.special[i] || encoding.masked.includes(i),
  );
  if (!kept.length) throw new Refusal(refusal);
  return kept;
}

/** [side, position in the text alone] -> the position in the pair, for tokens that cover the same characters. */
export function placesInPair(pair, alone) {
  const find = (side, { start }) =>
    pair.spans.findIndex((span) => span?.side === side && span.start === start);
  return alone.map(({ spans }, side) => spans.map((span) => (span ? find(side, span) : -1)));
}
