// What is said about what was learned, and its figures.
import { argmax } from "../numbers.js";
import { counted, percent, signed } from "../site/wording.js";
import { nameOf } from "./boxes.js";
import { interval } from "./evaluation.js";

/** @import { Figure } from "../types.d.ts" */

export const FEWEST_TO_SAY = 3; // different sentences in each box
export const TONES = /** @type {const} */ (["blue", "orange", "green", "pink", "ochre", "brown"]); // of the boxes

const figure = (...marks) =>
  /** @type {Figure} */ ({ marks: 1, panels: marks.map((mark) => ({ marks: [mark] })) });

/** How many of the rows land in their own box, {right, count}, each different sentence once. *found*: the probabilities of each. */
export function score({ labels, groups }, found) {
  const once = groups.flatMap((group, i) => (group === i ? [i] : []));
  return {
    right: once.filter((i) => argmax(found[i]) === labels[i]).length,
    count: once.length,
  };
}

/** Why the boxes are too few to say how good the head is; "" if they suffice.
 *  @param {{labels: number[], groups: number[], boxes: number}} rows @param {{name: string}[]} boxes */
export function tooFew({ labels, groups }, boxes) {
  const different = boxes.map((_, box) => new Set(groups.filter((_, i) => labels[i] === box)).size);
  const least = Math.min(...different.filter(Boolean));
  if (different.filter(Boolean).length < 2) return "Put sentences into two boxes, one a line.";
  if (least < FEWEST_TO_SAY)
    return `Too few to say how good it is: give each box ${FEWEST_TO_SAY} different sentences or more. You can already try it.`;
  return "";
}

/** How good the head is on sentences that were left out, in words. *words*: the score of counted words; *largest*: sentences of the
 *  largest box. */
export function said({ right, count }, words, largest) {
  const { low, high } = interval(right, count);
  const sentences = [
    `Tested on sentences that it had not learned, ${right} of ${count} land in their own box: ${percent(right / count)}. Of all such sentences, ${percent(low)} to ${percent(high)} would (95 % interval).`,
    `Counting words, without BERT, gets ${words.right}; always naming the largest box gets ${largest}.`,
  ];
  if (low <= largest / count)
    sentences.push("That is no more than chance may give. More sentences would tell.");
  else if (right <= words.right) sentences.push("The words alone tell these boxes apart as well.");
  return sentences.join(" ");
}

/** Bars of the scores, 0 to 1, with their intervals. */
export const scoreFigure = (score, words, largest) =>
  figure({
    kind: "bars",
    low: 0,
    high: 1,
    unit: "share",
    bars: [
      ["BERT and your boxes", score, "blue"],
      ["counting words", words, "grey"],
      ["the largest box", { right: largest, count: score.count }, "grey"],
    ].map(([label, { right, count }, tone], i) => ({
      label,
      value: right / count,
      text: `${right} of ${count}`,
      tone,
      ...(i < 2 ? interval(right, count) : {}),
    })),
  });

/** Bars of the probability of each box, 0 to 1. */
export const shareFigure = (boxes, shares) =>
  figure({
    kind: "bars",
    low: 0,
    high: 1,
    bars: boxes.map(({ name }, box) => ({
      label: nameOf(name, box),
      value: shares[box],
      text: percent(shares[box]),
      tone: TONES[box],
      bold: box === argmax(shares),
    })),
  });

/** A change of a probability, in points of per cent. */
function points(change) {
  const digits = Math.abs(change) < 0.0995 ? 1 : 0;
  return `${signed(100 * change, digits)} points`;
}

/** Bars of what each word does for a *box*, -1 to 1. *words*: [{text, change}], the probability without it less that with it. */
export const wordFigure = (words, box) =>
  figure({
    kind: "bars",
    low: -1,
    high: 1,
    bars: words.map(({ text, change }) => ({
      label: text,
      value: -change,
      text: points(-change),
      tone: change <= 0 ? TONES[box] : "grey",
    })),
  });

/** The sentences in the plane, coloured by box, below the names of the boxes. *places*: [x, y] of each. */
export function mapFigure(boxes, rows, places) {
  const points = {
    kind: "points",
    square: true,
    x: places.map(([x]) => x),
    y: places.map(([, y]) => y),
    tones: rows.labels.map((box) => TONES[box]),
    hover: rows.sentences,
  };
  const names = boxes.flatMap(({ name }, box) => [
    { text: box ? " · " : "" },
    { text: "●", tone: TONES[box] },
    { text: ` ${nameOf(name, box)}` },
  ]);
  return /** @type {Figure} */ ({
    marks: 1,
    panels: [{ marks: [points, { kind: "text", lines: [names] }] }],
  });
}

/** What is said of a tried sentence. */
export const answerSaid = (boxes, shares) => {
  const best = argmax(shares);
  return `${percent(shares[best])} “${nameOf(boxes[best].name, best)}”.`;
};

export const fooledSaid = (count) =>
  count ? `${counted(count, "sentence")} fooled it so far.` : "Nothing has fooled it yet.";
