// Occurrences of a word in the text and in other sentences, and the positions of their pieces.
import { parseWords } from "./masks.js";
import { sum } from "../numbers.js";
import { piecePositions, spanOf, wordsIn } from "./vectors.js";
import { Refusal } from "./refusal.js";

const MAX_SENTENCES = 100,
  MAX_WORD = 200;
const LABEL =
  /^\s*([\p{L}\p{N}_][\p{L}\p{N}_-]{0,19}(?: [\p{L}\p{N}_][\p{L}\p{N}_-]{0,19})?)\s*:\s+(?=\S)/u;
const JOINS = /^[\p{L}\p{N}_]$/u,
  SPACELESS = "\u3040"; // from this character on, most scripts put no space between words
const COMMON = new Set(
  `
  the and for was were are has had have his her its their our your with from that this these those into than then them they she him you who which what
  when where while will would could should can may might been being but not nor because there here very too also just only over under about after before
  every all any some one two
`
    .trim()
    .split(/\s+/),
);

/** {words, occurrences, encodings, lacking, beyond}: every occurrence of *words* in the text and in *sentences*. Without words, the
 *  picked ones; without these, the content word that occurs in the most sentences. If fewer than *least* occur in the text alone,
 *  the built-in sentences that contain the word are added. encodings[0] is that of the text. */
export function findOccurrences(bert, text, { word, sentences, sense = "" }, least = 1) {
  // 1. The text and the sentences. The built-in ones are searched where a person gave none.
  const { tokenizer } = bert;
  const source = (content, label, kind) => ({ encoding: tokenizer.encode(content), label, kind });
  const sources = [source(text, sense.trim().split(/\s+/).join(" "), "text")];
  for (const { label, sentence } of parseSentences(sentences))
    sources.push(source({ first: sentence }, label, "own"));
  const samples = bert.sentences.map(([, sentence]) => source({ first: sentence }, "", "built-in"));
  const withSamples = least > 1 && sources.length === 1;

  // 2. The words: typed, picked, or chosen.
  let words = parseWords(word);
  if (!words.length) words = pickedWords(sources[0].encoding);
  const longest = Math.max(...words.map((one) => [...one].length));
  if (longest > MAX_WORD)
    throw new Refusal(
      `A word of ${longest.toLocaleString("en")} characters was given; the limit is ${MAX_WORD}.`,
    );
  if (!words.length)
    words = [contentWord(tokenizer, withSamples ? [...sources, ...samples] : sources)];

  // 3. Where they occur.
  const { spans, lacking, beyond } = gather(tokenizer, sources, words);
  if (withSamples && spans.length < least) {
    for (const [i, span] of gather(tokenizer, samples, words).spans)
      spans.push([sources.length + i, span]);
    sources.push(...samples);
  }
  if (spans.length < least) {
    let searched = "the text";
    if (withSamples) searched = "the text or the built-in sentences";
    if (sentences.trim()) searched = `any of the ${sources.length} sentences`;
    throw new Refusal(tooFew(words, spans.length, beyond, least, searched));
  }
  const matching = [...new Set([0, ...spans.map(([i]) => i)])];
  return {
    words,
    occurrences: spans.map(([i, span]) =>
      describe(tokenizer, sources[i], span, matching.indexOf(i)),
    ),
    encodings: matching.map((i) => sources[i].encoding),
    lacking,
    beyond,
  };
}

/** {label, sentence} of each line, or each part between |. */
export function parseSentences(sentences) {
  const parts = sentences
    .split(/[|\n\r]+/)
    .map((part) => part.trim())
    .filter(Boolean);
  if (parts.length > MAX_SENTENCES) {
    throw new Refusal(
      `${parts.length.toLocaleString("en")} sentences were given; the limit is ${MAX_SENTENCES}. Remove some.`,
    );
  }
  return parts.map((part) => {
    const [whole = "", label = ""] = LABEL.exec(part) ?? [];
    return { label, sentence: part.slice(whole.length) };
  });
}

/** The words that have a picked piece, each as a whole. */
function pickedWords({ picked, spans, texts, tokens }) {
  const words = picked.flatMap((at) =>
    spans[at]?.end > spans[at]?.start ? [wholeWord(texts[spans[at].side], spans[at])] : [],
  );
  if (picked.length && !words.length)
    throw new Refusal(
      `${tokens[picked[0]]} is picked, but it is not a word of the text. Pick a word.`,
    );
  return [...new Set(words)];
}

const joins = (char) => JOINS.test(char) && char < SPACELESS;

/** The word that the piece at a span belongs to, or the piece itself if no letters surround it. */
function wholeWord(characters, { start, end }) {
  let from = start,
    to = end;
  if (joins(characters[from])) while (from && joins(characters[from - 1])) from -= 1;
  if (joins(characters[to - 1])) while (to < characters.length && joins(characters[to])) to += 1;
  return characters.slice(from, to).join("").trim();
}

/** What matches *word* as a whole word; case does not matter if the tokenizer lower-cases. */
function pattern({ lowercase }, word) {
  const characters = [...word];
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const before = joins(characters[0]) ? "(?<![\\p{L}\\p{N}_])" : "";
  const after = joins(characters.at(-1)) ? "(?![\\p{L}\\p{N}_])" : "";
  return new RegExp(before + escaped + after, lowercase ? "giu" : "gu");
}

