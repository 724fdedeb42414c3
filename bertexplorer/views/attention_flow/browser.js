// Attention flow: how much of each input token can reach a token of a later layer, through the layers in between.
import { ACCENT, beyondLimit, cells, Chart, clip, label, ORANGE, percent, quote, ROOT, safe, ticks, title } from "../chart.js";
import { checkNumber } from "../heads.js";
import { argmax, meanRow, most, range } from "../numbers.js";
import { Refusal } from "../tokens.js";
import { meanOf, ordinaryTokens, rescale } from "../units.js";

const FLOW_TOKENS = 64, FLOW_PICKED = 8;
const UNITS = 1_000_000;  // an attention of 1 is divided into this many whole units, in which the flow is exact
const ROW = 24, LETTERS = 11, DRAWN = 60;  // pixels of a token; letters of its name; tokens that are drawn
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
  const pass = await bert.forward(encoding), heads = range(bert.heads);
  const attention = range(bert.layers).map((i) => {
    const matrix = kept.map((from) => {
      const row = meanRow(heads.map((head) => pass.attention(i, head, from)));
      return kept.map((to) => row[to]);
    });
    return isWhole ? matrix : rescale(matrix);
  });
  const raw = attention.map((matrix) => meanOf(matrix, about));
  const shares = { raw: () => raw, rollout: () => rollout(attention, about), flow: () => flow(attention, about) }[method]();
  return {
    method,
    tokens: kept.map((i) => bert.tokenizer.pieces[encoding.ids[i]]),
    about, layer: (layer || bert.layers) - 1, shares, raw, leftOut: encoding.leftOut,
    positions: kept, special,
  };
}

function checkSize(tokens, picked) {
  if (tokens > FLOW_TOKENS) {
    throw new Refusal(
      `The text has ${tokens.toLocaleString("en")} tokens; flow is computed for ${FLOW_TOKENS} at most, because each token of each layer `
        + "needs its own search. Shorten the text, or choose rollout.",
    );
  }
  if (picked > FLOW_PICKED) {
    throw new Refusal(
      `${picked} tokens are picked; flow is computed for ${FLOW_PICKED} at most. Pick fewer, or choose rollout.`,
    );
  }
}

/** Half attention, half the token itself: the residual connection as Abnar and Zuidema (2020) model it. */
const residual = (matrix) => matrix.map((row, i) => row.map((one, j) => 0.5 * one + (i === j ? 0.5 : 0)));

/** For each layer the shares of the tokens *about* that stem from each input token (their equation 1). */
function rollout(attention, about) {
  const mixed = attention.map(residual);
  return mixed.map((matrix, top) => mixed.slice(0, top).reduceRight((shares, below) => meanRow(below, shares), meanOf(matrix, about)));
}

/** For each layer the maximum flow from the tokens *about* to each input token, averaged over them. The capacities are those of
 *  `residual`. */
function flow(attention, about) {
  const size = attention[0].length, edges = range((attention.length + 1) * size).map(() => []), to = [], capacity = [];
  attention.map(residual).forEach((matrix, layer) => matrix.forEach((row, i) => row.forEach((one, j) => {
    const high = (layer + 1) * size + i, low = layer * size + j;
    edges[high].push(to.length);
    edges[low].push(to.length + 1);
    to.push(low, high);
    capacity.push(Math.round(UNITS * one), 0);
  })));
  return attention.map((_, layer) => {
    const below = edges.slice(0, (layer + 2) * size).map((some) => some.filter((edge) => to[edge] < (layer + 2) * size));
    const reach = (token, sink) => maximumFlow(below, to, Float64Array.from(capacity), (layer + 1) * size + token, sink) / UNITS;
    return meanRow(about.map((token) => range(size).map((sink) => reach(token, sink))));
  });
}

