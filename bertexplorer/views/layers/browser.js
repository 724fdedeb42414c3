// Layers: the prediction of the checkpoint's own head after each layer, and the layer at which it settles.
import {
  ACCENT, cells, Chart, down, GREY, grouped, GROUPS, heightOf, HOVER, ink, label, layerAxis, layerName, line, lineNames,
  onlyFirstMask, ORANGE, percent, quote, range, room, safe, SHADES, title,
} from "../chart.js";
import { bestPieces, encodeMasked, parseWords } from "../masks.js";
import { argmax, entropyBits, most, rankOf, topk } from "../numbers.js";
import { onePiece } from "../question.js";
import { Refusal } from "../tokens.js";

const MAX_FOLLOWED = 8, FINAL = 3;  // words that are followed; final answers, if none is named
const DRAWN = 5, LETTERS = [30, 18, 11, 8, 7];  // answers of a layer; letters of each, by their number
const CELL = 40, RANKS = 250, BITS = 130, GAP = 62, PLOT = 0.64;  // pixels; share of the width for the lines, whose names are to the right
const COLOURS = [...GROUPS, GREY], DASHES = ["solid", "solid", "solid", "dash", "dash", "dash", "dot", "dot"];

export async function run(bert, text, { words, top }) {
  const wanted = parseWords(words), { pieces, maskId } = bert.tokenizer;
  if (wanted.length > MAX_FOLLOWED) {
    throw new Refusal(`${wanted.length} words were given to follow; the limit is ${MAX_FOLLOWED}. Remove some.`);
  }
  const encoding = encodeMasked(bert, text), [position] = encoding.masked, pass = await bert.forward(encoding);
  const found = await bert.logProbs(range(bert.layers + 1).map((layer) => pass.vector(layer, position)));
  const final = found.at(-1);
  const was = encoding.originalIds[position];
  const ids = wanted.length ? wanted.map((word) => onePiece(bert, word)) : [...topk(final, FINAL), ...(was === maskId ? [] : [was])];
  const followed = [...new Set(ids)].map((id) => ({
    token: pieces[id], id, ranks: found.map((row) => rankOf(row, id)),
    probabilities: found.map((row) => Math.exp(row[id])),
    hidden: id === was,
  }));
  return {
    position, otherMasks: encoding.masked.length - 1, settled: 1 + found.findLastIndex((row) => argmax(row) !== argmax(final)),
    followed: followed.sort((a, b) => a.ranks.at(-1) - b.ranks.at(-1) || b.probabilities.at(-1) - a.probabilities.at(-1)),
    layers: found.map((row) => ({ candidates: bestPieces(bert, row, top), entropy: entropyBits(row), divergence: divergence(final, row) })),
  };
}

/** Kullback-Leibler divergence in bits of the *final* answer from that of a layer; both are natural logs. */
function divergence(final, row) {
  let total = 0;
  final.forEach((one, i) => { total += Math.exp(one) * (one - row[i]); });
  return Math.max(0, total) / Math.LN2;
}

export function rows({ position, layers, followed }) {
  return layers.flatMap(({ candidates, entropy, divergence: far }, layer) => {
    const bits = { entropy_bits: entropy, kl_to_final_bits: far, lens: "raw", held_out_kl_raw_bits: null, held_out_kl_tuned_bits: null };
    const row = (kind, { rank, token, probability }) => ({ layer, position, kind, rank, token, probability, ...bits });
    const there = followed.map(({ token, ranks, probabilities }) => ({ token, rank: ranks[layer], probability: probabilities[layer] }));
    return [...candidates.map((one) => row("answer", one)), ...there.map((one) => row("followed", one))];
  });
}

export function draw(result) {
  const { layers } = result, heights = [CELL * layers.length, RANKS, BITS];
  const chart = Chart.panels(heights, GAP, ["", "rank of the word (1 is the first choice)", "bits"]);
  drawAnswers(chart, layers);
  const nameLines = [drawRanks(chart, result), drawBits(chart, layers)];
  for (const row of [2, 3]) chart.axes("x", layerAxis(layers.length, PLOT), row);
  chart.axes("x", { title: title("after layer") }, 3);
  for (const name of nameLines) name(layers.length - 1 + room(layers.length));
  return chart.finish(heightOf(heights, GAP) + 56, { margin: { l: 8, r: 12, t: 8, b: 48 } });
}

