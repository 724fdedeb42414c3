// Nearest pieces: which pieces of the vocabulary have the vectors closest to a token's own, before any context.
import { ACCENT, bars, Chart, decimal, heightOf, HIDDEN, label, PALE, quote, safe, TEXT, texts, ticks } from "../chart.js";
import { longestPiece } from "../inputs.js";
import { dot, length, mean, median, range, topk } from "../numbers.js";
import { once } from "../vectors.js";

const MAX_TOKENS = 3, BAR = 30, GAP = 64;  // tokens side by side; pixels

export async function run(bert, text, { count, order }) {
  const encoding = bert.tokenizer.encode(text), positions = encoding.picked.length ? encoding.picked : [longestPiece(encoding)];
  return {
    found: positions.slice(0, MAX_TOKENS).map((at) => neighbourhood(bert, encoding, at, count, order)),
    leftOut: Math.max(0, positions.length - MAX_TOKENS),
    order,
  };
}

/** The token at a position, which counts as what it was if it is hidden, and the pieces around it, without special ones. */
function neighbourhood(bert, { originalIds }, position, count, order) {
  const { pieces, specialIds } = bert.tokenizer, token = originalIds[position], own = bert.wordVector(token);
  const lengths = once("lengths of word vectors", () => pieces.map((_, id) => length(bert.wordVector(id))));
  const ids = range(pieces.length).filter((id) => id !== token && !specialIds.has(id));
  const dots = ids.map((id) => dot(bert.wordVector(id), own));
  const cosines = dots.map((one, i) => one / Math.max(lengths[ids[i]] * lengths[token], 1e-12)), middle = mean(cosines);
  const neighbours = topk(order === "cosine" ? cosines : dots, count).map((i) => ({
    token: pieces[ids[i]], id: ids[i], cosine: cosines[i], dot: dots[i],
  }));
  return {
    token: pieces[token], position, neighbours, typical: median(cosines),
    spread: Math.sqrt(mean(cosines.map((one) => (one - middle) ** 2))),
  };
}

export function rows({ found }) {
  return found.flatMap((near) => near.neighbours.map(({ token, id, cosine, dot: product }, i) => ({
    of: near.token, position: near.position, rank: i + 1, token, id, cosine, dot_product: product, median_cosine: near.typical,
  })));
}

export function draw({ found, order }) {
  const heights = found.map((near) => BAR * (near.neighbours.length + 1));
  const chart = Chart.panels(heights, GAP, found.map((near) => `nearest to ${quote(label(near.token))}`)), isCosine = order === "cosine";
  const number = (one) => (isCosine ? one.cosine : one.dot);
  found.forEach(({ neighbours, typical, spread }, i) => {
    const hover = neighbours.map((one) => `${safe(one.token)}: cosine ${digits(one.cosine)}, dot product ${one.dot.toFixed(2)}`);
    const values = neighbours.map(number), row = i + 1;
    chart.add(bars(values, ACCENT, { text: values.map(digits), hover, width: 0.6, textfont: { color: TEXT, size: 13 } }), row);
    if (isCosine) {
      chart.vrect(typical - spread, typical + spread, row, { fillcolor: PALE, opacity: 0.35, line: { width: 0 } });
      const x = Math.max(typical, 0);  // text left of the axis would not be drawn
      chart.add(texts(x, [neighbours.length], [`all other pieces: ${digits(typical)} ± ${spread.toFixed(2)}`]), row);
    }
    chart.axes("y", {
      range: [neighbours.length + 0.6, -0.6], showgrid: false, fixedrange: true,
      ...ticks(neighbours.map((one) => label(one.token, 16)), { mono: 14 }),
    }, row);
  });
  const values = found.flatMap((near) => near.neighbours.map(number));
  const bands = isCosine ? found.map((near) => near.typical - near.spread) : [];
  const end = isCosine ? 1 : Math.max(0, ...values) || 1;
  chart.axes("x", { range: [Math.min(0, ...bands, ...values), 1.12 * end], ...HIDDEN });
  return chart.finish(Math.max(360, heightOf(heights, GAP) + 50), { margin: { l: 8, r: 12, t: 32, b: 10 } });
}

/** Two digits; what rounds to 0 has no minus. */
const digits = (number) => decimal(number).replace("−0.00", "0.00");

export function say({ found, leftOut, order }) {
  const sentences = found.map(({ token, neighbours: [first, ...rest], typical, spread }) => {
    const more = rest.slice(0, 2).map((one) => quote(one.token)), then = more.length ? `, then ${more.join(" and ")}` : "";
    if (order === "cosine") {
      return `Before any context, the piece closest to ${quote(token)} is ${quote(first.token)} with a cosine of ${digits(first.cosine)}${then}; `
        + `the other pieces of the vocabulary lie at ${digits(typical)} ± ${spread.toFixed(2)}.`;
    }
    return `Before any context, ${quote(first.token)} has the largest dot product with ${quote(token)}, ${digits(first.dot)}${then}. `
      + `Their cosine is ${digits(first.cosine)}; long vectors have large products.`;
  });
  return [...sentences, ...(leftOut ? [`${leftOut} more picked tokens are not shown.`] : [])].join(" ");
}
