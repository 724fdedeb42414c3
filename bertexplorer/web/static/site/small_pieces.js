// Whether a text falls into pieces of a few letters, as one in a language that the vocabulary lacks does. The numbers and their reasons
// are those of model/small_pieces.py.
const MUCH = 0.4,
  SMALL = 3,
  WORDS = 2; // of the letters; letters of a piece; words that fall apart
const SIGNS = /[\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3\u{20000}-\u{3ffff}]/u;
const SYLLABLES = /[\u3041-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/u;
const LETTER = /\p{L}/u,
  CAPITAL = /\p{Uppercase}/u;

/** How many letters a part of a word may have to be small, in their script. */
const largestSmallPiece = (letters) => {
  if (letters.some((one) => SIGNS.test(one))) return 0;
  return letters.some((one) => SYLLABLES.test(one)) ? 1 : SMALL;
};

/** What much of one text is read as; "" if whole words and larger pieces prevail. *tokenizer*: has `maskId` and `unknownId`. */
function whatItFallsInto(encoding, side, tokenizer) {
  const { spans, words, originalIds } = encoding,
    text = encoding.texts[side],
    sizes = new Map(),
    capital = new Map(),
    broken = new Set();
  const counts = (i) =>
    originalIds[i] === tokenizer.unknownId ||
    (!encoding.special[i] && originalIds[i] !== tokenizer.maskId);
  const places = [...spans.keys()].filter((i) => spans[i]?.side === side && counts(i));
  for (const i of places) sizes.set(words[i], (sizes.get(words[i]) ?? 0) + 1);
  let letters = 0,
    small = 0,
    asUnknown = 0,
    end = 0;
  for (const [number, i] of places.entries()) {
    const span = spans[i],
      word = words[i],
      after = spans[places[number + 1]];
    const divided = after !== undefined && after.start < span.end;
    const fresh = text.slice(Math.max(span.start, end), span.end).filter((one) => LETTER.test(one));
    if (!capital.has(word)) capital.set(word, CAPITAL.test(text[span.start] ?? ""));
    end = Math.max(end, span.end);
    if (!fresh.length) continue;
    letters += fresh.length;
    const limit = largestSmallPiece(fresh),
      missing = originalIds[i] === tokenizer.unknownId;
    if (missing || divided || (sizes.get(word) > 1 && fresh.length <= limit)) {
      small += fresh.length;
      if (missing) asUnknown += fresh.length;
      if (!capital.get(word)) broken.add(`${word} ${limit < SMALL ? i : -1}`);
    }
  }
  if (small < MUCH * letters || broken.size < WORDS) return "";
  return 2 * asUnknown > small
    ? `as ${tokenizer.special.unk}`
    : "in pieces of one to three letters";
}

/** A sentence or two for people if a text falls apart; "" if none does. */
export function languageNote(encoding, tokenizer) {
  const found = [0, 1]
    .map((side) => [side, whatItFallsInto(encoding, side, tokenizer)])
    .filter(([, what]) => what);
  if (!found.length || !tokenizer.has_words) return "";
  const [[side, what]] = found,
    pair = encoding.texts[1].length > 0;
  const name = !pair
    ? "this text"
    : found.length > 1
      ? "both texts"
      : `the ${["first", "second"][side]} text`;
  const reason = tokenizer.language
    ? `This checkpoint was trained on ${tokenizer.language}; in another language, its answers mean little.`
    : "The vocabulary of this checkpoint has few of these words, so its answers here mean little.";
  return `Much of ${name} is read ${what}. ${reason}`;
}
