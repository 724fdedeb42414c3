// Nearest pieces: which pieces of the vocabulary have the vectors closest to a token's own, before any context.
import { decimal, quote } from "../../web/static/site/wording.js";
import { longestPiece } from "../../web/static/site/inputs.js";
import { dot, length, mean, median, range, topk } from "../../web/static/numbers.js";
import { once } from "../../web/static/site/vectors.js";

/** @import { Figure } from "../../web/static/types.d.ts" */

const MAX_TOKENS = 3;

export async function run(bert, text, { count, order }) {
  const encoding = bert.tokenizer.encode(text),
    positions = encoding.picked.length ? encoding.picked : [longestPiece(encoding)];
  return {
    found: positions
      .slice(0, MAX_TOKENS)
      .map((at) => neighbourhood(bert, encoding, at, count, order)),
    leftOut: Math.max(0, positions.length - MAX_TOKENS),
    order,
  };
}

/** The token at a position, which counts as what it was if it is hidden, and the pieces around it, without special ones. */
function neighbourhood(bert, { originalIds }, position, count, order) {
  const { pieces, specialIds } = bert.tokenizer,
    token = originalIds[position],
    own = bert.wordVector(token);
  const lengths = once("lengths of word vectors", () =>
    pieces.map((_, id) => length(bert.wordVector(id))),
  );
  const ids = range(pieces.length).filter((id) => id !== token && !specialIds.has(id));
  const dots = ids.map((id) => dot(bert.wordVector(id), own));
  const cosines = dots.map((one, i) => one / Math.max(lengths[ids[i]] * lengths[token], 1e-12)),
    middle = mean(cosines);
  const neighbours = topk(order === "cosine" ? cosines : dots, count).map((i) => ({
    token: pieces[ids[i]],
    id: ids[i],
    cosine: cosines[i],
    dot: dots[i],
  }));
  return {
    token: pieces[token],
    position,
    neighbours,
    typical: median(cosines),
    spread: Math.sqrt(mean(cosines.map((one) => (one - middle) ** 2))),
  };
}

export function rows({ found }) {
  return found.flatMap((near) =>
    near.neighbours.map(({ token, id, cosine, dot: product }, i) => ({
      of: near.token,
      position: near.position,
      rank: i + 1,
      token,
      id,
      cosine,
      dot_product: product,
      median_cosine: near.typical,
    })),
  );
}

/** @returns {Figure} */
export function draw({ found, order }) {
  const isCosine = order === "cosine",
    measured = (one) => (isCosine ? one.cosine : one.dot);
  // all panels have one scale
  const values = found.flatMap((near) => near.neighbours.map(measured));
  const bands = isCosine ? found.map((near) => near.typical - near.spread) : [];
  const low = Math.min(0, ...bands, ...values),
    high = isCosine ? 1 : Math.max(0, ...values);
  const panels = found.map(({ token, neighbours, typical, spread }) => {
    const bars = neighbours.map((one) => ({
      label: one.token,
      value: measured(one),
      text: digits(measured(one)),
      hover: `${one.token}: cosine ${digits(one.cosine)}, dot product ${decimal(one.dot)}`,
    }));
    const others = `all other pieces: ${digits(typical)} ± ${spread.toFixed(2)}`;
    const band = isCosine
      ? [{ kind: "band", low: typical - spread, high: typical + spread, label: others }]
      : [];
    return {
      title: `nearest to ${quote(token)}`,
      marks: [{ kind: "bars", bars, low, high, tokens: true }, ...band],
    };
  });
  return { marks: 1, panels };
}

/** Two digits; what rounds to 0 has no minus. */
const digits = (number) => decimal(number).replace("−0.00", "0.00");

export function say({ found, leftOut, order }) {
  const sentences = found.map(({ token, neighbours: [first, ...rest], typical, spread }) => {
    const more = rest.slice(0, 2).map((one) => quote(one.token)),
      then = more.length ? `, then ${more.join(" and ")}` : "";
    if (order === "cosine") {
      return (
        `Before any context, the piece closest to ${quote(token)} is ${quote(first.token)} with a cosine of ${digits(first.cosine)}${then}; ` +
        `the other pieces of the vocabulary lie at ${digits(typical)} ± ${spread.toFixed(2)}.`
      );
    }
    return (
      `Before any context, ${quote(first.token)} has the largest dot product with ${quote(token)}, ${digits(first.dot)}${then}. ` +
      `Their cosine is ${digits(first.cosine)}; long vectors have large products.`
    );
  });
  return [...sentences, ...(leftOut ? [`${leftOut} more picked tokens are not shown.`] : [])].join(
    " ",
  );
}
