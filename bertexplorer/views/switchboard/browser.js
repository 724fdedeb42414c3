// Switchboard: heads switched off, and how that changes the answer.
import { clip, onlyFirstMask, percent, quote, signed } from "../../web/static/site/wording.js";
import { parseHeads, placeName } from "../../web/static/site/heads.js";
import { bestOf } from "../../web/static/site/masks.js";
import { argmax, least, most, range, sigmoid } from "../../web/static/numbers.js";
import { askToChange } from "../../web/static/site/question.js";

/** @import { Bar, Cells, Figure, Panel, TextLines, Tone } from "../../web/static/types.d.ts" */

const TOP = 5; // answers

export async function run(bert, text, { off: typed, word, target }) {
  const question = await askToChange(bert, text, target, word);
  const { encoding, index } = question;
  const off = parseHeads(typed, bert);
  const every = range(bert.layers);
  const pair = encoding.secondStart >= 0 && bert.has.includes("next_sentence");
  const switches = (places) =>
    every.map((layer) => range(bert.heads).map((head) => Number(!isOff(places, layer, head))));
  const settings = [
    [],
    ...every.flatMap((layer) => range(bert.heads).map((head) => [[layer, head]])),
    off,
  ].map(switches);
  const found = await question.rows(
      settings.map(() => encoding),
      settings,
    ),
    bits = found.map((row) => row[index] / Math.LN2);
  const outcome = async (row, heads) => {
    const value = Math.exp(row[index]);
    if (question.target === "next sentence") return { value, candidates: [], isNext: value };
    const [gap] = pair
      ? (await bert.nextSentence([encoding], [heads])).map(([next, not]) => next - not)
      : [null];
    return {
      value,
      candidates: bestOf(question.names, row, TOP),
      isNext: pair ? sigmoid(gap) : null,
    };
  };
  return {
    answer: question.answer,
    off,
    before: await outcome(found[0], settings[0]),
    after: await outcome(found.at(-1), settings.at(-1)),
    change: every.map((layer) =>
      range(bert.heads).map((head) => bits[1 + layer * bert.heads + head] - bits[0]),
    ),
    otherMasks: question.target === "mask" ? encoding.masked.length - 1 : 0,
  };
}

const isOff = (off, layer, head) => off.some(([i, j]) => i === layer && j === head);

export function rows({ answer, off, before, after, change }) {
  return change.flatMap((line, layer) =>
    line.map((bits, head) => ({
      layer: layer + 1,
      head: head + 1,
      off: isOff(off, layer, head),
      target: answer,
      change_bits: bits,
      probability: before.value * 2 ** bits,
      probability_all_on: before.value,
      probability_with_the_chosen_off: after.value,
      neurons_off: "",
      random_sets_mean: "",
    })),
  );
}

/** @returns {Figure} */
export function draw({ off, before, after, change, answer }) {
  /** @type {Panel[]} */
  const panels = [
    {
      title:
        "Press a head to switch it off or on.\nOrange: the answer needs it. Blue: it is in the way",
      marks: [switches(off, change)],
    },
    {
      title: answer === "is next" ? "P(is next)" : `P of ${quote(clip(answer, 16))}`,
      marks: [{ kind: "bars", bars: bars(off, before, after), above: true }],
    },
  ];
  if (before.candidates.length) {
    panels.push({ title: "All heads on", marks: [choices(before)] });
    if (off.length) panels.push({ title: "With those off", beside: true, marks: [choices(after)] });
  }
  return { marks: 1, panels };
}

/** The effect of each head alone; a cross marks the heads that are off.
 *  @returns {Cells} */
function switches(off, change) {
  const limit = Math.max(0.05, most(change.flat().map(Math.abs)));
  const pressed = (layer, head) =>
    isOff(off, layer, head)
      ? off.filter(([i, j]) => i !== layer || j !== head)
      : [...off, [layer, head]];
  const said = (layer, head) =>
    `${placeName([layer, head])}${isOff(off, layer, head) ? ", off" : ""}: ${signed(change[layer][head])} bits`;
  const each = (write) => change.map((line, layer) => line.map((_, head) => write(layer, head)));
  return {
    kind: "cells",
    rows: change.map((_, layer) => `layer ${layer + 1}`),
    columns: change[0].map((_, head) => `${head + 1}`),
    values: change.map((line) => line.map((bits) => Math.round(1000 * bits) / 1000)),
    palette: "strong",
    low: -limit,
    high: limit,
    hover: each(said),
    doors: each((layer, head) => ({ set: { off: listed(pressed(layer, head)).join(", ") } })),
    crossed: sorted(off),
  };
}

const sorted = (places) => [...places].sort(([a, b], [c, d]) => a - c || b - d);
const listed = (places) => sorted(places).map(placeName);

/** The answer's value before and after.
 *  @returns {Bar[]} */
function bars(off, before, after) {
  /** @returns {Bar} */
  const bar = (name, value, /** @type {Tone} */ tone = "blue") => {
    const words = `${name}: ${percent(value)}`;
    return { label: words, value, tone, hover: words };
  };
  const lines = [bar("all heads on", before.value)],
    both = before.candidates.length && before.isNext !== null;
  if (off.length) lines.push(bar(nameOff(off), after.value, "orange"));
  if (both) lines.push(bar("is next, all heads on", before.isNext, "pale"));
  if (both && off.length) lines.push(bar("is next, with those off", after.isNext, "ochre"));
  return lines;
}

/** The first choices.
 *  @returns {TextLines} */
const choices = ({ candidates }) => ({
  kind: "text",
  lines: candidates.map((one) => ({ text: `${one.token}  ${percent(one.probability)}` })),
});

function nameOff(off) {
  const names = listed(off);
  return `${names.length <= 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`} off`;
}

export function say({ answer, off, before, after, change, otherMasks }) {
  const flat = change.flat(),
    width = change[0].length,
    name = (at) => placeName([Math.floor(at / width), at % width]);
  const [low, high] = [flat.indexOf(least(flat)), argmax(flat)];
  const start = off.length
    ? `With ${nameOff(off)}, ${quote(answer)} goes from ${percent(before.value)} to ${percent(after.value)}`
    : `With all heads on, ${quote(answer)} has ${percent(before.value)}`;
  const lowers =
    flat[low] < 0
      ? `switching off ${name(low)} lowers it most (${signed(flat[low])} bits)`
      : "none lowers it";
  const raises =
    flat[high] > 0
      ? `switching off ${name(high)} raises it most (${signed(flat[high])} bits)`
      : "none raises it";
  return [
    `${start}. Of all single heads, ${lowers} and ${raises}.`,
    ...onlyFirstMask(otherMasks),
  ].join(" ");
}
