// Boxes of sentences as they are typed, pasted, opened from a file and kept; and what is odd about them.
import { sum } from "../numbers.js";
import { counted } from "../site/wording.js";
import { sameSentence } from "./words.js";

/** @typedef {{name: string, text: string}} Box  *text*: its sentences, one a line. */
/** @typedef {{sentences: string[], labels: number[], groups: number[], boxes: number}} Rows  The box of each sentence; sentences that are
 *  the same have one group, the place of the first of them. */

export const FEWEST = 2,
  MOST = 6; // boxes
export const MOST_SENTENCES = 300,
  LONGEST = 500; // sentences in all boxes; characters of one
export const KIND = "bert-explorer-teach",
  VERSION = 1; // of a file

/** The sentences of a box, without those beyond LONGEST characters.
 *  @param {Box} box */
export const sentencesOf = ({ text }) => linesOf(text).filter((line) => line.length <= LONGEST);

/** The sentences of a *text*, one a line.
 *  @param {string} text */
export const linesOf = (text) =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** The name of a box, also of one that has none.
 *  @param {string} name @param {number} box */
export const nameOf = (name, box) => name.trim() || `box ${box + 1}`;

/** What to say of a box without sentences, "" if there is none.
 *  @param {Box[]} boxes */
export function emptySaid(boxes) {
  const empty = boxes.findIndex(({ text }) => !linesOf(text).length);
  if (empty < 0) return "";
  return `“${nameOf(boxes[empty].name, empty)}” is empty. Put sentences into each box first.`;
}

/** The rows of *boxes* to learn from: {sentences, labels, groups}. Sentences that are the same but for case and spaces have one group.
 *  Of more than MOST_SENTENCES, each box keeps its first ones, as many from every box as there is room for.
 *  @param {Box[]} boxes @returns {Rows} */
export function rowsOf(boxes) {
  // 1. How many of each box there is room for: what a small box leaves goes to the larger ones.
  const lists = boxes.map(sentencesOf);
  const kept = lists.map(() => 0);
  const order = lists.map((_, i) => i).sort((a, b) => lists[a].length - lists[b].length);
  let room = MOST_SENTENCES;
  order.forEach((box, done) => {
    kept[box] = Math.min(lists[box].length, Math.floor(room / (order.length - done)));
    room -= kept[box];
  });
  // 2. The rows.
  const sentences = lists.flatMap((list, i) => list.slice(0, kept[i]));
  const labels = kept.flatMap((count, box) => Array(count).fill(box));
  const first = new Map(); // a sentence but for case and spaces -> the place of the first of them
  const groups = sentences.map((sentence, i) => {
    const key = sameSentence(sentence);
    if (!first.has(key)) first.set(key, i);
    return first.get(key);
  });
  return { sentences, labels, groups, boxes: boxes.length };
}

/** What a person should know about the rows, as sentences.
 *  @param {Box[]} boxes */
export function oddities(boxes) {
  const said = [];
  // 1. What is left out.
  const rows = rowsOf(boxes);
  const lines = sum(boxes.map((box) => linesOf(box.text).length));
  const short = sum(boxes.map((box) => sentencesOf(box).length));
  const long = lines - short;
  const beyond = short - rows.sentences.length;
  if (long) {
    const [are, them] = long === 1 ? ["is", "it"] : ["are", "them"];
    said.push(
      `${counted(long, "line")} of more than ${LONGEST} characters ${are} left out. Shorten ${them} to one sentence.`,
    );
  }
  if (beyond) {
    const are = beyond === 1 ? "is" : "are";
    said.push(
      `${counted(beyond, "sentence")} beyond the first ${MOST_SENTENCES} ${are} left out, from the largest boxes. For more, fine-tune below.`,
    );
  }
  // 2. What is there twice.
  const owners = new Map(); // group -> the boxes that have it
  let twice = 0;
  rows.groups.forEach((group, i) => {
    const own = owners.get(group) ?? new Set();
    if (own.has(rows.labels[i])) twice += 1;
    owners.set(group, own.add(rows.labels[i]));
  });
  for (const [group, own] of owners) {
    if (own.size < 2) continue;
    const names = [...own].map((box) => `“${nameOf(boxes[box].name, box)}”`);
    said.push(
      `“${rows.sentences[group]}” is in ${names.join(" and ")}; the score counts it in ${names[0]}. Decide for one box.`,
    );
  }
  if (twice)
    said.push(
      `${counted(twice, "sentence")} ${twice === 1 ? "is" : "are"} there more than once. That teaches nothing new.`,
    );
  const names = boxes.map(({ name }) => name.trim().toLowerCase());
  if (new Set(names).size < names.length) said.push("Two boxes have one name. Give each its own.");
  return said;
}

