// Layers: the prediction of the checkpoint's own head after each layer, and the layer at which it settles.
import {
  grouped,
  layerName,
  onlyFirstMask,
  percent,
  quote,
} from "../../web/static/site/wording.js";
import { bestOf, encodeMasked, parseWords } from "../../web/static/site/masks.js";
import { argmax, entropyBits, most, range, rankOf, topk } from "../../web/static/numbers.js";
import { askLabel, askReplaced, onePiece, resolveTarget } from "../../web/static/site/question.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Cells, Figure, Lines } from "../../web/static/types.d.ts" */

const MAX_FOLLOWED = 8,
  FINAL = 3; // words that are followed; final answers, if none is named
const DRAWN = 5; // answers of a layer
const TONES = ["blue", "orange", "green", "pink", "ochre", "sky", "brown", "grey"];
const DASHES = ["solid", "solid", "solid", "dash", "dash", "dash", "dot", "dot"];

export async function run(bert, text, { words, top }) {
  const wanted = parseWords(words);
  if (wanted.length > MAX_FOLLOWED) {
    throw new Refusal(
      `${wanted.length} words were given to follow; the limit is ${MAX_FOLLOWED}. Remove some.`,
    );
  }
  const { encoding, position, names, subject, noun, was, find, byLayer } = await toRead(bert, text);
  const found = await byLayer(await bert.forward(encoding));
  const final = found.at(-1);
  const ids = wanted.length
    ? wanted.map(find)
    : [...topk(final, Math.min(FINAL, names.length)), ...(was === null ? [] : [was])];
  const followed = [...new Set(ids)].map((id) => ({
    token: names[id],
    id,
    ranks: found.map((row) => rankOf(row, id)),
    probabilities: found.map((row) => Math.exp(row[id])),
    hidden: noun === "word" && id === was,
  }));
  return {
    position,
    subject,
    noun,
    otherMasks: noun === "word" ? encoding.masked.length - 1 : 0,
    settled: 1 + found.findLastIndex((row) => argmax(row) !== argmax(final)),
    followed: followed.sort(
      (a, b) => a.ranks.at(-1) - b.ranks.at(-1) || b.probabilities.at(-1) - a.probabilities.at(-1),
    ),
    layers: found.map((row) => ({
      candidates: bestOf(names, row, top),
      entropy: entropyBits(row),
      divergence: divergence(final, row),
    })),
  };
}

/** What is read after each layer: what a fine-tuned head or a discriminator says, or a word. */
async function toRead(bert, text) {
  const target = resolveTarget(bert, text, "answer");
  if (target !== "label" && target !== "tag") return ofMask(bert, encodeMasked(bert, text));
  const encoding = bert.tokenizer.encode(text);
  const question =
    target === "label" ? await askLabel(bert, encoding) : await askReplaced(bert, encoding);
  return { ...question, noun: target, was: question.index };
}

/** What is read at the first mask of *encoding*: a word. */
function ofMask(bert, encoding) {
  const [position] = encoding.masked,
    original = encoding.originalIds[position];
  return {
    encoding,
    position,
    names: bert.tokenizer.pieces,
    subject: "",
    noun: "word",
    was: original === bert.tokenizer.maskId ? null : original, // followed besides the best
    find: (word) => onePiece(bert, encoding, position, word),
    byLayer: (pass) => bert.logProbs(bert.readable(pass, position)),
  };
}

/** Kullback-Leibler divergence in bits of the *final* answer from that of a layer; both are natural logs. */
function divergence(final, row) {
  let total = 0;
  final.forEach((one, i) => {
    total += Math.exp(one) * (one - row[i]);
  });
  return Math.max(0, total) / Math.LN2;
}

export function rows({ position, layers, followed }) {
  return layers.flatMap(({ candidates, entropy, divergence: far }, layer) => {
    const bits = {
      entropy_bits: entropy,
      kl_to_final_bits: far,
      lens: "raw",
      held_out_kl_raw_bits: null,
      held_out_kl_tuned_bits: null,
    };
    const row = (kind, { rank, token, probability }) => ({
      layer,
      position,
      kind,
      rank,
      token,
      probability,
      ...bits,
    });
    const there = followed.map(({ token, ranks, probabilities }) => ({
      token,
      rank: ranks[layer],
      probability: probabilities[layer],
    }));
    return [
      ...candidates.map((one) => row("answer", one)),
      ...there.map((one) => row("followed", one)),
    ];
  });
}

