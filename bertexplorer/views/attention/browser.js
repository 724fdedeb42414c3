// Attention: which token looks at which, in one head, in several together, or in all of them side by side.
import { arcsOf, sayCut } from "../../web/static/site/arcs.js";
import { beyondLimit, clip, percent, quote } from "../../web/static/site/wording.js";
import {
  isPunctuation,
  nameHeads,
  oneOrAll,
  parseHeads,
  placeName,
  strongestLinks,
} from "../../web/static/site/heads.js";
import { argmax, length, meanRow, median, most, range } from "../../web/static/numbers.js";
import { pixelStep, pool, tiles } from "../../web/static/site/tiles.js";
import { valuesOf } from "../../web/static/site/halves.js";
import { between, meanOf, rescale, unitsOf } from "../../web/static/site/units.js";
import { Refusal } from "../../web/static/site/refusal.js";

const MAX_ROWS = 100_000; // of an exported file
const NUMBERED = 10,
  MAPPED = 512; // tokens up to which cells show their numbers, and up to which each has its own row

export async function run(bert, text, options) {
  const chosen = parseHeads(options.heads, bert),
    wanted = chosen.length ? chosen : oneOrAll(options.layer, options.head, bert);
  const encoding = bert.tokenizer.encode(text);
  const pass = await bert.forward(encoding);
  const [rows, columns] = select(unitsOf(bert, encoding, options.merge), options);
  const isNorm = options.measure === "norm",
    scale = options.special === "discounted" ? rescale : (matrix) => matrix;
  const every = range(bert.layers).map((layer) => {
    const lengths = isNorm && valueLengths(bert, pass, layer);
    return range(bert.heads).map((head) =>
      scale(
        between(
          (i) => {
            const weights = pass.attention(layer, head, i);
            return isNorm ? weights.map((one, j) => one * lengths[head][j]) : weights;
          },
          rows,
          columns,
        ),
      ),
    );
  });
  const together =
    options.combine === "max"
      ? (stack) => columns.map((_, j) => most(stack.map((row) => row[j])))
      : (stack) => [...meanRow(stack)];
  const matrix = rows.map((_, i) => together(wanted.map(([layer, head]) => every[layer][head][i])));
  const { about, picked, notes } = focus(encoding, rows, columns, matrix),
    shares = isNorm && options.special === "discounted";
  const words = rows.map((unit) => !unit.special && !isPunctuation(unit.label));
  const link =
    options.show === "grid" && rows === columns
      ? strongestLinks(every, range(rows.length), words, picked ? about : [])[0]
      : null;
  return {
    show: options.show,
    combine: options.combine,
    special: options.special,
    rows,
    columns,
    every,
    chosen: wanted,
    matrix,
    about,
    picked,
    notes,
    norms: isNorm && !shares,
    shares,
    gives: [...meanOf(matrix, about)],
    byHead: every.map((layer) => layer.map((one) => [...meanOf(one, about)])),
    link: link && !link.positional ? link : null,
    leftOut: encoding.leftOut,
    layers: bert.layers,
    heads: bert.heads,
  };
}

/** The length of what each token would give in each head of *layer*: ‖(x W_V + b_V) W_O‖ (Kobayashi et al., 2020, equation 3). */
function valueLengths(bert, pass, layer) {
  const start = `encoder.layers.${layer}.attention`,
    values = valuesOf(bert, pass, layer);
  const { data, transposed } = bert.tensor(`${start}.output.weight`);
  const width = bert.hidden_size,
    size = width / bert.heads;
  return range(bert.heads).map((head) =>
    values.map((value) => {
      const mixed = new Float64Array(width);
      for (let i = head * size; i < (head + 1) * size; i += 1) {
        for (let o = 0; o < width; o += 1)
          mixed[o] += value[i] * data[transposed ? i * width + o : o * width + i];
      }
      return length(mixed);
    }),
  );
}

/** The units that look and those that are looked at. */
function select(units, { special, direction }) {
  const visible = units.filter((unit) => special === "shown" || !unit.special);
  if (!visible.length)
    throw new Refusal("The text has only [CLS] and [SEP], and these are hidden. Type a sentence.");
  if (direction === "all") return [visible, visible];
  const [first, second] = [0, 1].map((side) => visible.filter((unit) => unit.side === side));
  if (!first.length || !second.length) {
    throw new Refusal(
      `'${direction}' needs a pair of sentences; the text is a single one. Add a second sentence, or choose 'all'.`,
      "pair",
    );
  }
  return direction === "A to B" ? [first, second] : [second, first];
}

/** The rows that the view is about: the picked ones, else the first mask, else the row that gives most to another word. */
function focus(encoding, rows, columns, matrix) {
  const holding = (positions) =>
    range(rows.length).filter((i) => rows[i].positions.some((at) => positions.includes(at)));
  const picked = holding(encoding.picked);
  if (picked.length) return { about: picked, picked: true, notes: [] };
  const notes = encoding.picked.length
      ? ["The picked token is not among those that look here."]
      : [],
    masks = holding(encoding.masked);
  if (masks.length) return { about: [masks[0]], picked: false, notes };
  const largest = rows.map((a, i) =>
    a.special ? -1 : most(columns.map((b, j) => (a === b || b.special ? -1 : matrix[i][j]))),
  );
  return { about: [argmax(largest)], picked: false, notes };
}

