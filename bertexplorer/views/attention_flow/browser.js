// Attention flow: how much of each input token can reach a token of a later layer, through the layers in between.
import { beyondLimit, clip, percent, quote } from "../../web/static/site/wording.js";
import { checkNumber } from "../../web/static/site/heads.js";
import { argmax, meanRow, most, range } from "../../web/static/numbers.js";
import { meanOf, ordinaryTokens, rescale } from "../../web/static/site/units.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Bars, Cells, Figure } from "../../web/static/types.d.ts" */

const FLOW_TOKENS = 64,
  FLOW_PICKED = 8;
const UNITS = 1_000_000; // an attention of 1 is divided into this many whole units, in which the flow is exact
const DRAWN = 60; // tokens; more would be illegible
const WORDS = { rollout: "rollout", flow: "flow", raw: "raw attention" };

export async function run(bert, text, { method, layer, special }) {
  checkNumber(layer || bert.layers, bert.layers, "layer");
  const encoding = bert.tokenizer.encode(text);
  const isWhole = special === "shown";
  const kept = isWhole ? range(encoding.ids.length) : ordinaryTokens(encoding);
  const found = (encoding.picked.length ? encoding.picked : encoding.masked.slice(0, 1))
    .filter((i) => kept.includes(i))
    .map((i) => kept.indexOf(i));
  const about = found.length ? found : [0];
  if (method === "flow") checkSize(encoding.ids.length, about.length);
  const pass = await bert.forward(encoding),
    heads = range(bert.heads);
  const attention = range(bert.layers).map((i) => {
    const matrix = kept.map((from) => {
      const row = meanRow(heads.map((head) => pass.attention(i, head, from)));
      return kept.map((to) => row[to]);
    });
    return isWhole ? matrix : rescale(matrix);
  });
  const raw = attention.map((matrix) => meanOf(matrix, about));
  const shares = {
    raw: () => raw,
    rollout: () => rollout(attention, about),
    flow: () => flow(attention, about),
  }[method]();
  return {
    method,
    tokens: kept.map((i) => bert.tokenizer.pieces[encoding.ids[i]]),
    about,
    layer: (layer || bert.layers) - 1,
    shares,
    raw,
    leftOut: encoding.leftOut,
    positions: kept,
    special,
  };
}

function checkSize(tokens, picked) {
  if (tokens > FLOW_TOKENS) {
    throw new Refusal(
      `The text has ${tokens.toLocaleString("en")} tokens; flow is computed for ${FLOW_TOKENS} at most, because each token of each layer ` +
        "needs its own search. Shorten the text, or choose rollout.",
    );
  }
  if (picked > FLOW_PICKED) {
    throw new Refusal(
      `${picked} tokens are picked; flow is computed for ${FLOW_PICKED} at most. Pick fewer, or choose rollout.`,
    );
  }
}

/** Half attention, half the token itself: the residual connection as Abnar and Zuidema (2020) model it. */
const residual = (matrix) =>
  matrix.map((row, i) => row.map((one, j) => 0.5 * one + (i === j ? 0.5 : 0)));

/** For each layer the shares of the tokens *about* that stem from each input token (their equation 1). */
function rollout(attention, about) {
  const mixed = attention.map(residual);
  return mixed.map((matrix, top) =>
    mixed
      .slice(0, top)
      .reduceRight((shares, below) => meanRow(below, shares), meanOf(matrix, about)),
  );
}

/** For each layer the maximum flow from the tokens *about* to each input token, averaged over them. The capacities are those of
 *  `residual`. */
function flow(attention, about) {
  const size = attention[0].length;
  /** @type {number[][]} */
  const edges = range((attention.length + 1) * size).map(() => []);
  const to = [],
    capacity = [];
  attention.map(residual).forEach((matrix, layer) =>
    matrix.forEach((row, i) =>
      row.forEach((one, j) => {
        const high = (layer + 1) * size + i,
          low = layer * size + j;
        edges[high].push(to.length);
        edges[low].push(to.length + 1);
        to.push(low, high);
        capacity.push(Math.round(UNITS * one), 0);
      }),
    ),
  );
  return attention.map((_, layer) => {
    const below = edges
      .slice(0, (layer + 2) * size)
      .map((some) => some.filter((edge) => to[edge] < (layer + 2) * size));
    const reach = (token, sink) =>
      maximumFlow(below, to, Float64Array.from(capacity), (layer + 1) * size + token, sink) / UNITS;
    return meanRow(about.map((token) => range(size).map((sink) => reach(token, sink))));
  });
}

/** Dinic's algorithm. *edges*: those of each node; edge e leads *to* a node, has *left* so much capacity, and e ^ 1 leads back. */
function maximumFlow(edges, to, left, source, sink) {
  const level = new Int32Array(edges.length),
    tried = new Int32Array(edges.length);
  const push = (node, wanted) => {
    if (node === sink) return wanted;
    let pushed = 0;
    for (; tried[node] < edges[node].length; tried[node] += 1) {
      const edge = edges[node][tried[node]],
        next = to[edge];
      const more =
        left[edge] && level[next] === level[node] + 1
          ? push(next, Math.min(wanted - pushed, left[edge]))
          : 0;
      left[edge] -= more;
      left[edge ^ 1] += more;
      pushed += more;
      if (pushed === wanted) break;
    }
    return pushed;
  };
  for (let total = 0; ; total += push(source, Infinity)) {
    const queue = [source];
    level.fill(-1);
    level[source] = 0;
    for (const node of queue)
      for (const edge of edges[node])
        if (left[edge] && level[to[edge]] < 0) {
          level[to[edge]] = level[node] + 1;
          queue.push(to[edge]);
        }
    if (level[sink] < 0) return total;
    tried.fill(0);
  }
}

