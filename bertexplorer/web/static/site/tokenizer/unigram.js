// Unigram: the pieces whose scores, log-probabilities, have the largest sum (Kudo, 2018). Viterbi's search finds them.

const PENALTY = 10; // an unknown character counts as much less than the rarest piece
const encoder = new TextEncoder();

export class Unigram {
  /** *ids*: piece -> id; *model*: that part of tokenizer.json, with the scores by id. */
  constructor(ids, { scores, unk_id, byte_fallback }) {
    this.ids = ids;
    this.scores = scores;
    this.unknown = unk_id;
    this.unknownScore = scores.reduce((a, b) => Math.min(a, b), Infinity) - PENALTY;
    this.bytes = byte_fallback;
    this.lengths = new Map(); // the first character of a piece -> the lengths of those that begin with it, in code units, ascending
    for (const piece of ids.keys()) {
      if (!piece) continue;
      const first = String.fromCodePoint(piece.codePointAt(0));
      if (!this.lengths.has(first)) this.lengths.set(first, new Set());
      this.lengths.get(first).add(piece.length);
    }
    for (const [first, lengths] of this.lengths)
      this.lengths.set(
        first,
        [...lengths].sort((a, b) => a - b),
      );
  }

  /** The pieces of a word, a list of characters: {id, start, end}. */
  pieces(chars) {
    const found = [];
    for (const { id, start, end } of this.best(chars)) {
      const fallback = id === this.unknown && this.bytes && this.asBytes(chars.slice(start, end));
      if (fallback) found.push(...fallback.map((one) => ({ id: one, start, end })));
      else found.push({ id, start, end });
    }
    return found;
  }

  /** The best pieces; neighbouring unknown characters are one. */
  best(chars) {
    const text = chars.join(""),
      place = new Map([[text.length, chars.length]]); // code unit -> character
    let unit = 0;
    chars.forEach((char, i) => {
      place.set(unit, i);
      unit += char.length;
    });
    const sums = new Float64Array(chars.length + 1),
      starts = new Int32Array(chars.length + 1).fill(-1),
      ids = new Int32Array(chars.length + 1);
    const offer = (start, end, id, score) => {
      const sum = score + sums[start];
      if (starts[end] >= 0 && sum <= sums[end]) return;
      sums[end] = sum;
      starts[end] = start;
      ids[end] = id;
    };
    unit = 0;
    chars.forEach((char, start) => {
      let single = false;
      for (const length of this.lengths.get(char) ?? []) {
        if (unit + length > text.length) break;
        const id = this.ids.get(text.slice(unit, unit + length));
        if (id === undefined) continue;
        offer(start, place.get(unit + length), id, this.scores[id]);
        single ||= length === char.length;
      }
      if (!single) offer(start, start + 1, this.unknown, this.unknownScore);
      unit += char.length;
    });
    const pieces = [];
    for (let end = chars.length; end > 0; end = starts[end]) {
      const id = ids[end],
        start = starts[end];
      if (id === this.unknown && pieces.at(-1)?.id === id) pieces.at(-1).start = start;
      else pieces.push({ id, start, end });
    }
    return pieces.reverse();
  }

  /** The ids of the bytes of *chars*; undefined if the vocabulary lacks one. */
  asBytes(chars) {
    const ids = [...encoder.encode(chars.join(""))].map((byte) =>
      this.ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`),
    );
    return ids.includes(undefined) ? undefined : ids;
  }
}