export function rows(result) {
  const { show, every, matrix, about, chosen, combine } = result,
    size = every.length * every[0].length * matrix.length * matrix[0].length;
  const unit = result.norms ? "norm" : result.shares ? "share of the norms" : "weight";
  const table = (heads, values, looking = result.rows, measure = unit) =>
    looking.flatMap((a, i) =>
      result.columns.map((b, j) => ({
        heads,
        from: a.label,
        from_position: a.positions[0],
        to: b.label,
        to_position: b.positions[0],
        value: values[i][j],
        measure,
      })),
    );
  const grid = (values, ...more) =>
    values.flatMap((layer, i) => layer.flatMap((one, j) => table(placeName([i, j]), one, ...more)));
  if (show === "grid" && size <= MAX_ROWS) return grid(every);
  if (show === "grid")
    return grid(
      result.byHead.map((layer) => layer.map((one) => [one])),
      [
        {
          label: subject(result),
          positions: result.rows[about[0]].positions,
        },
      ],
      `${unit}, only from the token that the view is about: all would be ${size.toLocaleString("en")} rows`,
    );
  const heads = nameHeads(chosen, result);
  return table(chosen.length === 1 ? heads : `${combine} of ${heads}`, matrix);
}

export async function draw(result) {
  const panels = await {
    grid,
    arcs: (one) => [{ marks: [arcsOf(one, (value) => number(one, value))] }],
    head: map,
  }[result.show](result);
  return { marks: 1, panels, buttons: buttons(result) };
}

/** The head that shows most, and the special tokens in or out. */
function buttons(result) {
  const { link } = result,
    found = [];
  if (link)
    found.push({
      text: `Open ${placeName(link.head)}: ${clip(result.rows[link.source].label, 12)} → ${clip(result.columns[link.target].label, 12)}`,
      door: { set: opened(link.head, "arcs") },
    });
  if (result.columns.some((unit) => unit.special)) {
    found.push({ text: "Leave out [CLS] and [SEP]", door: { set: { special: "discounted" } } });
  } else if (result.special !== "shown") {
    found.push({ text: "Show [CLS] and [SEP]", door: { set: { special: "shown" } } });
  }
  return found;
}

const opened = ([layer, head], show = "head") => ({
  show,
  layer: layer + 1,
  head: head + 1,
  heads: "",
});
const number = ({ norms }, value) => (norms ? value.toFixed(2) : percent(value));
const subject = ({ rows: units, about }) => about.map((i) => units[i].label).join(" ");
const largestOf = (every) =>
  most(every.map((layer) => most(layer.map((one) => most(one.map((row) => most(row)))))));

/** All heads; a press on one opens it. */
async function grid(result) {
  const { every, link, layers, heads } = result,
    top = largestOf(every);
  const each = (write) => range(layers).map((i) => range(heads).map((j) => write([i, j])));
  const table = {
    kind: "tiles",
    picture: await tiles(every, result.norms ? top || 1 : 1),
    rows: range(layers).map((i) => `${i + 1}`),
    columns: range(heads).map((j) => `${j + 1}`),
    hover: each((place) => hover(result, place)),
    doors: each((place) => ({ set: opened(place) })),
    framed: link ? [link.head] : [],
  };
  const strongest = result.norms
    ? number(result, top)
    : `100 %, largest here ${number(result, top)}`;
  return [
    { title: `layers down, heads across · strongest: ${strongest}`, marks: [table] },
    ...shared(pixelStep(every), "pixel"),
  ];
}

/** A note below if *step* tokens share a *unit*. */
const shared = (step, unit) =>
  step > 1
    ? [
        {
          marks: [
            { kind: "text", lines: [{ text: `${step} tokens share a ${unit}: their largest` }] },
          ],
        },
      ]
    : [];

function hover(result, [layer, head]) {
  const gives = result.byHead[layer][head],
    best = argmax(gives);
  return `head ${placeName([layer, head])}: ${clip(subject(result), 30)} gives ${number(result, gives[best])} to ${result.columns[best].label}`;
}

/** A row for each attending token, a column for each target. */
function map(result) {
  const { norms } = result,
    step = mapStep(result);
  const values = pool(result.matrix, step).map((row) =>
    row.map((one) => Math.round(1e4 * one) / 1e4),
  );
  const [down, across] = [result.rows, result.columns].map((units) =>
    units.filter((_, i) => i % step === 0).map((unit) => unit.label),
  );
  const isSmall = Math.max(down.length, across.length) <= NUMBERED;
  const written = (one) => (norms ? one.toFixed(2) : (100 * one).toFixed(0));
  const table = {
    kind: "cells",
    rows: down,
    columns: across,
    values,
    palette: "root",
    low: 0,
    high: most(values.map((row) => most(row))) || 1,
    text: isSmall ? values.map((row) => row.map(written)) : undefined,
    tokens: true,
    verb: norms ? "takes from" : "gives to",
    unit: norms ? "" : "share",
  };
  const strongest = number(result, most(result.matrix.map((row) => most(row))));
  return [
    { title: `rows look at columns · strongest: ${strongest}`, marks: [table] },
    ...shared(step, "cell"),
  ];
}

