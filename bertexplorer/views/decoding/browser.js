// Decoding: several masks filled four ways, which shows why independent answers must not be multiplied.
import { above, ACCENT, cells, Chart, decimal, grouped, ink, label, ORANGE, ordinal, percent, quote, SHADES } from "../chart.js";
import { encodeMasked } from "../masks.js";
import { argmax, least, most, sum, topk } from "../numbers.js";
import { Refusal } from "../tokens.js";

const MAX_MASKS = 20;
const CELL = 62, BELOW = 220, GAP = 96;  // pixels
// for a phone
const HEADINGS = {
  independent: "inde-<br>pendent", "left to right": "left to<br>right",
  "most certain first": "most<br>certain<br>first",
};

export async function run(bert, text, { beam_width: width }) {
  const encoding = encodeMasked(bert, text), positions = encoding.masked;
  if (positions.length > MAX_MASKS) {
    throw new Refusal(`The text has ${positions.length} masks; the limit is ${MAX_MASKS}. Hide fewer words.`);
  }
  const filled = (steps) => bert.tokenizer.withIds(encoding, new Map(steps.map((step) => [step.position, step.id])));
  const answer = (position, row, id) => ({ position, token: bert.tokenizer.pieces[id], id, logProbability: row[id] });

  const onePass = async () => (await bert.maskedLogProbs([encoding]))[0].map((row, i) => answer(positions[i], row, argmax(row)));

  /** One mask in each pass: the leftmost, or the one whose best answer is the most probable. */
  const oneByOne = async (certainFirst) => {
    const steps = [], open = [...positions];
    while (open.length) {
      const [found] = await bert.maskedLogProbs([filled(steps)], [open]), at = certainFirst ? argmax(found.map((row) => most(row))) : 0;
      steps.push(answer(open.splice(at, 1)[0], found[at], argmax(found[at])));
    }
    return steps;
  };

  /** From left to right, with the *width* fillings of the highest joint probability so far; the best of them. */
  const beam = async () => {
    let beams = [[]];
    for (const position of positions) {
      const found = await bert.maskedLogProbs(beams.map(filled), beams.map(() => [position]));
      const longer = beams.flatMap((steps, i) => topk(found[i][0], width).map((id) => [...steps, answer(position, found[i][0], id)]));
      beams = longer.sort((a, b) => joint(b) - joint(a)).slice(0, width);
    }
    return beams[0];
  };

  /** The log-probability of a filling by the chain rule, from left to right. */
  const chain = async (steps) => {
    const ordered = [...steps].sort((a, b) => a.position - b.position);
    const found = await bert.maskedLogProbs(ordered.map((_, i) => filled(ordered.slice(0, i))), ordered.map((step) => [step.position]));
    return sum(ordered.map((step, i) => found[i][0][step.id]));
  };

  const methods = {
    independent: await onePass(), "left to right": await oneByOne(false),
    "most certain first": await oneByOne(true), beam: await beam(),
  };
  const fillings = [];
  for (const [method, steps] of Object.entries(methods)) {
    const sentence = bert.tokenizer.join(filled(steps).ids.filter((_, i) => encoding.spans[i]));
    fillings.push({ method, steps, claimed: joint(steps), chained: await chain(steps), sentence });
  }
  return { positions, fillings };
}

const joint = (steps) => sum(steps.map((step) => step.logProbability));

export function rows({ fillings }) {
  return fillings.flatMap(({ method, steps, claimed, chained }) => steps.map(({ position, token, logProbability }, i) => ({
    method, order: i + 1, position, token, log_probability: logProbability, claimed_log_probability: claimed,
    chained_log_probability: chained,
  })));
}

export function draw({ positions, fillings }) {
  const methods = fillings.map(({ method }) => HEADINGS[method] ?? method);
  const masks = positions.map((_, i) => `mask ${i + 1}`);
  const height = CELL * masks.length;
  const chart = Chart.panels([height, BELOW], GAP), step = (row, { steps }) => steps.find((one) => one.position === positions[row]);
  const shares = masks.map((_, row) => fillings.map((filling) => Math.exp(step(row, filling).logProbability)));
  const text = masks.map((_, row) => fillings.map((filling, column) => {
    const when = filling.method === "independent" ? "" : `${ordinal(1 + filling.steps.indexOf(step(row, filling)))}<br>`;
    return `${label(step(row, filling).token, 9)}<br>${when}${percent(shares[row][column])}`;
  }));
  chart.add(cells(shares, SHADES, 0, 1, {
    x: methods, y: masks, text, textfont: ink(12),
    hovertemplate: "%{x}, %{y}: %{text}<extra></extra>",
  }), 1);
  chart.axes("x", { side: "top", showgrid: false, tickangle: 0, tickfont: { size: 12 } }, 1);
  chart.axes("y", { autorange: "reversed", showgrid: false }, 1);
  chart.note(above("joint log-probability (nats)", 0, { row: 2, size: 16, x: 0.5, xanchor: "center" }));
  drawWorth(chart, fillings, methods);
  return chart.finish(height + BELOW + 152, { margin: { l: 8, r: 16, t: 56, b: 8 } });
}

/** The probability that each method claims for its filling, and that of the filling scored from left to right. */
function drawWorth(chart, fillings, methods) {
  const claimed = fillings.map((one) => one.claimed), chained = fillings.map((one) => one.chained), low = least([...claimed, ...chained]);
  const high = most([...claimed, ...chained]);
  for (const [name, colour, symbol, values, side] of [
    ["claims", ORANGE, "diamond", claimed, "top"],
    ["scored in order", ACCENT, "circle", chained, "bottom"],
  ]) {
    const inwards = 2 * values[0] < low + high ? "right" : "left";  // off the names of the methods, and of the edge
    chart.add({
      type: "scatter", x: values, y: methods, mode: "markers+text",
      marker: { color: colour, size: 12, symbol }, text: values.map((_, i) => (i ? "" : name)),
      textposition: `${side} ${inwards}`, textfont: { color: colour }, cliponaxis: false,
      hovertemplate: `%{y} ${name} %{x:.2f} nats<extra></extra>`,
    }, 2);
  }
  const pad = Math.max(0.6, (high - low) * 0.2);
  chart.axes("x", { range: [low - pad, high + pad] }, 2);
  chart.axes("y", { range: [methods.length - 0.4, -0.9], tickfont: { size: 12 } }, 2);
}

/** A readable ratio: digits if it is small, words if it is large. */
function times(ratio) {
  const [size, word] = [[1e12, " trillion"], [1e9, " billion"], [1e6, " million"]].find(([floor]) => ratio >= floor) ?? [1, ""];
  return word || ratio >= 100 ? grouped(ratio / size) + word : ratio.toFixed(1);
}

export function say({ positions, fillings }) {
  const best = fillings[argmax(fillings.map((one) => one.chained))], [alone] = fillings, gap = alone.claimed - alone.chained;
  const much = Math.abs(gap) > 0.05 ? `: ${times(Math.exp(Math.min(Math.abs(gap), 50)))} times ${gap > 0 ? "less" : "more"} likely` : "";
  const trap = positions.length === 1
    ? "With a single mask all four methods agree; hide a second word to tell them apart."
    : `Multiplying the independent answers claims ${decimal(alone.claimed)} nats, but read in order they are worth ${decimal(alone.chained)}${much}.`;
  return `The likeliest filling found is ${quote(best.sentence)} (${best.method}, ${decimal(best.chained)} nats). ${trap}`;
}
