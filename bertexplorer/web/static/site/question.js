// Questions: one answer to one text, and its number for other texts or with heads off. The answer is the word at the first
// mask, whether a token was replaced (ELECTRA's discriminator), the label of a fine-tuned head, or whether the second text follows
// the first.
import { ACTIVATIONS } from "./activations.js";
import { labelLogits, labelLogitsByLayer } from "./classifier.js";
import { encodeMasked } from "./masks.js";
import { logSoftmax } from "./model.js";
import { argmax, sigmoid } from "../numbers.js";
import { Refusal } from "./refusal.js";
import { quote } from "./wording.js";

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

/** What *target* means for *text*: "mask", "tag" of a discriminator, "label", or "next sentence" for a pair without a mask. */
export function resolveTarget(bert, text, target) {
  if (target !== "answer") return target;
  const { masked, secondStart } = bert.tokenizer.encode(text);
  if (masked.length && bert.has.includes("masked_lm")) return "mask";
  if (bert.has.includes("replaced_token")) return "tag";
  if (bert.classifier) return "label";
  return secondStart >= 0 && bert.has.includes("next_sentence") ? "next sentence" : "mask";
}

/** The question of *target* about *text*. *word*: the one to ask about at a mask; "": the first choice. */
export async function ask(bert, text, target, word = "") {
  const kind = resolveTarget(bert, text, target);
  if (kind === "mask") return askMask(bert, encodeMasked(bert, text), word);
  if (kind === "next sentence") return askPair(bert, text);
  if (kind === "tag" && bert.has.includes("replaced_token"))
    return askReplaced(bert, bert.tokenizer.encode(text), word);
  if (kind === "label") return askLabel(bert, bert.tokenizer.encode(text), word);
  throw new Refusal(
    `${bert.name} has no fine-tuned head, so it gives no label, tag or span. Choose another answer.`,
    "tuned",
  );
}

/** As `ask`; a text without a mask learns what else could be measured. */
export async function askToChange(bert, text, target, word) {
  const { masked, secondStart, leftOut } = bert.tokenizer.encode(text);
  const isOfMask = resolveTarget(bert, text, target) === "mask";
  const lacksMask = !masked.length && bert.has.includes("masked_lm");
  if (!isOfMask || !lacksMask) return ask(bert, text, target, word);
  let lacks = "the measure is the word at a mask";
  let advice = "measure the pair";
  if (!bert.has.includes("next_sentence")) {
    lacks = `${bert.name} has no next-sentence head that would judge a pair`;
    advice = "choose a checkpoint that has one, such as mini, and give a pair";
  } else if (secondStart < 0) {
    lacks = "there is no pair";
    advice = "add a second sentence";
  }
  const place = leftOut ? " within the tokens that are read" : "";
  throw new Refusal(
    `Nothing is hidden${place} and ${lacks}, so there is no answer to change. Hide a word, or ${advice}.`,
    "mask",
  );
}

async function askMask(bert, encoding, word) {
  const [position] = encoding.masked;
  const rows = async (encodings, heads) => {
    const places = encodings.map(() => [position]);
    const byEncoding = await bert.maskedLogProbs(encodings, places, heads);
    return byEncoding.map(([row]) => row);
  };
  let index;
  if (word.trim()) index = onePiece(bert, encoding, position, word);
  else {
    const [row] = await rows([encoding]);
    index = argmax(row);
  }
  return {
    target: "mask",
    encoding,
    index,
    names: bert.tokenizer.pieces,
    answer: bert.tokenizer.pieces[index],
    rows,
    number: (row) => row[index],
    probability: Math.exp,
  };
}