/** The texts of *encoding* with spaces in place of typed masks, which are no word. */
const withoutMasks = ({ mask }, { texts }) =>
  texts.map((characters) => characters.join("").replaceAll(mask, " ".repeat(mask.length)));

/** The word of the text that occurs in the most sources; among equals the most frequent, then the longest, then the first. */
function contentWord(tokenizer, sources) {
  // 1. The words of the text: those that say something, else those of its first part.
  const texts = sources.map(({ encoding }) => withoutMasks(tokenizer, encoding));
  const all = texts[0].map((text) => wordsIn(text).map((one) => one.text));
  const saysSomething = (word) =>
    [...word].length > 2 && /^\p{L}+$/u.test(word) && !COMMON.has(word.toLowerCase());
  const content = all.flat().filter(saysSomething);
  const candidates = [...new Set(content.length ? content : all[0])];
  if (!candidates.length && sources[0].encoding.texts[0].join("").includes(tokenizer.mask))
    return tokenizer.mask;
  if (!candidates.length) throw new Refusal("The text has no word. Type a sentence.");
  // 2. The first of those that rank highest.
  const ranked = candidates.map((word) => {
    const wanted = pattern(tokenizer, word);
    const counts = texts.map((sides) => sum(sides.map((side) => side.match(wanted)?.length ?? 0)));
    return { word, order: [counts.filter(Boolean).length, sum(counts), [...word].length] };
  });
  return ranked.reduce((best, one) => {
    const at = one.order.findIndex((value, i) => value !== best.order[i]);
    return at >= 0 && one.order[at] > best.order[at] ? one : best;
  }).word;
}

/** [source, span] of every occurrence that was read, and how many sources have none, how many occurrences were not read. */
function gather(tokenizer, sources, words) {
  const patterns = words.map((word) => pattern(tokenizer, word));
  const spans = [];
  let lacking = 0;
  let beyond = 0;
  sources.forEach(({ encoding }, i) => {
    const texts = words.includes(tokenizer.mask)
      ? encoding.texts.map((characters) => characters.join(""))
      : withoutMasks(tokenizer, encoding);
    const matches = [];
    texts.forEach((text, side) => {
      for (const wanted of patterns)
        for (const match of text.matchAll(wanted)) matches.push(spanOf(text, match, side));
    });
    matches.sort((a, b) => a.side - b.side || a.start - b.start || a.end - b.end);
    const unique = matches.filter(
      (one, at) => !at || ["side", "start", "end"].some((key) => one[key] !== matches[at - 1][key]),
    );
    const read = unique.filter((span) => piecePositions(encoding, span).length);
    spans.push(...read.map((span) => [i, span]));
    lacking += Number(!unique.length);
    beyond += unique.length - read.length;
  });
  return { spans, lacking, beyond };
}

/** The occurrence at a span of a source, whose encoding has this *index* among those that are returned. */
function describe({ maskId }, { encoding, label, kind }, { side, start, end }, index) {
  const characters = encoding.texts[side];
  const positions = piecePositions(encoding, { side, start, end });
  return {
    word: characters.slice(start, end).join(""),
    sentence: characters.join(""),
    start,
    end,
    label,
    kind,
    hidden: positions.some((at) => encoding.ids[at] === maskId),
    index,
    positions,
  };
}

function tooFew(words, number, beyond, least, searched) {
  const quoted = words
    .slice(0, 4)
    .map((word) => `'${word}'`.slice(0, 60))
    .join(" or ");
  const cut = beyond ? ` (${beyond} more beyond the last token that is read)` : "";
  if (!number)
    return `${quoted} does not occur in ${searched}${cut}. Choose a word that does, or add sentences that contain it.`;
  return `${quoted} occurs once${cut}; at least ${least} occurrences are needed to compare. Add sentences that contain it under Options, one per line or separated by |.`;
}

/** The sentence of an occurrence, cut to about *length* characters, with the word in the middle. */
export function excerpt({ sentence, start, end }, length) {
  const characters = [...sentence];
  if (characters.length <= length) return sentence;
  let first = Math.max(
    0,
    Math.min(start - Math.floor((length - (end - start)) / 2), characters.length - length),
  );
  let last = Math.min(characters.length, first + length);
  // not in the middle of a word, if that leaves one beside the part
  const before = characters.slice(0, start - 1).indexOf(" ", first),
    after = characters.slice(0, last).lastIndexOf(" ");
  if (first && before >= 0) first = before + 1;
  if (last < characters.length && after > end) last = after;
  const part = characters.slice(first, last).join("").trim();
  return `${first ? "…" : ""}${part}${last < characters.length ? "…" : ""}`;
}

export const TONES = ["blue", "orange", "green", "pink", "ochre", "sky", "brown"]; // of senses or occurrences, in their order

export const notDrawn = (occurrences) =>
  occurrences ? [`${occurrences} more occurrences are not drawn`] : [];

/** [a sentence on hidden occurrences, one on those that were not read]; "" where there are none. */
export const remarksOn = ({ occurrences, beyond }) => [
  occurrences.some((one) => one.hidden)
    ? "Where the word is hidden its vector is that of [MASK]."
    : "",
  beyond ? `${beyond} ${beyond === 1 ? "comes" : "come"} after the last token that is read.` : "",
];
