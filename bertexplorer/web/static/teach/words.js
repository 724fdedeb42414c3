// @ts-check
// Words of sentences: those that are counted as a baseline, and those that are hidden in turn. The package computes the same
// (bertexplorer/teaching/words.py); both are held to tests/cases/teaching.json.

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;

/** The words of *sentence*: runs of letters and digits, which apostrophes and hyphens may join. *start*, *end*: places in the string.
 *  @param {string} sentence */
export const words = (sentence) =>
  [...sentence.matchAll(WORD)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));

/** How often each word occurs in each sentence, in lower case, each row scaled to length 1.
 *  @param {string[]} sentences */
export function wordVectors(sentences) {
  const read = sentences.map((sentence) => words(sentence).map(({ text }) => text.toLowerCase())),
    places = new Map();
  for (const word of read.flat()) if (!places.has(word)) places.set(word, places.size);
  return read.map((found) => {
    const counts = new Float64Array(Math.max(1, places.size));
    for (const word of found) counts[places.get(word)] += 1;
    const length = Math.hypot(...counts) || 1;
    return counts.map((count) => count / length);
  });
}

/** What two sentences share that are the same but for case and spaces.
 *  @param {string} sentence */
export const sameSentence = (sentence) =>
  sentence.toLowerCase().split(/\s+/u).filter(Boolean).join(" ");
