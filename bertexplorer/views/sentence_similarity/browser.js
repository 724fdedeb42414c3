// Similarity of two sentences: the cosine of their vectors, and what each two words add to it. A vector that is a sum over the
// tokens of the last layer makes the cosine one, too: x · y = Σ x_i · y_j.
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
  cosines,
  encodeLines,
  linesOf,
  once,
  sentenceVectors,
} from "../../web/static/site/vectors.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure, Panel } from "../../web/static/types.d.ts" */

// lines whose pairs tell what chance gives; texts that are compared with each other
const MAX_LINES = 300,
  MAX_CELLS = 20_000,
  MAX_TEXTS = 20;
const BINS = 40,
  NUMBERED = 12; // words of a side up to which cells show their numbers
const WAYS = { max: "the maximum over all tokens" },
  MEAN = "the mean over all tokens"; // how a vector is made

export async function run(bert, text, options, inputs) {
  const lines = linesOf(options, inputs);
  if (!text.second.trim())
    throw new Refusal(
      "There is only one text. Type the other as the second sentence to compare them.",
      "pair",
    );
  const { pooling } = options;
  if (options.terms === "input words" || pooling === "CLS") {
    throw new Refusal(
      "In a browser the parts are those of the last layer, added up by the pooling; for the others, install the explorer.",
    );
  }
  const encodings = [0, 1].map((side) => bert.tokenizer.encode(alone(text, side))),
    passes = await bert.passes(encodings);
  const terms = passes.map((pass) => termsOf(pass.vectors(bert.layers), pooling));
  const [first, second] = terms.map((rows) =>
    meanRow(
      rows,
      rows.map(() => 1),
    ),
  );
  const scale = length(first) * length(second) || 1;
  const [rows, columns] = encodings.map((encoding, side) =>
    partsOf(bert, encoding, terms[side], options.merge),
  );
  if (rows.length * columns.length > MAX_CELLS) {
    throw new Refusal(
      `The texts have ${grouped(rows.length)} and ${grouped(columns.length)} words; the table can have ${grouped(MAX_CELLS)} cells. Shorten them.`,
    );
  }
  const matrix = rows.map((row) => columns.map((column) => dot(row.vector, column.vector) / scale));
  const similarity = dot(first, second) / scale;
  const { group, table } = await compareAll(bert, text, options);
  const { chance, notes } = lines
    ? await unrelated(bert, lines, pooling)
    : await once(`pairs ${pooling}`, () => unrelated(bert, bert.sentences, pooling));
  return {
    matrix,
    similarity,
    gap: similarity - sum(matrix.map(sum)),
    rows,
    columns,
    pairs: pairsOf(matrix, rows, columns),
    chance,
    asSimilar: chance.filter((one) => one >= similarity).length,
    ownLines: Boolean(lines),
    pooling,
    cut: encodings.map((one) => one.leftOut),
    notes,
    group,
    table,
    shown: onStrip(
      bert.tokenizer.encode(text),
      [rows, columns],
      [matrix.map(sum), columns.map((_, j) => sum(matrix.map((row) => row[j])))],
    ),
  };
}

/** What each token adds to the vector of its text. */
function termsOf(tokens, pooling) {
  if (pooling !== "max") return tokens.map((token) => token.map((one) => one / tokens.length));
  const largest = [...tokens[0]].map((_, i) => argmax(tokens.map((token) => token[i])));
  return tokens.map((token, at) => token.map((one, i) => (largest[i] === at ? one : 0)));
}

