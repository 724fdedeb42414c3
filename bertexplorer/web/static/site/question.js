// Questions: one answer to one text, and its number for other texts or with heads off. The answer is the word at the first
// mask, or whether the second text follows the first.
import { encodeMasked } from "./masks.js";
import { logSoftmax } from "./model.js";
import { argmax, sigmoid } from "../numbers.js";
import { Refusal } from "./refusal.js";

/** The encoding of a pair; neither side may be without anything to read. */
export function encodePair(bert, text) {
  const encoding = bert.tokenizer.encode(text);
  if (!encoding.texts[1].length) {
    throw new Refusal(
      "There is no second sentence, so nothing could follow the first. Add a second sentence.",
      "pair",
    );
  }
  if (encoding.secondStart < 0)
    throw new Refusal(
      "The second sentence holds nothing that this checkpoint can read. Type another one.",
    );
  return encoding;
}

/** What *target* means for *text*: "mask", or "next sentence" for a pair without a mask. */
function resolveTarget(bert, text, target) {
  if (target !== "answer") return target;
  const { masked, secondStart } = bert.tokenizer.encode(text);
  return !(masked.length && bert.has.includes("masked_lm")) &&
    secondStart >= 0 &&
    bert.has.includes("next_sentence")
    ? "next sentence"
    : "mask";
}

/** The question of *target* about *text*. *word*: the one to ask about at a mask; "": the first choice. */
export async function ask(bert, text, target, word = "") {
  const kind = resolveTarget(bert, text, target);
  if (kind === "mask") return askMask(bert, encodeMasked(bert, text), word);
  if (kind === "next sentence") return askPair(bert, text);
  throw new Refusal(
    `${bert.name} has no fine-tuned head, so it gives no label, tag or span. Choose another answer.`,
    "tuned",
  );
}

/** As `ask`; a text without a mask learns what else could be measured. */
export async function askToChange(bert, text, target, word) {
  const { masked, secondStart, leftOut } = bert.tokenizer.encode(text),
    judges = bert.has.includes("next_sentence");
  if (
    resolveTarget(bert, text, target) !== "mask" ||
    masked.length ||
    !bert.has.includes("masked_lm")
  ) {
    return ask(bert, text, target, word);
  }
  const headless = [
    `${bert.name} has no next-sentence head that would judge a pair`,
    "choose a checkpoint that has one, such as mini, and give a pair",
  ];
  const [lacks, advice] = !judges
    ? headless
    : secondStart < 0
      ? ["there is no pair", "add a second sentence"]
      : ["the measure is the word at a mask", "measure the pair"];
  throw new Refusal(
    `Nothing is hidden${leftOut ? " within the tokens that are read" : ""} and ${lacks}, so there is no answer to change. Hide a word, or ${advice}.`,
    "mask",
  );
}

async function askMask(bert, encoding, word) {
  const [position] = encoding.masked;
  const rows = async (encodings, heads) =>
    (
      await bert.maskedLogProbs(
        encodings,
        encodings.map(() => [position]),
        heads,
      )
    ).map(([row]) => row);
  const index = word.trim()
    ? onePiece(bert, encoding, position, word)
    : argmax((await rows([encoding]))[0]);
  return {
    target: "mask",
    encoding,
    index,
    answer: bert.tokenizer.pieces[index],
    rows,
    number: (row) => row[index],
    probability: Math.exp,
  };
}

async function askPair(bert, text) {
  await bert.nextSentence([]); // refuses if there is no head
  const encoding = encodePair(bert, text),
    rows = async (encodings, heads) => (await bert.nextSentence(encodings, heads)).map(logSoftmax);
  return {
    target: "next sentence",
    encoding,
    index: 0,
    answer: "is next",
    rows,
    number: (row) => row[0] - row[1],
    probability: sigmoid,
  };
}

/** The id of *word* as written at *position*, which must be one piece. */
export function onePiece(bert, encoding, position, word) {
  const ids = bert.tokenizer.piecesAt(encoding, position, word);
  if (ids.length === 1) return ids[0];
  const cut =
    ids
      .slice(0, 8)
      .map((id) => bert.tokenizer.pieces[id])
      .join(" + ") + (ids.length > 8 ? " + …" : "");
  throw new Refusal(
    `'${word.trim()}' is cut into ${ids.length} pieces (${cut}), but a mask stands for one. ` +
      "Choose a word that is one piece, such as 'paris', or leave it empty for the first choice.",
  );
}