async function askPair(bert, text) {
  await bert.nextSentence([]); // refuses if there is no head
  const encoding = encodePair(bert, text);
  const rows = async (encodings, heads) =>
    (await bert.nextSentence(encodings, heads)).map(logSoftmax);
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

/** The place of *typed* among *names*, in any case if it is not there as typed. *kind*: what they are. */
function findName(names, typed, kind) {
  const wanted = typed.trim();
  if (names.includes(wanted)) return names.indexOf(wanted);
  const index = names.findIndex((name) => name.toLowerCase() === wanted.toLowerCase());
  if (index >= 0) return index;
  const more = names.length > LISTED ? ` and ${names.length - LISTED} more` : "";
  const listed = names.slice(0, LISTED).join(", ");
  throw new Refusal(
    `There is no ${kind} '${wanted.slice(0, 60)}'; there are ${listed}${more}. Choose one of these.`,
  );
}
const LISTED = 20;

/** The label of a text, of which there is one. *word*: one of the labels; "": the likeliest. */
export async function askLabel(bert, encoding, word = "") {
  const names = bert.classifier.labels,
    find = (/** @type {string} */ typed) => findName(names, typed, "label");
  const rows = async (encodings, heads) =>
    (await labelLogits(bert, encodings, heads)).map((one) => logSoftmax(one));
  const index = word.trim() ? find(word) : argmax((await rows([encoding], null))[0]);
  return {
    target: "label",
    encoding,
    position: 0,
    index,
    names,
    find,
    subject: "",
    byLayer: (pass) => labelLogitsByLayer(bert, pass).map((one) => logSoftmax(one)),
    answer: names[index],
    rows,
    number: (row) => row[index],
    probability: Math.exp,
  };
}

const TAGS = ["original", "replaced"];
const findTag = (/** @type {string} */ typed) => findName(TAGS, typed, "tag");

/** Whether a token was replaced: the picked one, else the likeliest to be. *word*: one of TAGS; "": the likelier. */
export async function askReplaced(bert, encoding, word = "") {
  const name = "replaced_token",
    activate = ACTIVATIONS[bert.activation];
  const read = (vectors) => {
    const inner = bert.linear(`${name}.dense`, vectors).map((row) => row.map(activate));
    return bert.linear(`${name}.output`, inner).map(([logit]) => logSoftmax([0, logit]));
  };
  const { ids, picked, special } = encoding,
    { maskId } = bert.tokenizer;
  const places = [...ids.keys()].filter((i) => !special[i] || ids[i] === maskId);
  if (!places.length) throw new Refusal("The text has no word to tag. Type a sentence.");
  const pass = await bert.forward(encoding),
    found = read(places.map((at) => pass.vector(bert.layers, at)));
  const chosen = places.findIndex((at) => picked.includes(at));
  const row = found[chosen >= 0 ? chosen : argmax(found.map(([, replaced]) => replaced))],
    position = places[found.indexOf(row)];
  const index = word.trim() ? findTag(word) : argmax(row);
  const shown = ids[position] === maskId ? "[MASK]" : encoding.tokens[position];
  return {
    target: "tag",
    encoding,
    position,
    index,
    names: TAGS,
    find: findTag,
    subject: `Tag of ${quote(shown)}: `,
    byLayer: (pass) => read(bert.readable(pass, position)),
    answer: `${shown}: ${TAGS[index]}`,
    rows: async (encodings, heads) =>
      read(await bert.take(encodings, (one) => one.vector(bert.layers, position).slice(), heads)),
    number: (one) => one[index],
    probability: Math.exp,
  };
}

/** The id of *word* as written at *position*, which must be one piece. */
export function onePiece(bert, encoding, position, word) {
  const ids = bert.tokenizer.piecesAt(encoding, position, word);
  if (ids.length === 1) return ids[0];
  const pieces = ids.slice(0, 8).map((id) => bert.tokenizer.pieces[id]);
  if (ids.length > 8) pieces.push("…");
  const cut = pieces.join(" + ");
  throw new Refusal(
    `'${word.trim()}' is cut into ${ids.length} pieces (${cut}), but a mask stands for one. ` +
      "Choose a word that is one piece, such as 'paris', or leave it empty for the first choice.",
  );
}
