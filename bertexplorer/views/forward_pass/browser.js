// The forward pass: the whole model on one text, from its pieces through every layer to the answer, drawn by a script of the page.
import {
  beyondLimit,
  clip,
  counted,
  decimal,
  grouped,
  joinNames,
  onlyFirstMask,
  percent,
  quote,
} from "../../web/static/site/wording.js";
import { attended, fed, outputs } from "../../web/static/site/halves.js";
import {
  areWords,
  checkNumber,
  linkWindow,
  placeName,
  strongestLinks,
} from "../../web/static/site/heads.js";
import { inputParts, longestPiece } from "../../web/static/site/inputs.js";
import {
  exponentials,
  length,
  percentile,
  range,
  sigmoid,
  sum,
  topk,
} from "../../web/static/numbers.js";

/** @import { Figure } from "../../web/static/types.d.ts" */

const ANSWERS = 6,
  RAISED = 3,
  NUMBERS = 10,
  STRONGEST = 0.99,
  ABOVE = 64,
  BELOW = 228,
  ROW = 24,
  LOW_ROW = 18,
  MANY = 12;
const ADDED = { 1: "A vector for each", 2: "Two vectors, added", 3: "Three vectors, added" };
const MEANING = {
  word: "which token it is",
  position: "where it stands",
  segment: "which sentence it is in",
};
const SHORT = { "B follows A": "it follows", "B does not follow": "it does not" }; // on a bar

export async function run(bert, text, { layer: open }) {
  checkNumber(open, bert.layers, "layer", 0);
  const end = await findEnd(bert, text);
  const { encoding, pass } = end;
  const positions = linkWindow(encoding, end.position);
  const followed = positions.indexOf(end.position);
  const every = range(bert.layers).map((layer) =>
    range(bert.heads).map((head) => positions.map((at) => pass.attention(layer, head, at))),
  );
  const links = strongestLinks(
    every,
    positions,
    areWords(bert, encoding),
    encoding.picked.length ? encoding.picked : [end.position], // what the pass is followed for, not any two words
  );
  const at = range(bert.layers).map((layer) => attended(bert, pass, layer, [end.position])[0]);
  const words = end.kind === "mask" || end.kind === "token";
  const raised = words ? await raisedWords(bert, pass, at, end.position) : [];
  const layers = range(bert.layers).map((layer) => ({
    weights: every[layer].map((head) =>
      head.map((row) => {
        const shown = positions.map((i) => row[i]);
        return [...shown, sum(row) - sum(shown)];
      }),
    ),
    link: links.find((link) => link.head[0] === layer) ?? null,
    output: outputs(bert, pass, layer, positions),
    raised: raised[layer] ?? [],
    answer: end.byLayer?.[layer] ?? null,
    lengths: [
      at[layer],
      fed(bert, layer, [at[layer]])[0],
      outputs(bert, pass, layer, [end.position])[0],
    ].map(length),
  }));
  const inputs = Object.entries(inputParts(bert, encoding)).map(([name, vectors]) => [
    name,
    positions.map((i) => vectors[i]),
  ]);
  return {
    bert,
    ...end,
    tokens: positions.map((i) => bert.tokenizer.pieces[encoding.ids[i]]),
    positions,
    special: positions.map((i) => encoding.special[i]),
    followed,
    others: encoding.ids.length - positions.length,
    inputs,
    layers,
    open: open ? open - 1 : (links[0]?.head[0] ?? bert.layers - 1),
    otherMasks: end.kind === "mask" ? encoding.masked.length - 1 : 0,
  };
}

/** The head that answers, the token that it reads, and what it says, after each layer where it can. */
async function findEnd(bert, text) {
  const encoding = bert.tokenizer.encode(text),
    pass = await bert.forward(encoding),
    { masked, picked } = encoding;
  if (
    !(masked.length && bert.has.includes("masked_lm")) &&
    encoding.secondStart >= 0 &&
    bert.has.includes("next_sentence") &&
    !picked.length
  ) {
    const [[yes, no]] = await bert.nextSentence([encoding]),
      p = sigmoid(yes - no);
    const answers = [
      { token: "B follows A", probability: p },
      { token: "B does not follow", probability: 1 - p },
    ].sort((a, b) => b.probability - a.probability);
    return { kind: "next sentence", encoding, pass, position: 0, answers };
  }
  const position = [
    ...masked.filter((at) => picked.includes(at)),
    ...masked,
    ...picked,
    longestPiece(encoding),
  ][0];
  if (!bert.has.includes("masked_lm"))
    return { kind: "vector", encoding, pass, position, answers: [] };
  const rows = await bert.logProbs(bert.readable(pass, position).slice(1));
  const best = (row, count) =>
    topk(row, count).map((id) => ({
      token: bert.tokenizer.pieces[id],
      probability: Math.exp(row[id]),
    }));
  return {
    kind: masked.includes(position) ? "mask" : "token",
    encoding,
    pass,
    position,
    answers: best(rows.at(-1), ANSWERS),
    byLayer: rows.map((row) => best(row, 1)[0]),
  };
}

