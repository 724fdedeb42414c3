// Switchboard: heads switched off, and how that changes the answer.
import {
  above, ACCENT, bars, cells, Chart, fromOne, heightOf, HIDDEN, INK, label, onlyFirstMask, ORANGE, PALE, percent, quote, signed, texts,
} from "../chart.js";
import { parseHeads, placeName } from "../heads.js";
import { bestPieces } from "../masks.js";
import { argmax, least, most, range, sigmoid } from "../numbers.js";
import { askToChange } from "../question.js";

const TOP = 5, CELL = 34, BAR = 46, GAP = 96;  // answers; pixels
const CHANGES = [[0, "#d55e00"], [0.25, "#f2b48a"], [0.5, "#f4f6f9"], [0.75, "#9fc1e6"], [1, "#2b6cb0"]];

export async function run(bert, text, { off: typed, word, target }) {
  const question = await askToChange(bert, text, target, word);
  const { encoding, index } = question;
  const off = parseHeads(typed, bert);
  const every = range(bert.layers);
  const pair = encoding.secondStart >= 0 && bert.has.includes("next_sentence");
  const switches = (places) => every.map((layer) => range(bert.heads).map((head) => Number(!isOff(places, layer, head))));
  const settings = [[], ...every.flatMap((layer) => range(bert.heads).map((head) => [[layer, head]])), off].map(switches);
  const found = await question.rows(settings.map(() => encoding), settings), bits = found.map((row) => row[index] / Math.LN2);
  const outcome = async (row, heads) => {
    const value = Math.exp(row[index]);
    if (question.target === "next sentence") return { value, candidates: [], isNext: value };
    const [gap] = pair ? (await bert.nextSentence([encoding], [heads])).map(([next, not]) => next - not) : [null];
    return { value, candidates: bestPieces(bert, row, TOP), isNext: pair ? sigmoid(gap) : null };
  };
  return {
    answer: question.answer, off, before: await outcome(found[0], settings[0]), after: await outcome(found.at(-1), settings.at(-1)),
    change: every.map((layer) => range(bert.heads).map((head) => bits[1 + layer * bert.heads + head] - bits[0])),
    otherMasks: question.target === "mask" ? encoding.masked.length - 1 : 0,
  };
}

const isOff = (off, layer, head) => off.some(([i, j]) => i === layer && j === head);

export function rows({ answer, off, before, after, change }) {
  return change.flatMap((line, layer) => line.map((bits, head) => ({
    layer: layer + 1, head: head + 1, off: isOff(off, layer, head), target: answer, change_bits: bits,
    probability: before.value * 2 ** bits,
    probability_all_on: before.value, probability_with_the_chosen_off: after.value, neurons_off: "", random_sets_mean: "",
  })));
}

export function draw(result) {
  const { answer, off, after, change } = result, lines = barRows(result);
  const heights = [CELL * change.length, BAR * lines.length, 24 * Math.max(1, after.candidates.length)], chart = Chart.panels(heights, GAP);
  drawSwitches(chart, result);
  drawBars(chart, lines);
  drawLists(chart, result);
  const below = after.candidates.length ? `All heads on${off.length ? ", and with those off" : ""}` : "";
  const heading = answer === "is next" ? "P(is next)" : `P of ${quote(label(answer, 16))}`;
  const names = ["Press a head to switch it off or on.<br>Orange: the answer needs it.<br>Blue: it is in the way", heading, below];
  names.forEach((name, i) => chart.note(above(name, 8, { row: i + 1 })));
  return chart.finish(heightOf(heights, GAP) + 110, { margin: { l: 8, r: 12, t: 84, b: 26 } });
}

