// Similarity of two sentences: the number that the checkpoint's own pipeline gives, and what each pair of words adds to it. A vector that is
// a sum over the tokens of the last layer makes the product one, too: x · y = Σ x_i · y_j. Of another vector, a browser shows no parts.
import {
  clip,
  counted,
  decimal,
  grouped,
  joinNames,
  percent,
  quote,
  signed,
} from "../../web/static/site/wording.js";
import {
  argmax,
  dot,
  least,
  length,
  mean,
  meanRow,
  most,
  range,
  sum,
} from "../../web/static/numbers.js";
import { alone, parseTexts } from "../../web/static/site/passages.js";
import { unitsOf } from "../../web/static/site/units.js";
import {
  departure,
  encoderOf,
  promptName,
  sentenceVectors,
  tokensOf,
} from "../../web/static/site/sentence_encoder.js";
import { encodeLines, linesOf, once } from "../../web/static/site/vectors.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure, Panel } from "../../web/static/types.d.ts" */

// lines whose pairs tell what chance gives; texts that are compared with each other
const MAX_LINES = 300,
  MAX_CELLS = 20_000,
  MAX_TEXTS = 20;
const BINS = 40,
  NUMBERED = 12; // words of a side up to which cells show their numbers
const FEW = 4; // texts up to which cells show numbers of any size
const LEAST_NAMED = 0.0005; // a smaller part of the similarity would be said to be 0
const FAR = ["euclidean", "manhattan"]; // distances: the table has them with a minus
const NAMES = {
  cosine: "cosine",
  dot: "dot product",
  euclidean: "distance",
  manhattan: "Manhattan distance",
};
const NO_PARTS =
  "This vector is no sum over the tokens, so a browser does not take it apart; on a computer, the explorer does.";
const OF_FOUR = ", each the sum of its vectors in the last four layers";

export async function run(bert, text, options, inputs) {
  const lines = linesOf(options, inputs);
  if (!text.second.trim())
    throw new Refusal(
      "There is only one text. Type the other as the second sentence to compare them.",
      "pair",
    );
  const { pooling } = options,
    encoder = encoderOf(bert, pooling),
    { similarity: measure } = bert.sentence.about;
  const names = [options.first_prompt, options.second_prompt].map(promptName);
  const prompts = names.map((name) => bert.sentence.prompt(name));
  const encodings = names.map((name, side) => bert.sentence.encode(alone(text, side), name));
  const [first, second] = await sentenceVectors(bert, encodings, bert.layers, pooling);
  const scale = measure === "dot" ? 1 : length(first) * length(second) || 1;
  const terms = encoder.isSum ? await termsOf(bert, encodings, encoder, pooling) : null;
  const [rows, columns] = encodings.map((encoding, side) =>
    partsOf(bert, encoding, terms && terms[side], options.merge, [...prompts[side]].length),
  );
  if (rows.length * columns.length > MAX_CELLS) {
    throw new Refusal(
      `The texts have ${grouped(rows.length)} and ${grouped(columns.length)} words; the table can have ${grouped(MAX_CELLS)} cells. Shorten them.`,
    );
  }
  const matrix =
    terms && rows.map((row) => columns.map((column) => dot(row.vector, column.vector) / scale));
  const total = dot(first, second) / scale,
    similarity = bert.sentence.similarity(first, second);
  const { group, table } = await compareAll(bert, text, options, names);
  const { chance, notes } = lines
    ? await unrelated(bert, lines, pooling)
    : await once(`pairs ${pooling}`, () => unrelated(bert, bert.sentences, pooling));
  return {
    matrix,
    similarity,
    measure,
    total,
    gap: matrix ? total - sum(matrix.map(sum)) : 0,
    rows,
    columns,
    pairs: matrix ? pairsOf(matrix, rows, columns) : [],
    chance,
    asSimilar: chance.filter((one) => one >= similarity).length,
    ownLines: Boolean(lines),
    pipeline: encoder.about.words + (pooling === "last four summed" ? OF_FOUR : ""),
    prompts,
    cut: encodings.map((one) => one.leftOut),
    notes: [notes, departure(bert, pooling, bert.layers, measure !== "cosine")]
      .filter(Boolean)
      .join(" "),
    group,
    table,
    shown: matrix
      ? onStrip(
          bert.tokenizer.encode(text),
          [rows, columns],
          [matrix.map(sum), columns.map((_, j) => sum(matrix.map((row) => row[j])))],
        )
      : {},
  };
}