/** @returns {Figure} */
export function draw({ layers, followed, noun }) {
  const steps = ["in", ...range(layers.length - 1, 1).map(String)];
  /** @returns {Lines[]} */
  const lines = (lines, /** @type {Lines["scale"]} */ scale = "linear") => [
    { kind: "lines", steps, lines, scale },
  ];
  return {
    marks: 1,
    panels: [
      { marks: [answers(layers)] },
      {
        title: `rank of the ${noun} (1 is the first choice)`,
        marks: lines(followed.map(rankLine), "rank"),
      },
      { title: "bits", x: "after layer", marks: lines(bits(layers)) },
    ],
  };
}

/** A row for each layer from the input down, the first choice on the left.
 *  @returns {Cells} */
function answers(layers) {
  const rows = layers.map((_, layer) => layerName(layer)),
    best = layers.map(({ candidates }) => candidates.slice(0, DRAWN));
  const values = best.map((row) => row.map((one) => one.probability));
  const text = best.map((row) => row.map((one) => `${one.token}\n${percent(one.probability)}`));
  const hover = best.map((row, i) => {
    const bits = `${layers[i].entropy.toFixed(1)} bits of uncertainty, ${layers[i].divergence.toFixed(1)} from the final answer`;
    return row.map((one) => `${rows[i]}: ${one.token}\n${bits}`);
  });
  return {
    kind: "cells",
    rows,
    columns: [],
    values,
    low: 0,
    high: Math.max(0.01, most(values.flat())),
    text,
    hover,
  };
}

function rankLine({ token, ranks, probabilities }, i) {
  const hover = ranks.map(
    (rank, layer) =>
      `${token} ${layer || "input"}: rank ${grouped(rank)}, ${percent(probabilities[layer])}`,
  );
  return {
    name: token,
    values: ranks,
    end: `${grouped(ranks.at(-1))} ${token}`,
    tone: TONES[i],
    dash: DASHES[i],
    hover,
  };
}

/** The uncertainty of each layer's answer, and its distance from the final one. */
function bits(layers) {
  const uncertainty = layers.map((one) => one.entropy),
    distance = layers.map((one) => one.divergence);
  return [
    {
      name: "uncertainty, bits",
      values: uncertainty,
      end: `${uncertainty.at(-1).toFixed(1)} unsure`,
    },
    {
      name: "to the final answer, bits",
      values: distance,
      end: `${distance.at(-1).toFixed(1)} to final`,
      tone: "orange",
      dash: "dash",
    },
  ];
}

export function say({ layers, followed, otherMasks, settled, subject }) {
  const first = layers[0],
    last = layers.at(-1),
    [final] = last.candidates;
  let start = `stays the first choice from layer ${settled} of ${layers.length - 1} on`;
  if (settled === 0) start = "is the first choice from the input on";
  else if (settled === layers.length - 1) start = "becomes the first choice only in the last layer";
  const told = followed
    .filter((word) => word.id !== final.id || !settled)
    .slice(0, 2)
    .map(({ token, ranks, hidden }) => {
      const [from, to] = [ranks[0], ranks.at(-1)].map((rank) => grouped(rank));
      return `${hidden ? "The hidden " : ""}${quote(token)} ${from === to ? `stays at rank ${to}` : `goes from rank ${from} to rank ${to}`}.`;
    });
  return [
    `${subject}${quote(final.token)} ${start} and ends at ${percent(final.probability)}; the input alone would have put ${quote(first.candidates[0].token)} first.`,
    ...told,
    `The uncertainty goes from ${first.entropy.toFixed(1)} to ${last.entropy.toFixed(1)} bits,`,
    `and one layer before the end the answer is still ${layers.at(-2).divergence.toFixed(1)} bits away from the final one.`,
    ...onlyFirstMask(otherMasks),
  ].join(" ");
}