/** The effect of each head alone; a cross marks the heads that are off. */
function drawSwitches(chart, { off, change }) {
  const limit = Math.max(0.05, most(change.flat().map(Math.abs)));
  const pressed = (layer, head) => (isOff(off, layer, head) ? off.filter(([i, j]) => i !== layer || j !== head) : [...off, [layer, head]]);
  const leads = change.map((line, layer) => line.map((_, head) => ({ set: { off: listed(pressed(layer, head)).join(", ") } })));
  const text = change.map((line, layer) => line.map((bits, head) =>
    `${placeName([layer, head])}${isOff(off, layer, head) ? ", off" : ""}: ${signed(bits)} bits`));
  const rounded = change.map((line) => line.map((bits) => Math.round(1000 * bits) / 1000)), crossed = sorted(off);
  chart.add({ ...cells(rounded, CHANGES, -limit, limit, { gap: 2, customdata: leads, hovertemplate: "%{text}<extra></extra>" }), text }, 1);
  chart.add({
    type: "scatter", x: crossed.map(([, head]) => head), y: crossed.map(([layer]) => layer), mode: "markers",
    marker: { symbol: "x", size: 12, color: INK },
    customdata: crossed.map(([layer, head]) => leads[layer][head]), hoverinfo: "skip",
  }, 1);
  chart.axes("y", { autorange: "reversed", fixedrange: true, ...fromOne(change.length, change.length <= 12 ? 1 : 2, "layer ") }, 1);
  chart.axes("x", { side: "bottom", fixedrange: true, ...fromOne(change[0].length) }, 1);
}

const sorted = (places) => [...places].sort(([a, b], [c, d]) => a - c || b - d);
const listed = (places) => sorted(places).map(placeName);

/** [name, value, colour] of each bar. */
function barRows({ off, before, after }) {
  const lines = [["all heads on", before.value, ACCENT]], both = before.candidates.length && before.isNext !== null;
  if (off.length) lines.push([nameOff(off), after.value, ORANGE]);
  if (both) lines.push(["is next, all heads on", before.isNext, PALE]);
  if (both && off.length) lines.push(["is next, with those off", after.isNext, "#f2b48a"]);
  return lines;
}

function drawBars(chart, lines) {
  const values = lines.map(([, value]) => value), top = most(values) || 1;
  chart.add(bars(values, lines.map(([, , colour]) => colour), { width: 0.34, hovertemplate: "%{x:.2%}<extra></extra>" }), 2);
  chart.add(texts(0, values.map((_, row) => row - 0.36), lines.map(([name, value]) => `${label(name, 40)}: ${percent(value)}`)), 2);
  chart.axes("x", { range: [-0.01 * top, 1.04 * top], ...HIDDEN }, 2);
  chart.axes("y", { range: [lines.length - 0.6, -0.75], ...HIDDEN }, 2);
}

/** The first choices before and after, side by side. */
function drawLists(chart, { off, before, after }) {
  for (const [x, { candidates }] of [[0, before], ...(off.length ? [[0.5, after]] : [])]) {
    candidates.forEach((one, row) => chart.add(texts(x, [row], [`${label(one.token, 14)}  ${percent(one.probability)}`]), 3));
  }
  chart.axes("x", { range: [-0.01, 1], ...HIDDEN }, 3);
  chart.axes("y", { range: [Math.max(1, after.candidates.length) - 0.5, -0.5], ...HIDDEN }, 3);
}

function nameOff(off) {
  const names = listed(off);
  return `${names.length <= 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`} off`;
}

export function say({ answer, off, before, after, change, otherMasks }) {
  const flat = change.flat(), width = change[0].length, name = (at) => placeName([Math.floor(at / width), at % width]);
  const [low, high] = [flat.indexOf(least(flat)), argmax(flat)];
  const start = off.length ? `With ${nameOff(off)}, ${quote(answer)} goes from ${percent(before.value)} to ${percent(after.value)}`
    : `With all heads on, ${quote(answer)} has ${percent(before.value)}`;
  const lowers = flat[low] < 0 ? `switching off ${name(low)} lowers it most (${signed(flat[low])} bits)` : "none lowers it";
  const raises = flat[high] > 0 ? `switching off ${name(high)} raises it most (${signed(flat[high])} bits)` : "none raises it";
  return [`${start}. Of all single heads, ${lowers} and ${raises}.`, ...onlyFirstMask(otherMasks)].join(" ");
}