/** The words or pieces of a text, and its special tokens as one part: {label, position, span, vector}. */
function partsOf(bert, encoding, terms, merge) {
  const total = (positions) =>
    meanRow(
      positions.map((at) => terms[at]),
      positions.map(() => 1),
    );
  const marks = range(terms.length).filter(
    (i) => encoding.special[i] && !encoding.masked.includes(i),
  );
  const words = unitsOf(bert, encoding, merge)
    .filter((unit) => !unit.special)
    .map(({ label: name, positions }) => {
      const [{ start }, { end }] = [positions[0], positions.at(-1)].map((at) => encoding.spans[at]);
      return {
        label: name,
        position: positions[0],
        span: { start, end },
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

/** The two texts and the others, and the cosine of each two. */
async function compareAll(bert, { first, second }, { others, pooling }) {
  const group = [...new Set([first.trim(), second.trim(), ...parseTexts(others)])];
  if (!others.trim() || group.length < 3) return { group: [], table: null };
  if (group.length > MAX_TEXTS)
    throw new Refusal(
      `${group.length} texts were given to compare; the limit is ${MAX_TEXTS}. Remove some.`,
    );
  const vectors = await sentenceVectors(
    bert,
    group.map((one) => bert.tokenizer.encode({ first: one })),
    bert.layers,
    pooling,
  );
  return { group, table: cosines(vectors) };
}

/** The cosines of pairs of unrelated lines, ascending; lines with the same label are not paired. */
async function unrelated(bert, lines, pooling) {
  const { encodings, indices, notes } = encodeLines(bert, lines.slice(0, MAX_LINES));
  const vectors = await sentenceVectors(bert, encodings, bert.layers, pooling);
  const labels = indices.map((i) => lines[i][0] || String(i));
  const chance = cosines(vectors).flatMap((row, i) =>
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

export function rows({ matrix, rows: down, columns, similarity, gap }) {
  return down.flatMap((row, i) =>
    columns.map((column, j) => ({
      first: row.label,
      first_position: row.position ?? "",
      second: column.label,
      second_position: column.position ?? "",
      part: matrix[i][j],
      share: matrix[i][j] / (similarity || 1),
      similarity,
      measure: "cosine",
      exact: true,
      gap,
    })),
  );
}

/** @returns {Figure} */
export function draw(result) {
  return {
    marks: 1,
    panels: [words(result), ...(result.table ? [groupPanel(result)] : []), chancePanel(result)],
  };
}

/** What each two words add.
 *  @returns {Panel} */
function words({ matrix, rows: across, columns }) {
  const furthest = most(matrix.flat().map(Math.abs)) || 1,
    numbered = columns.length <= NUMBERED;
  const text = matrix.map((row) =>
    row.map((one) => (numbered && Math.abs(one) >= 0.005 ? decimal(100 * one, 0) : "")),
  );
  const hover = across.map((row, i) =>
    columns.map((column, j) => `${row.label} and ${column.label}: ${signed(matrix[i][j], 4)}`),
  );
  const names = (parts) => parts.map((part) => part.label);
  return {
    title: `what each two words add${numbered ? ", in hundredths of the cosine (12 is 0.12)" : ""}`,
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

/** The cosine of each two of several texts. A press on a cell opens the pair.
 *  @returns {Panel} */
function groupPanel({ group, table }) {
  const numbered = group.length <= NUMBERED,
    apart = table.flatMap((row, i) => row.filter((_, j) => i !== j));
  const others = (first, second) =>
    group.filter((text) => text !== first && text !== second && !text.includes("|")).join(" | ");
  return {
    title: `each two of all texts${numbered ? ", in hundredths" : ""}; press a cell to open the pair`,
    marks: [
      {
        kind: "cells",
        rows: group.map((one, i) => `${i + 1}. ${one}`),
        columns: group.map((_, i) => `${i + 1}`),
        values: table,
        low: least(apart) - 0.01,
        high: most(apart) + 0.01,
        text: table.map((row) => row.map((one) => (numbered ? decimal(100 * one, 0) : ""))),
        hover: group.map((first, i) =>
          group.map((second, j) => `${first}\n${second}\n${decimal(table[i][j], 3)}`),
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

/** How many pairs of unrelated lines have each cosine.
 *  @returns {Panel} */
function chancePanel({ chance, similarity, ownLines }) {
  const low = Math.min(chance[0], similarity),
    high = Math.max(chance.at(-1), similarity),
    width = (high - low) / BINS || 1;
  const values = range(BINS).map(() => 0);
  for (const one of chance) values[Math.min(BINS - 1, Math.floor((one - low) / width))] += 1;
  const at = values.map((_, i) => low + (i + 0.5) * width);
  const hover = at.map((middle, i) => `${decimal(middle)}: ${counted(values[i], "pair")}`);
  return {
    title: `pairs of ${ownLines ? "your lines" : "unrelated sentences"}; the line: these two texts`,
    x: "cosine",
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

export function say({
  matrix,
  similarity,
  rows: across,
  columns,
  pairs,
  chance,
  asSimilar: many,
  ownLines,
  pooling,
  cut,
  notes,
  group,
  table,
}) {
  const asMany =
    ["none is", "one is"][many] ?? `${grouped(many)} (${percent(many / chance.length)}) are`;
  const first = pairs.slice(0, 3).filter(([i, j]) => matrix[i][j] > 0);
  const best = first.map(
    ([i, j]) =>
      `${quote(clip(across[i].label))} with ${quote(clip(columns[j].label))} (${signed(matrix[i][j], 3)})`,
  );
  const closest = () => {
    const all = table.flatMap((row, i) =>
      row.slice(i + 1).map((value, j) => ({ value, i, j: i + 1 + j })),
    );
    const { value, i, j } = all[argmax(all.map((one) => one.value))];
    return `Of ${group.length} texts, ${[i, j].map((at) => quote(clip(group[at], 50))).join(" and ")} are most similar (${decimal(value)}).`;
  };
  return [
    `The cosine is ${decimal(similarity)}. Of ${counted(chance.length, "pair")} of ${ownLines ? "your lines" : "unrelated sentences"}, whose mean is ` +
      `${decimal(mean(chance))}, ${asMany} at least as similar.`,
    table && closest(),
    best.length ? `Of the words, most is added by ${joinNames(best)}.` : "No two words add to it.",
    "The cells sum to the cosine exactly. “special” is the special tokens together. They are of the last layer, whose tokens have read each other, so they say where the similarity is, " +
      "not which word brought it there.",
    `Each text’s vector is ${WAYS[pooling] ?? MEAN}.`,
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