/** For each layer the words that its feed-forward half makes more probable at the followed token. */
async function raisedWords(bert, pass, vectors, position) {
  const after = bert.readable(pass, position).slice(1);
  const rows = await bert.logProbs([...bert.asRead(vectors), ...after]);
  return range(bert.layers).map((layer) => {
    const [from, to] = [rows[layer], rows[layer + bert.layers]].map(exponentials),
      rise = new Float32Array(from.length);
    for (let i = 0; i < rise.length; i += 1) rise[i] = to[i] - from[i];
    return topk(rise, RAISED).map((i) => ({
      token: bert.tokenizer.pieces[i],
      before: from[i],
      after: to[i],
    }));
  });
}

export function rows({ bert, pass, tokens, positions, inputs, layers, followed }) {
  const row = (layer, i, after, added, whole, answer) => ({
    layer,
    position: positions[i],
    token: tokens[i],
    length_after_attention: after,
    length_added: added,
    length: whole,
    answer: answer?.token ?? null,
    probability: answer?.probability ?? null,
  });
  const first = inputs.at(-1)[1],
    table = tokens.map((_, i) => row(0, i, null, null, length(first[i])));
  layers.forEach(({ output, answer }, layer) => {
    const vectors = attended(bert, pass, layer, positions),
      added = fed(bert, layer, vectors);
    tokens.forEach((_, i) =>
      table.push(
        row(
          layer + 1,
          i,
          length(vectors[i]),
          length(added[i]),
          length(output[i]),
          i === followed && answer,
        ),
      ),
    );
  });
  return table;
}

// The picture.

/** @returns {Figure} */
export function draw(result) {
  const { tokens, special, others, followed, layers, open, inputs } = result;
  const count = tokens.length + (others > 0);
  const row = count <= MANY ? ROW : LOW_ROW;
  const stages = [...addends(result), ["sum", inputs.at(-1)[1]]];
  const data = {
    tokens: tokens.map((token, i) => ({ text: clip(token, 12), special: special[i] })),
    others,
    row,
    highlighted: followed,
    followed: clip(tokens[followed], 12),
    pieces: { title: "What goes in", says: sayPieces(result), door: { view: "tokenization" } },
    vectors: {
      title: ADDED[stages.length - 1],
      says: sayVectors(result),
      door: { view: "input-vectors" },
      stages: stages.map(([name, vectors]) => ({ name, strip: strip(vectors) })),
    },
    layers: layers.map((_, i) => drawLayer(result, i)),
    open,
    heads: layers[open].weights.map(rounded),
    end: drawEnd(result),
  };
  return { picture: "model", data, layout: { height: ABOVE + BELOW + row * count } };
}

function drawLayer(result, index) {
  const part = result.layers[index],
    head = part.link?.head[1] ?? 0,
    { answer, lengths } = part;
  return {
    number: index + 1,
    head: head + 1,
    weights: rounded(part.weights[head]),
    link: drawLink(result, part.link),
    strip: strip(part.output),
    answer: answer && { token: answer.token, share: percent(answer.probability) },
    lengths: lengths.map((one) => decimal(one, 1)),
    raised: gains(part).map((word) => ({
      token: word.token,
      from: percent(word.before),
      to: percent(word.after),
    })),
    attention: {
      says: sayAttention(result, part, index),
      door: { view: "attention", set: { show: "arcs", layer: index + 1, head: head + 1 } },
    },
    feed_forward: {
      says: sayFeedForward(result, part, index),
      door: { view: "neurons", set: { layer: index + 1 } },
    },
  };
}

function drawLink({ tokens, positions }, link) {
  if (
    !link ||
    link.positional ||
    !positions.includes(link.source) ||
    !positions.includes(link.target)
  )
    return null;
  const [source, target] = [link.source, link.target].map((at) => positions.indexOf(at));
  return {
    to: source,
    from: target,
    words: `${clip(tokens[source], 12)} ← ${clip(tokens[target], 12)}`,
    share: percent(link.weight),
  };
}

function drawEnd(result) {
  const { kind, answers } = result;
  const end = {
    title: "What comes out",
    says: sayEnd(result),
    scored: false,
    door: { view: { "next sentence": "next-sentence", vector: "word-path" }[kind] ?? "fill-mask" },
  };
  if (kind === "vector") return { ...end, bars: [], what: "a vector for each token" };
  return {
    ...end,
    what: read(result, clip(result.tokens[result.followed], 12)),
    bars: answers.map(({ token, probability }) => ({
      token: SHORT[token] ?? token,
      share: probability,
      text: percent(probability),
    })),
  };
}