/** Dinic's algorithm. *edges*: those of each node; edge e leads *to* a node, has *left* so much capacity, and e ^ 1 leads back. */
function maximumFlow(edges, to, left, source, sink) {
  const level = new Int32Array(edges.length), tried = new Int32Array(edges.length);
  const push = (node, wanted) => {
    if (node === sink) return wanted;
    let pushed = 0;
    for (; tried[node] < edges[node].length; tried[node] += 1) {
      const edge = edges[node][tried[node]], next = to[edge];
      const more = left[edge] && level[next] === level[node] + 1 ? push(next, Math.min(wanted - pushed, left[edge])) : 0;
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
    for (const node of queue) for (const edge of edges[node]) if (left[edge] && level[to[edge]] < 0) {
      level[to[edge]] = level[node] + 1;
      queue.push(to[edge]);
    }
    if (level[sink] < 0) return total;
    tried.fill(0);
  }
}

export function rows({ method, tokens, about, shares, raw, positions }) {
  const from = about.map((i) => tokens[i]).join(" ");
  return shares.flatMap((values, layer) => tokens.map((to, i) => ({
    layer: layer + 1, from, to_position: positions[i], to, method, value: values[i], raw_attention: raw[layer][i],
  })));
}

export function draw(result) {
  const { method, tokens, shares, raw, layer } = result, chart = Chart.columns([0.66, 0.34], 0.05), drawn = drawnPositions(result);
  const layers = range(shares.length, 1), top = most(shares.map((row) => most(row)));
  const hovers = drawn.map((i) => layers.map((number) => `${label(tokens[i], 30)}, layer ${number}`));
  const z = drawn.map((i) => shares.map((row) => 100 * row[i]));
  chart.add({
    ...cells(z, ROOT, 0, 100 * top || 1, { hover: hovers, gap: 1 }),
    hovertemplate: "%{customdata}: %{z:.1f} %<extra></extra>",
  }, 1);
  const common = { y: range(drawn.length), customdata: drawn.map((i) => label(tokens[i], 30)) };
  const tip = (words) => `%{customdata}: ${words} %{x:.1f} %<extra></extra>`;
  chart.add({
    type: "bar", x: drawn.map((i) => 100 * shares[layer][i]), orientation: "h", marker: { color: ACCENT },
    hovertemplate: tip(WORDS[method]), ...common,
  }, 2);
  const mark = { symbol: "line-ns", size: 9, line: { color: ORANGE, width: 3 } };
  if (method !== "raw") {
    chart.add({
      type: "scatter", x: drawn.map((i) => 100 * raw[layer][i]), mode: "markers", marker: mark,
      cliponaxis: false, hovertemplate: tip(WORDS.raw), ...common,
    }, 2);
  }
  const limits = [drawn.length - 0.4, -0.6], widest = 100 * Math.max(most(shares[layer]), most(raw[layer]), 1e-6);
  chart.axes("y", { range: limits, showgrid: false, ...ticks(drawn.map((i) => label(tokens[i], LETTERS)), { mono: 12 }) }, 1);
  chart.axes("y", { range: limits, visible: false }, 2);
  chart.axes("x", { title: title("after layer"), ...ticks(layers.map(String), { step: layers.length <= 12 ? 1 : 4 }) }, 1);
  chart.axes("x", { title: title(`layer ${layer + 1}`), range: [0, widest * 1.05], nticks: 3, ticksuffix: " %" }, 2);
  chart.axes("x", { side: "top", showgrid: false });
  const words = [
    `Blue: ${WORDS[method]}, strongest ${safe(percent(top))}`, ...(method === "raw" ? [] : [`Orange: raw attention of layer ${layer + 1}`]),
    ...(drawn.length < tokens.length ? [`The ${drawn.length} strongest of ${tokens.length} tokens`] : []),
  ];
  const below = 10 + chart.below(words, 6, 20), isWhole = result.special === "shown";
  chart.presses = [{ text: `${isWhole ? "Leave out" : "Show"} [CLS] and [SEP]`, set: { special: isWhole ? "left out" : "shown" } }];
  return chart.finish(94 + Math.max(180, ROW * drawn.length) + below, { bargap: 0.25, margin: { l: 8, r: 8, t: 62, b: below } });
}

const byValue = (values) => range(values.length).sort((i, j) => values[j] - values[i] || j - i);

/** All positions or, in a long text, those of the strongest at any layer and those that the view is about. */
function drawnPositions({ tokens, about, shares }) {
  return byValue(tokens.map((_, i) => (about.includes(i) ? Infinity : Math.max(...shares.map((row) => row[i])))))
    .slice(0, DRAWN)
    .sort((i, j) => i - j);
}

export function say(result) {
  const { method, tokens, about, shares, raw, layer, special } = result;
  const subject = quote(clip(about.map((i) => tokens[i]).join(" "), 40));
  const by = shares[layer];
  const looked = argmax(raw[layer]);
  const strongest = (word) => byValue(by).slice(0, 2).map((i) => `${percent(by[i])} ${word} ${quote(tokens[i])}`).join(" and ");
  const count = by.filter((one) => one >= 0.999).length, full = count > 1 ? ` ${count} of ${tokens.length} tokens could pass in full.` : "";
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
  ].filter(Boolean).join(" ");
}

export function colours({ shares, layer, positions }) {
  const top = most(shares[layer]) || 1;
  return Object.fromEntries(positions.map((position, i) => [position, shares[layer][i] / top]));
}