/** What each token adds to the vector of its text. */
const termsOf = (bert, encodings, encoder, pooling) =>
  bert.take(encodings, (pass, i) =>
    encoder.parts(tokensOf(pass, bert.layers, pooling), encodings[i].unpooled),
  );

/** The words or pieces of a text, and its special tokens as one part: {label, position, span, vector}. *prompt*: characters before the
 *  text as it was typed. */
function partsOf(bert, encoding, terms, merge, prompt) {
  const total = (positions) =>
    terms &&
    meanRow(
      positions.map((at) => terms[at]),
      positions.map(() => 1),
    );
  const marks = range(encoding.ids.length).filter(
    (i) => encoding.special[i] && !encoding.masked.includes(i),
  );
  const words = unitsOf(bert, encoding, merge)
    .filter((unit) => !unit.special)
    .map(({ label: name, positions }) => {
      const [{ start }, { end }] = [positions[0], positions.at(-1)].map((at) => encoding.spans[at]);
      return {
        label: name,
        position: positions[0],
        span: start < prompt ? null : { start: start - prompt, end: end - prompt },
        vector: total(positions),
      };
    });
  return [...words, { label: "special", position: null, vector: total(marks) }];
}

/** [row, column] of two words, the largest entry first. */
function pairsOf(matrix, rows, columns) {
  const isWord = ({ position, label: name }) => position !== null && /[\p{L}\p{N}]/u.test(name);
  const pairs = rows.flatMap((row, i) =>
    columns.flatMap((column, j) => (isWord(row) && isWord(column) ? [[i, j]] : [])),
  );
  return pairs.sort(([a, b], [c, d]) => matrix[c][d] - matrix[a][b]);
}

/** The two texts and the others, and the similarity of each two. The others have the prompt of the second text. */
async function compareAll(bert, { first, second }, { others, pooling }, names) {
  const group = [...new Set([first.trim(), second.trim(), ...parseTexts(others)])];
  if (!others.trim() || group.length < 3) return { group: [], table: null };
  if (group.length > MAX_TEXTS)
    throw new Refusal(
      `${group.length} texts were given to compare; the limit is ${MAX_TEXTS}. Remove some.`,
    );
  const vectors = await sentenceVectors(
    bert,
    group.map((one, i) => bert.sentence.encode({ first: one }, names[Math.min(i, 1)])),
    bert.layers,
    pooling,
  );
  return { group, table: tableOf(bert, vectors) };
}

/** How similar each two of *vectors* are. */
const tableOf = (bert, vectors) =>
  vectors.map((a) => vectors.map((b) => bert.sentence.similarity(a, b)));

/** The similarities of pairs of unrelated lines, ascending; lines with the same label are not paired. */
async function unrelated(bert, lines, pooling) {
  const { encodings, indices, notes } = encodeLines(bert, lines.slice(0, MAX_LINES));
  const vectors = await sentenceVectors(bert, encodings, bert.layers, pooling);
  const labels = indices.map((i) => lines[i][0] || String(i));
  const chance = tableOf(bert, vectors).flatMap((row, i) =>
    row.filter((_, j) => j < i && labels[i] !== labels[j]),
  );
  if (!chance.length)
    throw new Refusal(
      "The lines form no pair of different labels. Give lines with two labels, or without any.",
    );
  chance.sort((a, b) => a - b);
  return {
    chance,
    notes:
      `${notes} ${lines.length > MAX_LINES ? `Only the first ${MAX_LINES} of ${grouped(lines.length)} lines are paired.` : ""}`.trim(),
  };
}

