// WordPiece: the longest pieces of the vocabulary, from the left (Wu et al., 2016).

export class WordPiece {
  /** *ids*: piece -> id; *model*: that part of tokenizer.json. */
  constructor(ids, { unk_token, continuing_subword_prefix, max_input_chars_per_word }) {
    this.ids = ids;
    this.unknown = ids.get(unk_token);
    this.continuation = continuing_subword_prefix;
    this.longest = max_input_chars_per_word;
  }

  /** The pieces of a word, a list of characters: {id, start, end}. The unknown token for a word that has none. */
  pieces(chars) {
    const whole = [{ id: this.unknown, start: 0, end: chars.length }];
    if (chars.length > this.longest) return whole;
    const pieces = [];
    for (let start = 0; start < chars.length;) {
      let end = chars.length,
        id;
      for (; end > start; end -= 1) {
        const letters = chars.slice(start, end).join("");
        id = this.ids.get(start ? this.continuation + letters : letters);
        if (id !== undefined) break;
      }
      if (id === undefined) return whole;
      pieces.push({ id, start, end });
      start = end;
    }
    return pieces;
  }
}
