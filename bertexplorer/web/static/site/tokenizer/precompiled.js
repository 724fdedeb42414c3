// SentencePiece's own normalisation: a table of replacements, stored as a double array (Aoe, 1989). It replaces a short cluster of
// characters as a whole, and by its shortest beginning that the table has, as SentencePiece does.

const encoder = new TextEncoder();
const LONGEST = 6; // bytes of a cluster that is replaced as a whole are fewer
const MARKS = "\u0300"; // no character before this one extends another
const LEAD = /[\u1100-\u115f\ua960-\ua97c]/u,
  VOWEL = /[\u1160-\u11a7\ud7b0-\ud7c6]/u,
  TAIL = /[\u11a8-\u11ff\ud7cb-\ud7fb]/u,
  SYLLABLE = /[\uac00-\ud7a3]/u;
const PICTURE = /\p{Extended_Pictographic}/u;

export class Precompiled {
  /** *charsmap*: in base 64: the size of the array, the array, and the replacements, each with a zero behind it. *classes*: the
   *  characters that extend a cluster, that begin one, and that stand alone. */
  constructor(charsmap, { extend, prepend, breaks }) {
    const bytes = Uint8Array.from(atob(charsmap), (char) => char.charCodeAt(0)),
      size = new DataView(bytes.buffer).getUint32(0, true);
    this.units = new Uint32Array(bytes.slice(4, 4 + size).buffer);
    this.words = bytes.slice(4 + size);
    this.classes = { extend, prepend, breaks };
    this.found = new Map();
  }

  apply(text) {
    const changes = [];
    const replace = (count, words) => {
      if (words !== null) put(changes, count, words);
      return words !== null;
    };
    for (const cluster of clusters(text.chars, this.classes)) {
      const whole = cluster.join(""),
        short = cluster.length > 1 && encoder.encode(whole).length < LONGEST;
      if (short && replace(cluster.length, this.replacement(whole))) continue;
      for (const char of cluster) if (!replace(1, this.replacement(char))) changes.push([char, 0]);
    }
    return text.transform(changes);
  }

  /** What replaces *words*; null if nothing does. */
  replacement(words) {
    if (!this.found.has(words)) this.found.set(words, this.look(words));
    return this.found.get(words);
  }

  look(words) {
    let at = 0,
      unit = this.units[0];
    at ^= offset(unit);
    for (const byte of encoder.encode(words)) {
      if (!byte) return null;
      at ^= byte;
      unit = this.units[at];
      if (unit === undefined || (unit & 0x800000ff) !== byte) return null;
      at ^= offset(unit);
      if ((unit >>> 8) & 1) {
        const start = this.units[at] & 0x7fffffff,
          end = this.words.indexOf(0, start);
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
          this.words.subarray(start, end < 0 ? undefined : end),
        );
      }
    }
    return null;
  }
}

const offset = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);

/** Add to *changes* that *words* stand in place of *count* characters. If they are fewer, the last change so far removes the rest. */
function put(changes, count, words) {
  const chars = [...words],
    more = chars.length - count;
  chars.forEach((char, i) => changes.push([char, Number(i >= chars.length - more)]));
  if (more < 0 && changes.length) changes.at(-1)[1] += more;
}

/** *chars* in clusters that a reader takes for one character (Unicode Standard Annex 29), as far as short ones need it: flags, and the
 *  conjuncts of India, are longer. */
function clusters(chars, classes) {
  const out = [];
  chars.forEach((char, i) => {
    if (i && joined(chars, i, classes)) out.at(-1).push(char);
    else out.push([char]);
  });
  return out;
}

/** Whether character i belongs to the cluster of the one before. */
function joined(chars, i, { extend, prepend, breaks }) {
  const before = chars[i - 1],
    char = chars[i];
  if (before === "\r" && char === "\n") return true;
  if (before < MARKS && char < MARKS) return false;
  if (breaks.test(before) || breaks.test(char)) return false;
  if (extend.test(char) || prepend.test(before)) return true;
  return inSyllable(before, char) || inEmoji(chars, i, extend);
}

/** Whether two parts of a Korean syllable follow each other. */
function inSyllable(before, char) {
  const whole = SYLLABLE.test(before),
    open = whole && (before.charCodeAt(0) - 0xac00) % 28 === 0; // without a consonant at its end
  if (LEAD.test(before)) return LEAD.test(char) || VOWEL.test(char) || SYLLABLE.test(char);
  if (VOWEL.test(before) || open) return VOWEL.test(char) || TAIL.test(char);
  return (whole || TAIL.test(before)) && TAIL.test(char);
}

/** Whether a picture is joined to one before. */
function inEmoji(chars, i, extend) {
  if (chars[i - 1] !== "\u200d" || !PICTURE.test(chars[i])) return false;
  let at = i - 2;
  while (at >= 0 && extend.test(chars[at])) at -= 1;
  return at >= 0 && PICTURE.test(chars[at]);
}
