// Whether a text falls into pieces of a few letters, as one in a language that the vocabulary lacks does. The numbers and their reasons
// are those of model/small_pieces.py.
const MUCH = 0.4; // of the letters
const SMALL = 3; // letters of a piece
const WORDS = 2; // that fall apart
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
  // 1. The pieces of the text, and how many each word has.
  const { spans, words, originalIds, special } = encoding;
  const text = encoding.texts[side];
  const isUnknown = (i) => originalIds[i] === tokenizer.unknownId;
  const isRead = (i) => isUnknown(i) || (!special[i] && originalIds[i] !== tokenizer.maskId);
  const places = [...spans.keys()].filter((i) => spans[i]?.side === side && isRead(i));
  const sizes = new Map();
  for (const i of places) sizes.set(words[i], (sizes.get(words[i]) ?? 0) + 1);

  // 2. The letters of small pieces. A letter counts once, also where several pieces stand for it.
  const isCapital = new Map(); // word -> whether it begins with a capital, as names do
  const broken = new Set(); // words that fall apart
  let letters = 0;
  let small = 0;
  let asUnknown = 0;
  let end = 0; // of what has been counted
  for (const [number, i] of places.entries()) {
    const word = words[i];
    const span = spans[i];
    const next = spans[places[number + 1]];
    const isDivided = next !== undefined && next.start < span.end;
    const fresh = text.slice(Math.max(span.start, end), span.end).filter((one) => LETTER.test(one));
    if (!isCapital.has(word)) isCapital.set(word, CAPITAL.test(text[span.start] ?? ""));
    end = Math.max(end, span.end);
    if (!fresh.length) continue;
    letters += fresh.length;
    const limit = largestSmallPiece(fresh);
    const isSmall = sizes.get(word) > 1 && fresh.length <= limit;
    if (!isUnknown(i) && !isDivided && !isSmall) continue;
    small += fresh.length;
    if (isUnknown(i)) asUnknown += fresh.length;
    if (!isCapital.get(word)) broken.add(`${word} ${limit < SMALL ? i : -1}`);
  }
  if (small < MUCH * letters || broken.size < WORDS) return "";
  return 2 * asUnknown > small
    ? `as ${tokenizer.special.unk}`
    : "in pieces of one to three letters";
}

/** A sentence or two for people if a text falls apart; "" if none does. */
export function languageNote(encoding, tokenizer) {
  const [first, second] = [0, 1].map((side) => whatItFallsInto(encoding, side, tokenizer));
  if ((!first && !second) || !tokenizer.has_words) return "";
  const isPair = encoding.texts[1].length > 0;
  let name = "this text";
  if (isPair) name = first ? "the first text" : "the second text";
  if (isPair && first && second) name = "both texts";
  const what = first || second;
  const reason = tokenizer.language
    ? `This checkpoint was trained on ${tokenizer.language}; in another language, its answers mean little.`
    : "The vocabulary of this checkpoint has few of these words, so its answers here mean little.";
  return `Much of ${name} is read ${what}. ${reason}`;
}