/** The token of the pair -> what its word adds, where the two are the same characters. */
function onStrip({ spans }, parts, sums) {
  const value = (span) =>
    sums[span.side][
      parts[span.side].findIndex(
        (part) => part.span?.start <= span.start && span.end <= part.span.end,
      )
    ];
  return Object.fromEntries(
    spans.flatMap((span, i) => (span && value(span) !== undefined ? [[i, value(span)]] : [])),
  );
}

export function rows({ matrix, rows: down, columns, similarity, total, measure, gap }) {
  if (!matrix) return [];
  return down.flatMap((row, i) =>
    columns.map((column, j) => ({
      first: row.label,
      first_position: row.position ?? "",
      second: column.label,
      second_position: column.position ?? "",
      part: matrix[i][j],
      share: matrix[i][j] / (total || 1),
      similarity,
      measure,
      exact: true,
      gap,
    })),
  );
}

/** @returns {Figure} */
export function draw(result) {
  return {
    marks: 1,
    panels: [
      ...(result.matrix ? [words(result)] : []),
      ...(result.table ? [groupPanel(result)] : []),
      chancePanel(result),
    ],
  };
}

/** What each pair of words adds.
 *  @returns {Panel} */
function words({ matrix, rows: across, columns, measure }) {
  const furthest = most(matrix.flat().map(Math.abs)) || 1,
    numbered = columns.length <= NUMBERED;
  const text = matrix.map((row) =>
    row.map((one) => (numbered && Math.abs(one) >= 0.005 ? decimal(100 * one, 0) : "")),
  );
  const hover = across.map((row, i) =>
    columns.map((column, j) => `${row.label} and ${column.label}: ${signed(matrix[i][j], 4)}`),
  );
  const names = (parts) => parts.map((part) => part.label);
  const unit = `, in hundredths of the ${ofWhat(measure)} (12 is 0.12)`;
  return {
    title: `what each pair of words adds${numbered ? unit : ""}`,
    marks: [
      {
        kind: "cells",
        rows: names(across),
        columns: names(columns),
        values: matrix,
        palette: "signed",
        low: -furthest,
        high: furthest,
        text,
        hover,
        tokens: true,
      },
    ],
  };
}

const ofWhat = (measure) => (measure === "dot" ? "dot product" : "cosine");

/** The similarity of each two of several texts. A press on a cell opens the pair.
 *  @returns {Panel} */
function groupPanel({ group, table, measure }) {
  const isCosine = measure === "cosine"; // two digits fit into a cell on a phone
  const shown = FAR.includes(measure) ? table.map((row) => row.map(Math.abs)) : table;
  const numbered = group.length <= (isCosine ? NUMBERED : FEW),
    apart = table.flatMap((row, i) => row.filter((_, j) => i !== j));
  const others = (first, second) =>
    group.filter((text) => text !== first && text !== second && !text.includes("|")).join(" | ");
  return {
    title: `each two of all texts${isCosine && numbered ? ", in hundredths" : ""}; press a cell to open the pair`,
    marks: [
      {
        kind: "cells",
        rows: group.map((one, i) => `${i + 1}. ${one}`),
        columns: group.map((_, i) => `${i + 1}`),
        values: table,
        low: least(apart) - 0.01,
        high: most(apart) + 0.01,
        text: shown.map((row) => row.map((one) => (numbered ? written(one, isCosine) : ""))),
        hover: group.map((first, i) =>
          group.map((second, j) => `${first}\n${second}\n${decimal(shown[i][j], 3)}`),
        ),
        doors: group.map((first) =>
          group.map((second) => ({
            text: first,
            pair: second,
            set: { others: others(first, second) },
          })),
        ),
      },
    ],
  };
}

