// Tokenization: how the text is cut into pieces, and the vectors of each piece that add up to the input.
import { clip, quote } from "../../web/static/site/wording.js";
import { inputParts } from "../../web/static/site/inputs.js";
import { cosine, length, mean, most, range } from "../../web/static/numbers.js";

/** @import { Cells, Figure, Panel } from "../../web/static/types.d.ts" */

const SHOWN = 64,
  STEPS = 18,
  LETTERS = 26; // tokens whose vectors are drawn; lines of the words that are cut; letters of a word
const NAMES = { position: "pos.", segment: "seg.", normalised: "norm." }; // short, for a phone
const TONES = { word: "blue", position: "orange", segment: "green", normalised: "pale" };
const TAKEN = 0,
  MATCHED = 1,
  REST = 0.15,
  UNKNOWN = -0.8; // of a letter, as places in the palette

export async function run(bert, text) {
  const encoding = bert.tokenizer.encode(text),
    { ids, segments } = encoding,
    parts = inputParts(bert, encoding),
    entering = parts.normalised ?? parts.sum;
  return {
    kind: bert.tokenizer.kind,
    words: wordsOf(bert.tokenizer, encoding),
    tokens: ids.map((id) => bert.tokenizer.pieces[id]),
    ids,
    segments,
    norms: Object.fromEntries(
      Object.entries(parts).map(([name, rows]) => [name, rows.map(length)]),
    ),
    cosines: parts.word.map((word, i) => cosine(word, entering[i])),
    first: bert.first_position,
  };
}

/** The words, each with its pieces; hidden words as they were before. Special tokens and masks that were typed are none. */
function wordsOf(tokenizer, encoding) {
  const { words, originalIds, special, tokens } = encoding,
    groups = new Map();
  words.forEach((word, i) => {
    const isTyped =
      originalIds[i] === tokenizer.maskId ||
      (special[i] && tokenizer.slice(encoding, i) === tokens[i]);
    if (word !== null && !isTyped) groups.set(word, [...(groups.get(word) ?? []), i]);
  });
  return [...groups.values()].map((positions) => {
    const spans = positions.map((at) => encoding.spans[at]);
    const text = encoding.texts[spans[0].side].slice(spans[0].start, spans.at(-1).end).join("");
    const ids = positions.map((at) => originalIds[at]);
    if (tokenizer.kind === "WordPiece") {
      const read = tokenizer.read(text),
        { steps, reason } = cut(tokenizer, read),
        found = steps.slice(0, ids.length);
      if (found.every((step, i) => step.id === ids[i]) && found.length === ids.length)
        return { text, read, steps: found, reason };
    }
    return asCut(tokenizer, text, ids, spans);
  });
}

/** A word whose tokenizer does not say how it cut: *ids*, each with its characters in the text. */
function asCut(tokenizer, text, ids, spans) {
  const from = spans[0].start;
  const steps = ids.map((id, i) => ({
    piece: tokenizer.show(id),
    id,
    start: spans[i].start - from,
    end: spans[i].end - from,
    rest: "",
  }));
  const unknown = ids.length === 1 && ids[0] === tokenizer.unknownId;
  return { text, read: text, steps, reason: unknown ? "no piece of the vocabulary covers it" : "" };
}

/** WordPiece (Wu et al., 2016; Devlin et al., 2019): from the left, the longest piece with which the rest begins. */
function cut({ pipeline, special, unknownId }, read) {
  const { ids, continuation, longest } = pipeline.model;
  const letters = [...read],
    steps = [];
  const unknown = (reason) => ({
    reason,
    steps: [{ piece: special.unk, id: unknownId, start: 0, end: letters.length, rest: "" }],
  });
  if (letters.length > longest)
    return unknown(`it has ${letters.length} characters, and more than ${longest} are not tried`);
  for (let start = 0; start < letters.length; start = steps.at(-1).end) {
    const piece = (end) => (start ? continuation : "") + letters.slice(start, end).join("");
    const end = range(letters.length - start, start + 1).findLast((one) => ids.has(piece(one)));
    if (!end) return unknown(`no piece of the vocabulary begins “${piece(letters.length)}”`);
    steps.push({
      piece: piece(end),
      id: ids.get(piece(end)),
      start,
      end,
      rest: letters.slice(end).join(""),
    });
  }
  return { reason: "", steps };
}

export function rows({ tokens, ids, segments, norms, cosines, first }) {
  return tokens.map((token, i) => ({
    place: i,
    token,
    id: ids[i],
    position: first + i,
    segment: segments[i],
    ...Object.fromEntries(
      Object.entries(norms).map(([part, values]) => [`norm_${part}`, values[i]]),
    ),
    cosine_word_input: cosines[i],
  }));
}

