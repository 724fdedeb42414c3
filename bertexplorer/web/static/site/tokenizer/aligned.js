// A text that rules change while each character remembers where it came from. Characters are code points.

/** White space as the Rust language has it. */
export const WHITE_SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;

export class Aligned {
  /** *chars*: the text as it is now. Character i stands for from[i] up to, but not including, to[i] of the original,
   *  which begins at *origin*: above 0 for a part of a text. */
  constructor(chars, from, to, origin = 0) {
    this.chars = chars;
    this.from = from;
    this.to = to;
    this.origin = origin;
  }

  static of(text) {
    const chars = [...text];
    return new Aligned(
      chars,
      chars.map((_, i) => i),
      chars.map((_, i) => i + 1),
    );
  }

  get length() {
    return this.chars.length;
  }

  toString() {
    return this.chars.join("");
  }

  /** The part from character *start* up to, but not including, *end*. */
  slice(start, end) {
    return new Aligned(
      this.chars.slice(start, end),
      this.from.slice(start, end),
      this.to.slice(start, end),
      start < end ? this.from[start] : this.origin,
    );
  }

  /** The text with other characters: [character, change] for each. A change of 0 replaces the next one, −n replaces it and removes the
   *  n after it, 1 inserts one that stands for the same as the one before. *removed*: how many are dropped at the beginning. */
  transform(changes, removed = 0) {
    const out = new Aligned([], [], [], this.origin);
    let at = removed;
    for (const [char, change] of changes) {
      const source = change > 0 ? at - 1 : at;
      out.chars.push(char);
      out.from.push(source < 0 ? this.origin : this.from[source]);
      out.to.push(source < 0 ? this.origin : this.to[source]);
      if (change <= 0) at += 1 - change;
    }
    return out;
  }

  /** Each character replaced by those of *change(character)*. */
  map(change) {
    return this.transform(
      this.chars.flatMap((char) => [...change(char)].map((one, i) => [one, Number(i > 0)])),
    );
  }

  filter(keep) {
    const places = this.chars.flatMap((char, i) => (keep(char, i) ? [i] : []));
    const pick = (values) => places.map((i) => values[i]);
    return new Aligned(pick(this.chars), pick(this.from), pick(this.to), this.origin);
  }

  /** The text with *words* before it; nothing before an empty text. */
  prepend(words) {
    if (!this.length) return this;
    const added = [...words],
      before = (value) => added.map(() => value);
    return new Aligned(
      [...added, ...this.chars],
      [...before(this.from[0]), ...this.from],
      [...before(this.to[0]), ...this.to],
      this.origin,
    );
  }

  /** The text in parts, matches of *pattern* and what is between them: {start, end, match}. */
  parts(pattern) {
    const text = this.toString(),
      found = [];
    let at = 0,
      unit = 0; // characters and code units up to here
    const until = (target) => {
      for (; unit < target; at += 1) unit += this.chars[at].length;
      return at;
    };
    let last = 0;
    for (const match of text.matchAll(pattern)) {
      const start = until(match.index),
        end = until(match.index + match[0].length);
      if (last < start) found.push({ start: last, end: start, match: false });
      if (start < end) found.push({ start, end, match: true });
      last = end;
    }
    if (last < this.length) found.push({ start: last, end: this.length, match: false });
    return found;
  }

  /** The text with *words* in place of each match of *pattern*. They stand for the last character of the match. */
  replace(pattern, words) {
    const parts = this.parts(pattern);
    if (!parts.some((part) => part.match)) return this;
    const out = new Aligned([], [], [], this.origin);
    const put = (char, source) => {
      out.chars.push(char);
      out.from.push(this.from[source]);
      out.to.push(this.to[source]);
    };
    for (const { start, end, match } of parts) {
      if (match) for (const char of words) put(char, end - 1);
      else for (let i = start; i < end; i += 1) put(this.chars[i], i);
    }
    return out;
  }
}