const read = ({ kind }, token) =>
  kind === "next sentence" ? "whether B follows A" : `the word at ${token}`;
const addends = ({ inputs }) => inputs.filter(([name]) => name in MEANING);
const gains = ({ raised }) => raised.filter((word) => word.after - word.before >= 0.001);
const rounded = (rows) => rows.map((row) => row.map((one) => Math.round(1000 * one) / 1000));

/** The first numbers of each vector, from -1 to 1, the strongest colours. */
function strip(vectors) {
  const limit =
    percentile(
      vectors.flatMap((vector) => Array.from(vector, Math.abs)),
      STRONGEST,
    ) || 1;
  return vectors.map((vector) =>
    Array.from(
      vector.subarray(0, NUMBERS),
      (one) => Math.round(100 * Math.max(-1, Math.min(1, one / limit))) / 100,
    ),
  );
}

// The sentences of the parts, and of the whole.

function sayPieces({ tokens, others }) {
  const shown = others ? ` ${tokens.length} of them are shown.` : "";
  return `What goes in: ${counted(tokens.length + others, "token")}, words or pieces of words.${shown} Grey ones are marks that BERT adds. Every row from here to the right is one token.`;
}

function sayVectors(result) {
  const names = addends(result).map(([name]) => name),
    size = grouped(result.bert.hidden_size);
  const how =
    names.length === 1
      ? `Each token is looked up in a table: a vector of ${size} numbers.`
      : `Each token becomes the sum of vectors of ${size} numbers: ${joinNames(names.map((name) => `${name} (${MEANING[name]})`))}.`;
  return `${how} ${NUMBERS} of these numbers are drawn, blue above 0 and orange below.`;
}

function sayAttention(result, { link }, index) {
  const start = `Layer ${index + 1}, attention: each token gathers from the others.`;
  return link
    ? `${start} In head ${placeName(link.head)}, ${sayLink(result, link)}.${link.positional ? " It looks the same distance away in most places." : ""}`
    : `${start} There are no two words to connect.`;
}

function sayLink({ tokens, positions }, { source, target, weight }) {
  const name = (at) =>
    positions.includes(at) ? quote(tokens[positions.indexOf(at)]) : `token ${at + 1}`;
  return `${name(source)} gives ${percent(weight)} of its attention to ${name(target)}`;
}

function sayFeedForward({ bert, tokens, followed }, part, index) {
  const start = `Layer ${index + 1}, feed-forward: each token alone passes through ${grouped(bert.intermediate_size)} neurons, which add to its vector.`;
  const words = gains(part);
  return words.length
    ? `${start} At ${quote(tokens[followed])} this raises ${joinNames(words.map((word) => `${quote(word.token)} from ${percent(word.before)} to ${percent(word.after)}`))}.`
    : start;
}

function sayEnd(result) {
  const {
      kind,
      bert,
      answers: [best],
    } = result,
    token = quote(result.tokens[result.followed]);
  if (kind === "vector") {
    return `What comes out: a vector of ${grouped(bert.hidden_size)} numbers for each token. This checkpoint has no head that reads them.`;
  }
  const into =
    kind === "next sentence"
      ? read(result, token)
      : `a probability for each of ${grouped(bert.tokenizer.pieces.length)} pieces`;
  return `What comes out: the head turns the vector of ${token} into ${into}. First is ${quote(best.token)}, ${percent(best.probability)}.`;
}

export function say(result) {
  const total = result.tokens.length + result.others,
    count = result.layers.length,
    { link } = result.layers[result.open];
  return [
    `${counted(total, "token")} ${total === 1 ? "goes" : "go"} in. ${count === 1 ? "The one layer" : `Each of the ${count} layers`} first lets every token take in something from the others (attention), then changes each token by itself (feed-forward).`,
    ...(link && !link.positional
      ? [`In head ${placeName(link.head)}, ${sayLink(result, link)}.`]
      : []),
    sayOutcome(result),
    ...onlyFirstMask(result.otherMasks),
    ...beyondLimit(result.encoding.leftOut),
  ].join(" ");
}

/** What comes out, and since which layer. */
function sayOutcome({ kind, answers: [best], layers, tokens, followed }) {
  if (kind === "vector")
    return "A vector for each token comes out; this checkpoint has no head that reads them.";
  if (kind === "token") {
    return `Nothing is hidden, so the head repeats the word at ${quote(tokens[followed])}. Hide a word to ask for a guess.`;
  }
  const settled = layers[0].answer
    ? layers.findLastIndex((part) => part.answer.token !== layers.at(-1).answer.token) + 1
    : 0;
  let since = "";
  if (settled) {
    const isLast = settled + 1 === layers.length;
    const where = isLast ? "only in the last layer" : `from layer ${settled + 1} on`;
    since = `; it is the first answer ${where}`;
  }
  return `${quote(best.token)} comes out (${percent(best.probability)})${since}.`;
}