const mapStep = ({ matrix }) =>
  Math.max(1, Math.ceil(Math.max(matrix.length, matrix[0].length) / MAPPED));

export function say(result) {
  const kinds = {
    hidden: "[CLS] and [SEP] are left out.",
    discounted: "Shares are of what is left without [CLS], [SEP].",
  };
  return [
    result.show === "grid" ? sayGrid(result) : sayMap(result),
    kinds[result.special],
    result.show === "arcs" ? sayCut(result) : sayPooled(result),
    ...result.notes,
    ...beyondLimit(result.leftOut),
  ]
    .filter(Boolean)
    .join(" ");
}

function sayPooled(result) {
  const isGrid = result.show === "grid",
    step = isGrid ? pixelStep(result.every) : mapStep(result);
  return step > 1
    ? `${step} neighbouring tokens share ${isGrid ? "a pixel" : "a cell"}, which shows the largest.`
    : "";
}

/** The main targets of the tokens that the view is about, compared with the other heads. */
function sayMap(result) {
  const best = argmax(result.gives),
    all = result.layers * result.heads;
  const usual = number(result, median(result.byHead.flat().map((gives) => gives[best])));
  return `${sayCombined(result)}${result.chosen.length === all ? "" : `; a random head gives ${usual} (median of all ${all} heads)`}.`;
}

function sayCombined(result) {
  const { gives, columns, about } = result,
    best = argmax(gives),
    own = about.map((i) => result.rows[i]);
  const others = range(columns.length).filter(
    (j) => !columns[j].special && !own.includes(columns[j]),
  );
  const other = others[argmax(others.map((j) => gives[j]))],
    isOdd = own.includes(columns[best]) || columns[best].special;
  const more =
    isOdd && others.length
      ? `, and of the other words most to ${quote(columns[other].label)} (${number(result, gives[other])})`
      : "";
  return `${describeHeads(result)} ${quote(clip(subject(result), 40))} ${givesTo(result, gives[best], best)}${more}`;
}

/** The chosen heads, at the start of a sentence. */
function describeHeads({ chosen, combine, layers, heads }) {
  const together = combine === "mean" ? "averaged" : "each number the largest of them",
    [layer, head] = chosen[0];
  if (chosen.length === 1) return `In layer ${layer + 1}, head ${head + 1},`;
  if (chosen.length === layers * heads) return `Over all ${chosen.length} heads, ${together},`;
  if (chosen.length === heads && chosen.every((one) => one[0] === layer))
    return `In layer ${layer + 1}, its ${heads} heads ${together},`;
  return `Over the heads ${chosen.slice(0, 6).map(placeName).join(", ")}${chosen.length > 6 ? ` and ${chosen.length - 6} more` : ""}, ${together},`;
}

function givesTo(result, value, column) {
  const to = quote(result.columns[column].label);
  if (result.norms) return `takes in a vector of length ${value.toFixed(2)} from ${to}`;
  return result.shares
    ? `has ${percent(value)} of what it takes in from ${to}`
    : `gives ${percent(value)} of its attention to ${to}`;
}

/** The head that shows most, special ones left aside, and what the tokens that the view is about do in all heads together. */
function sayGrid(result) {
  const together =
    result.chosen.length === result.layers * result.heads ? ` ${sayCombined(result)}.` : "";
  return `Each tile is a head: rows look, columns are looked at. ${sayStrongest(result)}${together}`;
}

function sayStrongest(result) {
  const { link, every, byHead, columns, about } = result;
  if (link) {
    const middle = number(result, median(every.flat().map((one) => one[link.source][link.target])));
    return (
      `Besides heads that look the same distance away everywhere, ${placeName(link.head)} shows most: ` +
      `${quote(clip(result.rows[link.source].label, 40))} ${givesTo(result, link.weight, link.target)} (median of all heads ${middle}).`
    );
  }
  const own = about.map((i) => result.rows[i]);
  const others = range(columns.length).filter(
    (j) => !columns[j].special && !own.includes(columns[j]),
  );
  const among = others.length ? others : range(columns.length);
  const places = byHead.flatMap((layer, i) =>
    layer.flatMap((gives, j) =>
      among.map((column) => ({ head: [i, j], column, value: gives[column] })),
    ),
  );
  const { head, column, value } = places[argmax(places.map((one) => one.value))];
  return (
    `In head ${placeName(head)} ${quote(clip(subject(result), 40))} ${givesTo(result, value, column)}, ` +
    `more than in any other head (median ${number(result, median(byHead.flat().map((gives) => gives[column])))}).`
  );
}

export function colours({ columns, gives }) {
  const top = most(gives) || 1;
  return Object.fromEntries(
    columns.flatMap(({ positions }, j) => positions.map((at) => [at, gives[j] / top])),
  );
}