/** The file of *boxes* and what was learned from them: no weights of the encoder. *by*: {checkpoint, revision} of the encoder. */
export const toFile = (boxes, by, { head, ridge }) =>
  JSON.stringify(
    {
      kind: KIND,
      version: VERSION,
      encoder: by,
      boxes: boxes.map((box) => ({ name: box.name, sentences: sentencesOf(box) })),
      ridge,
      head: { weights: head.weights.map((row) => [...row]), bias: head.bias },
    },
    null,
    1,
  );

/** The sentences of *boxes* as CSV with the columns text and label: each sentence with the name of its box.
 *  @param {Box[]} boxes */
export function toTable(boxes) {
  const quoted = (/** @type {string} */ cell) => `"${cell.replaceAll('"', '""')}"`;
  const lines = ["text,label"];
  for (const box of boxes)
    for (const sentence of linesOf(box.text)) lines.push(`${quoted(sentence)},${quoted(box.name)}`);
  return lines.join("\n");
}

/** The boxes of a file that `toFile` wrote, and its encoder. Throws an Error with a sentence for a person.
 *  @param {string} content @returns {{boxes: Box[], encoder: {checkpoint: string, revision: string}}} */
export function fromFile(content) {
  if (!content.trimStart().startsWith("{"))
    throw new Error(
      "This is no file of boxes. Open one that Save wrote, or a CSV whose first line is text,label. Lines of plain text can be pasted into a box.",
    );
  let file;
  try {
    file = JSON.parse(content);
  } catch {
    throw new Error(
      "This file of boxes cannot be read: it is not JSON, or it was cut. Save it again.",
    );
  }
  if (file?.kind !== KIND)
    throw new Error(
      "This is no file of boxes. Open one that Save wrote, or a CSV with the columns text and label.",
    );
  if (file.version !== VERSION)
    throw new Error(
      `This file has version ${String(file.version).slice(0, 20)}; this page reads version ${VERSION}. Open it where it was saved.`,
    );
  const isText = (/** @type {any} */ value) => typeof value === "string";
  const isBox = (/** @type {any} */ box) =>
    isText(box?.name) && Array.isArray(box.sentences) && box.sentences.every(isText);
  const { boxes } = file;
  const areBoxes = Array.isArray(boxes) && boxes.length >= FEWEST && boxes.length <= MOST;
  if (!areBoxes || !boxes.every(isBox))
    throw new Error(
      `The boxes of this file cannot be read: wanted ${FEWEST} to ${MOST}, each with a name and sentences.`,
    );
  const { checkpoint = "", revision = "" } = file.encoder ?? {};
  return {
    boxes: boxes.map(({ name, sentences }) => ({
      name: name.slice(0, 60),
      text: sentences.map((sentence) => sentence.replace(/\s+/g, " ")).join("\n"),
    })),
    encoder: { checkpoint: String(checkpoint), revision: String(revision) },
  };
}

/** The boxes of a table with the columns text (or sentence) and label. Throws an Error with a sentence for a person.
 *  @param {string} content @returns {Box[]} */
export function fromTable(content) {
  // 1. The columns.
  const first = content.slice(0, content.indexOf("\n") >>> 0); // all, if it is a single line
  const isSeparator = (sign) => first.split(sign).length > first.split(",").length;
  const separator = ["\t", ";"].find(isSeparator) ?? ",";
  const [head = [], ...rows] = cellsOf(content.replace(/^\ufeff/, ""), separator);
  const names = head.map((name) => name.trim().toLowerCase());
  const text = names.findIndex((name) => ["text", "sentence"].includes(name));
  const label = names.indexOf("label");
  if (text < 0 || label < 0)
    throw new Error(
      `The first line has to name the columns text and label, such as: text,label. Here it is: ${head.join(separator).slice(0, 100) || "empty"}`,
    );
  // 2. The sentences of each label.
  /** @type {Map<string, string[]>} */
  const lists = new Map();
  const cellOf = (/** @type {string | undefined} */ cell) =>
    (cell ?? "").replace(/\s+/g, " ").trim();
  for (const row of rows) {
    const sentence = cellOf(row[text]);
    const name = cellOf(row[label]);
    if (sentence && name) lists.set(name, [...(lists.get(name) ?? []), sentence]);
  }
  if (lists.size < FEWEST || lists.size > MOST)
    throw new Error(`The table has ${counted(lists.size, "label")}; wanted ${FEWEST} to ${MOST}.`);
  return [...lists].map(([name, list]) => ({ name: name.slice(0, 60), text: list.join("\n") }));
}

/** The cells of a CSV (RFC 4180), row by row.
 *  @param {string} content @param {string} separator */
function cellsOf(content, separator) {
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^"\\n${separator}]*))(${separator}|\\r?\\n|$)`,
    "y",
  );
  /** @type {string[][]} */
  const rows = [];
  /** @type {string[]} */
  let row = [];
  while (cell.lastIndex < content.length) {
    const match = cell.exec(content);
    if (!match) break; // a quotation mark within a cell
    const [, quoted, plain, end] = match;
    row.push(quoted === undefined ? plain.replace(/\r$/, "") : quoted.replaceAll('""', '"'));
    if (end === separator) continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
