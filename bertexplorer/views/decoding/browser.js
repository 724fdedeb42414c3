// Decoding: several masks filled four ways, which shows why independent answers must not be multiplied.
import { decimal, grouped, ordinal, percent, quote } from "../../web/static/site/wording.js";
import { encodeMasked } from "../../web/static/site/masks.js";
import { argmax, most, sum, topk } from "../../web/static/numbers.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Figure } from "../../web/static/types.d.ts" */

const MAX_MASKS = 20;

export async function run(bert, text, { beam_width: width }) {
  const encoding = encodeMasked(bert, text),
    positions = encoding.masked;
  if (positions.length > MAX_MASKS) {
    throw new Refusal(
      `The text has ${positions.length} masks; the limit is ${MAX_MASKS}. Hide fewer words.`,
    );
  }
  const filled = (steps) =>
    bert.tokenizer.withIds(encoding, new Map(steps.map((step) => [step.position, step.id])));
  const answer = (position, row, id) => ({
    position,
    token: bert.tokenizer.pieces[id],
    id,
    logProbability: row[id],
  });

  const onePass = async () =>
    (await bert.maskedLogProbs([encoding]))[0].map((row, i) =>
      answer(positions[i], row, argmax(row)),
    );

  /** One mask in each pass: the leftmost, or the one whose best answer is the most probable. */
  const oneByOne = async (certainFirst) => {
    const steps = [],
      open = [...positions];
    while (open.length) {
      const [found] = await bert.maskedLogProbs([filled(steps)], [open]),
        at = certainFirst ? argmax(found.map((row) => most(row))) : 0;
      steps.push(answer(open.splice(at, 1)[0], found[at], argmax(found[at])));
    }
    return steps;
  };

  /** From left to right, with the *width* fillings of the highest joint probability so far; the best of them. */
  const beam = async () => {
    /** @type {any[][]} */
    let beams = [[]];
    for (const position of positions) {
      const found = await bert.maskedLogProbs(
        beams.map(filled),
        beams.map(() => [position]),
      );
      const longer = beams.flatMap((steps, i) =>
        topk(found[i][0], width).map((id) => [...steps, answer(position, found[i][0], id)]),
      );
      beams = longer.sort((a, b) => joint(b) - joint(a)).slice(0, width);
    }
    return beams[0];
  };

  /** The log-probability of a filling by the chain rule, from left to right. */
  const chain = async (steps) => {
    const ordered = [...steps].sort((a, b) => a.position - b.position);
    const found = await bert.maskedLogProbs(
      ordered.map((_, i) => filled(ordered.slice(0, i))),
      ordered.map((step) => [step.position]),
    );
    return sum(ordered.map((step, i) => found[i][0][step.id]));
  };

  const methods = {
    independent: await onePass(),
    "left to right": await oneByOne(false),
    "most certain first": await oneByOne(true),
    beam: await beam(),
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
  return fillings.flatMap(({ method, steps, claimed, chained }) =>
    steps.map(({ position, token, logProbability }, i) => ({
      method,
      order: i + 1,
      position,
      token,
      log_probability: logProbability,
      claimed_log_probability: claimed,
      chained_log_probability: chained,
    })),
  );
}

/** @returns {Figure} */
export function draw({ positions, fillings }) {
  const rows = positions.map((_, i) => `mask ${i + 1}`),
    columns = fillings.map(({ method }) => method);
  const step = (row, { steps }) => steps.find((one) => one.position === positions[row]);
  const values = rows.map((_, row) =>
    fillings.map((filling) => Math.exp(step(row, filling).logProbability)),
  );
  const text = rows.map((_, row) =>
    fillings.map((filling, column) => {
      const when =
        filling.method === "independent"
          ? ""
          : `${ordinal(1 + filling.steps.indexOf(step(row, filling)))}\n`;
      return `${step(row, filling).token}\n${when}${percent(values[row][column])}`;
    }),
  );
  const hover = text.map((line, row) =>
    line.map((one, column) => `${columns[column]}, ${rows[row]}: ${one}`),
  );
  return {
    marks: 1,
    panels: [
      { marks: [{ kind: "cells", rows, columns, values, low: 0, high: 1, text, hover }] },
      {
        title:
          "joint log-probability in nats: blue, scored in order; orange, what the method claims",
        marks: [{ kind: "bars", bars: fillings.map(worth) }],
      },
    ],
  };
}

/** The probability of a filling scored from left to right, and the one that its method claims for it. */
function worth({ method, chained, claimed }) {
  const hover = `${method}: scored in order ${decimal(chained)} nats, claims ${decimal(claimed)} nats`;
  return {
    label: method,
    value: chained,
    text: decimal(chained),
    hover,
    ticks: [{ value: claimed }],
  };
}

/** @type {[number, string][]} */
const SIZES = [
  [1e12, " trillion"],
  [1e9, " billion"],
  [1e6, " million"],
];

/** A readable ratio: digits if it is small, words if it is large. */
function times(ratio) {
  const [size, word] = SIZES.find(([floor]) => ratio >= floor) ?? [1, ""];
  return word || ratio >= 100 ? grouped(ratio / size) + word : ratio.toFixed(1);
}

export function say({ positions, fillings }) {
  const best = fillings[argmax(fillings.map((one) => one.chained))],
    [alone] = fillings,
    gap = alone.claimed - alone.chained;
  const much =
    Math.abs(gap) > 0.05
      ? `: ${times(Math.exp(Math.min(Math.abs(gap), 50)))} times ${gap > 0 ? "less" : "more"} likely`
      : "";
  const trap =
    positions.length === 1
      ? "With a single mask all four methods agree; hide a second word to tell them apart."
      : `Multiplying the independent answers claims ${decimal(alone.claimed)} nats, but read in order they are worth ${decimal(alone.chained)}${much}.`;
  return `The likeliest filling found is ${quote(best.sentence)} (${best.method}, ${decimal(best.chained)} nats). ${trap}`;
}