export function rows({ method, tokens, about, shares, raw, positions }) {
  const from = about.map((i) => tokens[i]).join(" ");
  return shares.flatMap((values, layer) =>
    tokens.map((to, i) => ({
      layer: layer + 1,
      from,
      to_position: positions[i],
      to,
      method,
      value: values[i],
      raw_attention: raw[layer][i],
    })),
  );
}

/** @returns {Figure} */
export function draw(result) {
  const { layer, special } = result,
    drawn = drawnPositions(result),
    isWhole = special === "shown";
  return {
    marks: 1,
    panels: [
      { title: "after layer", share: 0.66, marks: [heat(result, drawn)] },
      { title: `layer ${layer + 1}`, beside: true, share: 0.34, marks: [chosen(result, drawn)] },
      { marks: [{ kind: "text", lines: key(result, drawn.length) }] },
    ],
    buttons: [
      {
        text: `${isWhole ? "Leave out" : "Show"} [CLS] and [SEP]`,
        door: { set: { special: isWhole ? "left out" : "shown" } },
      },
    ],
  };
}

/** @returns {Cells} */
function heat({ tokens, shares }, drawn) {
  const columns = range(shares.length, 1).map(String),
    values = drawn.map((i) => shares.map((row) => row[i]));
  return {
    kind: "cells",
    rows: drawn.map((i) => tokens[i]),
    columns,
    values,
    palette: "root",
    low: 0,
    high: most(shares.map((row) => most(row))) || 1,
    tokens: true,
    hover: values.map((row, at) =>
      row.map((share, i) => `${tokens[drawn[at]]}, layer ${columns[i]}: ${percent(share)}`),
    ),
  };
}

/** The chosen layer: a bar for the method, a tick for its raw attention.
 *  @returns {Bars} */
function chosen({ method, tokens, shares, raw, layer }, drawn) {
  const bars = drawn.map((i) => {
    const hover = `${tokens[i]}: ${WORDS[method]} ${percent(shares[layer][i])}`;
    if (method === "raw") return { label: "", value: shares[layer][i], hover };
    const ticks = [{ value: raw[layer][i] }];
    return {
      label: "",
      value: shares[layer][i],
      hover: `${hover}, raw attention ${percent(raw[layer][i])}`,
      ticks,
    };
  });
  return { kind: "bars", bars, axis: true, unit: "share" };
}

/** The meaning of the colours. */
function key({ method, tokens, shares, layer }, count) {
  const lines = [
    { text: `Blue: ${WORDS[method]}, strongest ${percent(most(shares.map((row) => most(row))))}` },
  ];
  if (method !== "raw") lines.push({ text: `Orange: raw attention of layer ${layer + 1}` });
  if (count < tokens.length)
    lines.push({ text: `The ${count} strongest of ${tokens.length} tokens` });
  return lines;
}

const byValue = (values) => range(values.length).sort((i, j) => values[j] - values[i] || j - i);

/** All positions or, in a long text, those of the strongest at any layer and those that the view is about. */
function drawnPositions({ tokens, about, shares }) {
  return byValue(
    tokens.map((_, i) => (about.includes(i) ? Infinity : Math.max(...shares.map((row) => row[i])))),
  )
    .slice(0, DRAWN)
    .sort((i, j) => i - j);
}

export function say(result) {
  const { method, tokens, about, shares, raw, layer, special } = result;
  const subject = quote(clip(about.map((i) => tokens[i]).join(" "), 40));
  const by = shares[layer];
  const looked = argmax(raw[layer]);
  const strongest = (word) =>
    byValue(by)
      .slice(0, 2)
      .map((i) => `${percent(by[i])} ${word} ${quote(tokens[i])}`)
      .join(" and ");
  const count = by.filter((one) => one >= 0.999).length,
    full = count > 1 ? ` ${count} of ${tokens.length} tokens could pass in full.` : "";
  const at = `After layer ${layer + 1} of ${shares.length}`;
  const compare = `that layer alone looks most at ${quote(tokens[looked])} (${percent(raw[layer][looked])}).`;
  const few = drawnPositions(result).length;
  const sentence = {
    rollout: () => `${at}, by rollout ${subject} takes ${strongest("from")}; ${compare}`,
    flow: () => `${at}, the maximal flow to ${subject} is ${strongest("from")}; ${compare}${full}`,
    raw: () => `${at}, its heads averaged: ${subject} gives ${strongest("to")}.`,
  }[method]();
  return [
    sentence,
    few < tokens.length && `The ${few} strongest of ${tokens.length} tokens are drawn.`,
    special !== "shown" && "[CLS] and [SEP] are left out.",
    ...beyondLimit(result.leftOut),
  ]
    .filter(Boolean)
    .join(" ");
}

export function colours({ shares, layer, positions }) {
  const top = most(shares[layer]) || 1;
  return Object.fromEntries(positions.map((position, i) => [position, shares[layer][i] / top]));
}
