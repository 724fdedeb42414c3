// Template: one sentence with alternatives, {doctor|nurse}, answered for every way to choose among them.
import { percent, quote } from "../../web/static/site/wording.js";
import { encodeMasked, parseWords, scoreWords } from "../../web/static/site/masks.js";
import { argmax, least, most, sum, topk } from "../../web/static/numbers.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure } from "../../web/static/types.d.ts" */

const MAX_FILLINGS = 64,
  SLOT = /\{([^{}|]*(?:\|[^{}|]*)+)\}/;

/** *text* with the first alternative of each slot, as the strip of tokens shows it. */
export function first(bert, text) {
  const { parts, slots } = split(bert, text);
  return {
    ...text,
    first: fill(
      parts,
      slots.map(([one]) => one),
    ),
    hidden: text.hidden.filter((span) => span.side),
    picked: [],
  };
}

/** The parts between the slots of *text*, and the alternatives of each slot. Hidden spans are masks. */
function split({ tokenizer }, text) {
  const source = [...tokenizer.prepare(text.first).text],
    seen = new Set();
  for (const { side, start, end } of [...text.hidden].sort((a, b) => b.start - a.start)) {
    if (side === 0 && !seen.has(`${start}-${end}`))
      source.splice(start, end - start, ...tokenizer.mask);
    seen.add(`${start}-${end}`);
  }
  const all = source.join("").split(SLOT),
    at = (odd) => all.filter((_, i) => i % 2 === odd);
  return {
    parts: at(0),
    slots: at(1).map((slot) => slot.split("|").map((choice) => choice.trim())),
  };
}

const fill = (parts, choices) => parts.map((part, i) => part + (choices[i] ?? "")).join("");

export async function run(bert, text, { words: asked, top }) {
  await bert.logProbs([]); // refuses if there is no head
  const { parts, slots } = split(bert, text);
  if (SLOT.test(text.second))
    throw new Refusal("The alternatives are in the second sentence. Write them in the first one.");
  if (!slots.length) {
    throw new Refusal(
      "The text has no alternatives. Write some in braces, such as: The {doctor|nurse} said that [MASK] is busy.",
    );
  }
  if (slots.reduce((count, slot) => count * slot.length, 1) > MAX_FILLINGS) {
    throw new Refusal(`The alternatives give more than ${MAX_FILLINGS} sentences. Remove some.`);
  }
  /** @type {string[][]} */
  let fillings = [[]];
  for (const slot of slots)
    fillings = fillings.flatMap((choices) => slot.map((choice) => [...choices, choice]));
  const texts = fillings.map((choices) => fill(parts, choices));
  const encodings = texts.map((one) =>
    encodeMasked(bert, {
      first: one,
      second: text.second,
      hidden: text.hidden.filter((span) => span.side),
    }),
  );
  const spots = encodings.map((one) => one.masked.slice(0, 1));
  const wanted = parseWords(asked);
  const found = (await bert.maskedLogProbs(encodings, spots)).flat();
  const pieceOf = (id) => bert.tokenizer.pieces[id];
  const result = { fillings, texts, answers: found.map((row) => pieceOf(argmax(row))) };
  if (!wanted.length) {
    const likely = topk(
      found[0].map((_, id) => sum(found.map((row) => Math.exp(row[id])))),
      top,
    );
    return {
      ...result,
      words: likely.map(pieceOf),
      probabilities: found.map((row) => likely.map((id) => Math.exp(row[id]))),
    };
  }
  const probabilities = [];
  for (const [i, encoding] of encodings.entries()) {
    const scores = new Map(
      (await scoreWords(bert, encoding, spots[i][0], found[i], wanted)).map((score) => [
        score.word,
        score.probability,
      ]),
    );
    probabilities.push(wanted.map((word) => scores.get(word)));
  }
  return { ...result, words: wanted, probabilities };
}

export function rows({ fillings, texts, words, probabilities }) {
  return fillings.flatMap((filling, i) =>
    words.map((word, j) => ({
      filling: filling.join(" / "),
      text: texts[i],
      word,
      probability: probabilities[i][j],
    })),
  );
}

/** @returns {Figure} */
export function draw({ fillings, texts, words, probabilities }) {
  const text = probabilities.map((line) => line.map(percent));
  return {
    marks: 1,
    panels: [
      {
        marks: [
          {
            kind: "cells",
            rows: fillings.map((filling) => filling.join("\n")),
            columns: words,
            values: probabilities,
            low: 0,
            high: Math.max(0.01, most(probabilities.flat())),
            text,
            hover: texts.map((filled, i) =>
              words.map((word, j) => `${filled}\n${word}: ${text[i][j]}`),
            ),
          },
        ],
      },
    ],
  };
}

export function say({ fillings, texts, words, probabilities, answers }) {
  if (fillings.length === 1) return `For ${quote(texts[0])} it would put ${quote(answers[0])}.`;
  const columns = words.map((_, j) => probabilities.map((line) => line[j]));
  const spreads = columns.map((column) => most(column) - least(column));
  const at = argmax(spreads),
    column = columns[at];
  if (spreads[at] < 0.001)
    return `None of these words moves by 0.1 % or more between the ${fillings.length} sentences.`;
  const told = (i) => `${percent(column[i])} for ${quote(fillings[i].join(" / "))}`;
  return `${quote(words[at])} moves the most: ${told(argmax(column))}, ${told(column.indexOf(least(column)))}.`;
}
