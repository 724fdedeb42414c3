// A tokenizer.json, followed step by step: added tokens are found, the rest is normalised, split into words and cut into pieces. Each
// piece knows its characters in the text and its word.
import { AddedTokens } from "./added.js";
import { Aligned, WHITE_SPACE } from "./aligned.js";
import { BPE } from "./bpe.js";
import { characters } from "./characters.js";
import { decoder } from "./decode.js";
import { normaliser } from "./normalise.js";
import { splitter } from "./split.js";
import { Unigram } from "./unigram.js";
import { WordPiece } from "./wordpiece.js";

const MODELS = { BPE, Unigram, WordPiece };
const SPACE = "Ġ"; // of a vocabulary of bytes

export class Pipeline {
  /** *pieces*: the vocabulary by id; *rules*: the parts of tokenizer.json, as the site's builder writes them. */
  constructor(pieces, rules) {
    const classes = characters(rules.classes);
    this.vocabulary = pieces;
    this.normalise = normaliser(rules.normalizer, classes);
    this.words = splitter(rules.pre_tokenizer, classes);
    const outside = new Set(rules.outside), // ids that the model does not have
      ids = new Map(pieces.flatMap((piece, id) => (outside.has(id) ? [] : [[piece, id]])));
    this.model = new MODELS[rules.model.type](ids, rules.model);
    this.trims = rules.trims;
    this.decode = decoder(rules.decoder);
    const plain = rules.added.filter((one) => !one.normalized),
      others = rules.added.filter((one) => one.normalized);
    this.added = new AddedTokens(plain);
    this.addedNormalised = new AddedTokens(
      others.map((one) => ({ ...one, content: `${this.normalise(Aligned.of(one.content))}` })),
    );
  }

  /** The pieces of *text*: {id, start, end, word}. */
  pieces(text) {
    const out = [];
    let word = 0;
    for (const part of this.parts(Aligned.of(text))) {
      const { from, to } = part.text;
      const found =
        part.id === undefined
          ? this.model.pieces(part.text.chars)
          : [{ id: part.id, start: 0, end: part.text.length }];
      for (const { id, start, end } of found)
        out.push(this.trimmed({ id, start: from[start], end: to[end - 1], word }, !out.length));
      word += 1;
    }
    return out;
  }

  /** The ids of *text* as one word, without the mark of a space that the rules would put before it. */
  bare(text) {
    const { chars } = this.normalise(Aligned.of(text));
    return this.model.pieces(chars.map((char) => (char === " " ? "▁" : char))).map(({ id }) => id);
  }

  /** The words and added tokens of *text*: {text, id}, the id for added ones. */
  parts(text) {
    const out = [];
    for (const part of this.added.split(text)) {
      if (part.id !== undefined) out.push(part);
      else
        for (const inner of this.addedNormalised.split(this.normalise(part.text))) {
          if (inner.id !== undefined) out.push(inner);
          else out.push(...this.words(inner.text).map((one) => ({ text: one })));
        }
    }
    return out.filter((part) => part.text.length);
  }

  /** A piece without the spaces that its spelling has at its ends, if the post-processor says so. *first*: of a text. */
  trimmed(piece, first) {
    if (!this.trims) return piece;
    const chars = [...this.vocabulary[piece.id]];
    const isSpace = (char) => char === SPACE || WHITE_SPACE.test(char);
    let leading = chars.findIndex((char) => !isSpace(char)),
      trailing = chars.length - 1 - chars.findLastIndex((char) => !isSpace(char));
    if (leading < 0) leading = chars.length;
    if (leading === 1 && this.trims.add_prefix_space && (first || piece.start === 0)) leading = 0; // the one that was added
    let { start, end } = piece;
    start = Math.min(start + leading, end);
    if (trailing && end >= trailing) end = Math.max(end - trailing, start);
    return { ...piece, start, end };
  }
}