const written = (value, isCosine) => (isCosine ? decimal(100 * value, 0) : decimal(value));

/** How many pairs of unrelated lines have each similarity.
 *  @returns {Panel} */
function chancePanel({ chance, similarity, measure, ownLines }) {
  const low = Math.min(chance[0], similarity),
    high = Math.max(chance.at(-1), similarity),
    width = (high - low) / BINS || 1;
  const values = range(BINS).map(() => 0);
  for (const one of chance) values[Math.min(BINS - 1, Math.floor((one - low) / width))] += 1;
  const at = values.map((_, i) => low + (i + 0.5) * width);
  const hover = at.map((middle, i) => `${decimal(middle)}: ${counted(values[i], "pair")}`);
  return {
    title: `pairs of ${ownLines ? "your lines" : "unrelated sentences"}; the line: these two texts`,
    x: NAMES[measure],
    marks: [
      { kind: "histogram", at, values, hover, low, high },
      { kind: "rule", at: similarity },
    ],
  };
}

export function colours({ shown }) {
  const furthest = most([0, ...Object.values(shown).map(Math.abs)]) || 1;
  return Object.fromEntries(
    Object.entries(shown).map(([position, value]) => [position, value / furthest]),
  );
}

export function say(result) {
  const { similarity, measure, chance, asSimilar: many, ownLines, prompts, cut, notes } = result;
  const isFar = FAR.includes(measure);
  const asMany =
    ["none is", "one is"][many] ?? `${grouped(many)} (${percent(many / chance.length)}) are`;
  const usual = isFar ? Math.abs(mean(chance)) : mean(chance);
  const quoted = prompts.map((prompt) => (prompt ? quote(clip(prompt, 40)) : "nothing"));
  return [
    `The ${NAMES[measure]} is ${decimal(isFar ? -similarity : similarity)}. ` +
      `Of ${counted(chance.length, "pair")} of ${ownLines ? "your lines" : "unrelated sentences"}, whose mean is ` +
      `${decimal(usual)}, ${asMany} at least as similar.`,
    result.table && sayGroup(result, isFar),
    result.matrix ? sayParts(result) : NO_PARTS,
    `Each text’s vector is ${result.pipeline}.`,
    prompts.some(Boolean) &&
      `Before the first text stands ${quoted[0]}, before the second ${quoted[1]}.`,
    ...["first", "second"].map(
      (which, i) =>
        cut[i] &&
        `${counted(cut[i], "token")} of the ${which} text are beyond the limit and not read.`,
    ),
    notes,
  ]
    .filter(Boolean)
    .join(" ");
}

/** Which two of several texts are most similar. */
function sayGroup({ group, table }, isFar) {
  const all = table.flatMap((row, i) =>
    row.slice(i + 1).map((value, j) => ({ value, i, j: i + 1 + j })),
  );
  const { value, i, j } = all[argmax(all.map((one) => one.value))];
  const names = [i, j].map((at) => quote(clip(group[at], 50))).join(" and ");
  return `Of ${group.length} texts, ${names} are most similar (${decimal(isFar ? -value : value)}).`;
}

/** The pairs of words that add most, and what the cells are. */
function sayParts({ matrix, rows: across, columns, pairs, measure }) {
  const first = pairs.slice(0, 3).filter(([i, j]) => matrix[i][j] >= LEAST_NAMED);
  const best = first.map(
    ([i, j]) =>
      `${quote(clip(across[i].label))} with ${quote(clip(columns[j].label))} (${signed(matrix[i][j], 3)})`,
  );
  return (
    `${best.length ? `Of the words, most is added by ${joinNames(best)}.` : "No two words add to it."} ` +
    `The cells sum to the ${ofWhat(measure)} exactly. “special” is the special tokens together. The tokens are those of the ` +
    "last layer, which have read each other: the cells say where the similarity is, not which word brought it there."
  );
}