/** @returns {Figure} */
export function draw(result) {
  const words = wordsToDraw(result),
    all = cutWords(result).length;
  const how = result.kind === "WordPiece" ? "cut, longest match first" : `cut by ${result.kind}`;
  const title = `${how}${all > words.length ? `: ${words.length} of ${all} words` : ""}`;
  return {
    marks: 1,
    panels: [
      ...(words.length ? [{ title, marks: [cuts(words, result.kind)] }] : []),
      ...lengths(result),
    ],
  };
}

/** Words of several pieces, and unknown ones; each spelling once. */
function cutWords({ words }) {
  const some = words.filter((word) => word.steps.length > 1 || word.reason);
  return [...new Map(some.map((word) => [JSON.stringify([word.read, word.steps]), word])).values()];
}

/** Of these the first, as many as fit. */
function wordsToDraw(result) {
  let lines = 0;
  return cutWords(result).filter(({ steps }) => {
    lines += steps.length;
    return lines <= STEPS && steps.length <= STEPS;
  });
}

/** A line for each step: the part already matched is blank, then the piece of this step, then the rest.
 *  @returns {Cells} */
function cuts(words, kind) {
  const width = Math.max(
    16,
    Math.min(LETTERS, Math.max(...words.map((word) => [...word.read].length))),
  );
  const rows = [],
    row = (fill) => Array(width).fill(fill);
  for (const word of words) {
    if (rows.length) rows.push(["", row(null), row(""), row("")]); // between two words
    const letters = [...clip(word.read, width)];
    word.steps.forEach(({ start, end, piece }, line) => {
      const values = row(null);
      letters.forEach((_, at) => {
        if (word.reason) values[at] = UNKNOWN;
        else if (at < start) values[at] = TAKEN;
        else values[at] = at < end ? MATCHED : REST;
      });
      rows.push([
        piece,
        values,
        values.map((value, at) => (value === TAKEN ? "" : (letters[at] ?? ""))),
        row(hoverOf(word, line, kind)),
      ]);
    });
  }
  const [names, values, text, hover] = [0, 1, 2, 3].map((part) => rows.map((one) => one[part]));
  return {
    kind: "cells",
    rows: names,
    columns: [],
    values,
    palette: "signed",
    low: -1,
    high: 1,
    text,
    hover,
    tokens: true,
  };
}

function hoverOf({ text, steps, reason }, i, kind) {
  if (reason) return `${text}: ${steps[i].piece}, as ${reason}`;
  if (kind !== "WordPiece") return `${text}, piece ${i + 1}: ${steps[i].piece}`;
  return `${text}, step ${i + 1}: ${steps[i].piece}, ${steps[i].rest ? `then ${steps[i].rest} is left` : "nothing is left"}`;
}

/** A column for each vector with its own scale, a bar for each token.
 *  @returns {Panel[]} */
function lengths({ tokens, ids, segments, norms, cosines, first }) {
  const columns = Object.entries({ ...norms, cosine: cosines });
  return columns.map(([name, all], column) => {
    const digits = name === "cosine" || (columns.length < 7 && most(all) < 10) ? 2 : 1;
    const bars = tokens.slice(0, SHOWN).map((token, i) => ({
      label: column ? "" : token,
      value: all[i],
      text: all[i].toFixed(digits),
      tone: TONES[name] ?? "grey", // the rows are named once
      hover: `${token}: id ${ids[i]}, position ${first + i}, segment ${segments[i]}\n${name} ${all[i].toFixed(3)}`,
    }));
    const title = NAMES[name] ?? name;
    return { title, beside: column > 0, marks: [{ kind: "bars", bars, tokens: true }] };
  });
}

export function say(result) {
  const { words, tokens, norms, cosines } = result;
  const known = cutWords(result).filter((word) => !word.reason);
  const unknown = words.find((word) => word.reason);
  const long = (name) => `${name} ${mean(norms[name]).toFixed(2)}`;
  const longest = known.reduce(
    (best, word) => (word.steps.length > best.steps.length ? word : best),
    known[0],
  );
  const after = norms.normalised ? `, after LayerNorm ${mean(norms.normalised).toFixed(2)}` : "";
  const lengths = ["word", "position", "segment"].filter((name) => norms[name]).map(long);
  return [
    `${
      words.length === 1 ? "1 word becomes" : `${words.length} words and punctuation marks become`
    } ${tokens.length} tokens, special ones included.`,
    longest &&
      `${quote(clip(longest.text, 40))} is cut into ${longest.steps
        .slice(0, 12)
        .map((step) => step.piece)
        .join(" + ")}.`,
    unknown &&
      `${quote(clip(unknown.text, 40))} becomes ${unknown.steps[0].piece}: ${unknown.reason}.`,
    `Lengths on average: ${lengths.join(", ")}; the ${long("sum")}${after}. ` +
      `The word vector and the input have a cosine of ${mean(cosines).toFixed(2)} on average.`,
    tokens.length > SHOWN && `The first ${SHOWN} of ${tokens.length} tokens are drawn.`,
  ]
    .filter(Boolean)
    .join(" ");
}