/** A row for each layer from the input down, the first choice on the left. */
function drawAnswers(chart, layers) {
  const count = Math.min(DRAWN, layers[0].candidates.length), lines = layers.map(({ candidates }) => candidates.slice(0, count));
  const names = layers.map((_, layer) => layerName(layer));
  const shares = lines.map((ones) => ones.map((one) => one.probability));
  const text = lines.map((ones) => ones.map((one) => `${label(one.token, LETTERS[count - 1])}<br>${percent(one.probability)}`));
  const bits = layers.map(({ entropy, divergence: far }) =>
    `${entropy.toFixed(1)} bits of uncertainty, ${far.toFixed(1)} from the final answer`);
  const hover = lines.map((ones, layer) => ones.map((one) => `${names[layer]}: ${safe(one.token)}<br>${bits[layer]}`));
  chart.add(cells(shares, SHADES, 0, Math.max(0.01, most(shares.flat())), { text, hover, textfont: ink(count < 4 ? 13 : 12) }), 1);
  chart.axes("y", down(names), 1);
  chart.axes("x", { visible: false }, 1);
}

/** A line for each followed word on a logarithmic axis, rank 1 on top. Returns what names the lines at their right ends. */
function drawRanks(chart, { followed }) {
  followed.forEach(({ token, ranks, probabilities }, i) => {
    const customdata = ranks.map((rank, layer) =>
      `${safe(token)} ${layer || "input"}: rank ${grouped(rank)}, ${percent(probabilities[layer])}`);
    chart.add(line(range(ranks.length), ranks, COLOURS[i], {
      customdata, dash: DASHES[i], size: ranks.length <= 13 ? 7 : 5, hovertemplate: HOVER,
    }), 2);
  });
  const low = Math.max(1, Math.log10(most(followed.flatMap((word) => word.ranks)))) * 1.04;
  const values = range(Math.floor(low) + 1).map((power) => 10 ** power);
  chart.axes("y", { type: "log", range: [low, -0.08], tickvals: values, ticktext: values.map((value) => grouped(value)) }, 2);
  return (x) => {
    const last = followed.map(({ token, ranks }) => [ranks.at(-1), token]);
    const texts = last.map(([rank, token]) => label(`${grouped(rank)} ${token}`, 14));
    const names = lineNames(x, last.map(([rank]) => Math.log10(rank)), texts, COLOURS.slice(0, last.length), [low, -0.08], RANKS);
    chart.add({ ...names, y: names.y.map((power) => 10 ** power) }, 2);
  };
}

/** The uncertainty of each layer's answer, and its distance from the final one. */
function drawBits(chart, layers) {
  const lines = [
    ["uncertainty", "unsure", ACCENT, "solid", layers.map((one) => one.entropy)],
    ["to the final answer", "to final", ORANGE, "dash", layers.map((one) => one.divergence)],
  ];
  const top = 1.08 * Math.max(1, ...lines.flatMap(([, , , , values]) => values));
  for (const [name, , colour, dash, values] of lines) {
    chart.add(line(range(values.length), values, colour, { dash, hovertemplate: `${name} %{y:.2f} bits<extra></extra>` }), 3);
  }
  chart.axes("y", { range: [0, top], nticks: 4 }, 3);
  const ends = lines.map(([, , , , values]) => values.at(-1)), texts = lines.map(([, short], i) => `${ends[i].toFixed(1)} ${short}`);
  return (x) => chart.add(lineNames(x, ends, texts, [ACCENT, ORANGE], [0, top], BITS), 3);
}

export function say({ layers, followed, otherMasks, settled }) {
  const first = layers[0], last = layers.at(-1), [final] = last.candidates;
  const start = settled
    ? `stays the first choice from layer ${settled} of ${layers.length - 1} on`
    : "is the first choice from the input on";
  const told = followed.filter((word) => word.id !== final.id || !settled).slice(0, 2).map(({ token, ranks, hidden }) => {
    const [from, to] = [ranks[0], ranks.at(-1)].map((rank) => grouped(rank));
    return `${hidden ? "The hidden " : ""}${quote(token)} ${from === to ? `stays at rank ${to}` : `goes from rank ${from} to rank ${to}`}.`;
  });
  return [
    `${quote(final.token)} ${start} and ends at ${percent(final.probability)}; the input alone would have put ${quote(first.candidates[0].token)} first.`,
    ...told,
    `The uncertainty goes from ${first.entropy.toFixed(1)} to ${last.entropy.toFixed(1)} bits,`,
    `and one layer before the end the answer is still ${layers.at(-2).divergence.toFixed(1)} bits away from the final one.`,
    ...onlyFirstMask(otherMasks),
  ].join(" ");
}
