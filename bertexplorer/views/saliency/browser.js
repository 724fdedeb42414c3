// Saliency: which words a prediction depends on, by hiding them, each with all its pieces (Zeiler and Fergus, 2014; Li et al., 2016).
import {
  beyondLimit,
  decimal,
  grouped,
  joinNames,
  onlyFirstMask,
  percent,
  quote,
  signed,
} from "../../web/static/site/wording.js";
import { most, range, sum } from "../../web/static/numbers.js";
import { ask } from "../../web/static/site/question.js";
import { unitsOf } from "../../web/static/site/units.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Bar, Figure, Mark } from "../../web/static/types.d.ts" */

const PASS_TOKENS = 16_384,
  FEWEST = 16; // tokens that are read in all; groups of words in a long text
const DRAWN = 40; // units

export async function run(bert, text, { method, target, word, merge }) {
  if (method !== "occlusion")
    throw new Refusal(
      "In a browser the method is occlusion; for the others, install the explorer.",
    );
  const question = await ask(bert, text, target, word),
    { encoding } = question,
    units = unitsOf(bert, encoding, merge);
  const shown = (unit) => unit.positions.filter((at) => encoding.ids[at] !== bert.tokenizer.maskId);
  const words = units.map(shown).filter((positions) => positions.length);
  const size = Math.ceil(
    words.length / Math.max(FEWEST, Math.floor(PASS_TOKENS / encoding.ids.length)),
  );
  const groups = range(Math.ceil(words.length / size)).map((i) =>
    words.slice(i * size, (i + 1) * size),
  );
  const [value, ...without] = (
    await question.rows([
      encoding,
      ...groups.map((group) => bert.tokenizer.hide(encoding, group.flat())),
    ])
  ).map(question.number);
  const drops = new Float64Array(encoding.ids.length);
  groups.forEach((group, i) => {
    for (const word of group)
      for (const at of word) drops[at] = (value - without[i]) / group.length / word.length;
  });
  return {
    target: question.target,
    answer: question.answer,
    value,
    probability: question.probability(value),
    units: units.map((unit) => ({ ...unit, score: sum(unit.positions.map((at) => drops[at])) })),
    group: size,
    merge,
    otherMasks: question.target === "mask" ? encoding.masked.length - 1 : 0,
    leftOut: encoding.leftOut,
  };
}

/** The scores divided by the sum of their absolute values. */
function shares(units) {
  const total = sum(units.map((unit) => Math.abs(unit.score)));
  return units.map((unit) => (total ? unit.score / total : 0));
}

export function rows({ target, answer, value, units }) {
  const parts = shares(units);
  return units.map(({ positions: [position], label: token, special, score }, i) => ({
    method: "occlusion",
    position,
    token,
    special,
    score,
    share: parts[i],
    target,
    answer,
    value,
    completeness_error: "",
    standard_error: "",
  }));
}

/** @returns {Figure} */
export function draw({ answer, units }) {
  const parts = shares(units);
  const strongest = range(units.length)
    .sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]))
    .slice(0, DRAWN)
    .sort((a, b) => a - b);
  const bars = strongest.map((i) => {
    const { label, score, special } = units[i],
      text = signed(score);
    const hover = `${label}, occlusion: ${text}, ${signed(100 * parts[i], 0)} % of the total`;
    /** @type {Bar} */
    const bar = {
      label,
      value: score,
      text,
      tone: score >= 0 ? "blue" : "orange",
      hover,
      ...(special && { faint: true }),
    };
    return bar;
  });
  /** @type {Mark[]} */
  const marks = [
    { kind: "bars", bars, tokens: true },
    {
      kind: "text",
      lines: [
        [
          { text: "◀", tone: "orange" },
          { text: ` against ${answer} for ` },
          { text: "▶", tone: "blue" },
          { text: ", in nats" },
        ],
      ],
    },
  ];
  return {
    marks: 1,
    panels: [
      {
        title: units.length > DRAWN ? `the ${DRAWN} strongest of ${grouped(units.length)}` : "",
        marks,
      },
    ],
  };
}

/** Position -> score, from -1 (against the answer) to 1. */
export function colours({ units }) {
  const top = most(units.map((unit) => Math.abs(unit.score))) || 1;
  return Object.fromEntries(
    units.flatMap((unit) => unit.positions.map((at) => [at, unit.score / top])),
  );
}

export function say({
  target,
  answer,
  value,
  probability,
  units,
  group,
  merge,
  otherMasks,
  leftOut,
}) {
  const number =
    target !== "next sentence"
      ? `log-probability ${logProbability(value)}`
      : `log-odds ${signed(value)}`;
  const ordered = [...units].sort((a, b) => b.score - a.score),
    worst = ordered.at(-1);
  const told = (unit) => `${quote(unit.label)} (${signed(unit.score)})`;
  const best = ordered
    .slice(0, 3)
    .filter((unit) => unit.score > 0)
    .map(told);
  const against =
    worst.score < 0
      ? `; ${quote(worst.label)} speaks against it most (${signed(worst.score)})`
      : "";
  return [
    `${quote(answer)} has ${percent(probability)} here (${number}).`,
    `By occlusion ${best.length ? `it rests most on ${joinNames(best)}` : "nothing speaks for it"}${against}.`,
    ...(group > 1
      ? [
          `The text is long: Occlusion hid up to ${group} neighbouring ${merge ? "words" : "tokens"} at a time.`,
        ]
      : []),
    ...(units.length > DRAWN
      ? [`The ${DRAWN} strongest of ${grouped(units.length)} are drawn.`]
      : []),
    ...onlyFirstMask(otherMasks),
    ...beyondLimit(leftOut),
  ].join(" ");
}

/** A log-probability; one near 0 with a third digit, because only certainty is 0. */
function logProbability(value) {
  if (value > -0.0005) return value < 0 ? "> −0.001" : "0";
  return decimal(value, value <= -0.005 ? 2 : 3);
}
