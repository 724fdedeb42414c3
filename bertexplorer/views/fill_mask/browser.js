// One mask: the pieces that the checkpoint would put at each mask, with their probabilities.
import { ACCENT, above, axis, bars, Chart, down, GREEN, grouped, label, ORANGE, percent, quote } from "../chart.js";
import { encodeMasked, parseWords, scoreWords } from "../masks.js";
import { entropyBits, rankOf, topk } from "../numbers.js";

const MAX_BLANKS = 20, AXIS = [0, 1.35], BAR = 30, HEAD = 44, DRAWN = 12;

export async function run(bert, text, { top, words }) {
  const encoding = encodeMasked(bert, text), positions = encoding.masked.slice(0, MAX_BLANKS), wanted = parseWords(words);
  const [rows] = await bert.maskedLogProbs([encoding], [positions]), blanks = [];
  for (const [i, position] of positions.entries()) {
    const row = rows[i];
    const was = encoding.originalIds[position];
    const candidate = (id, rank) => ({
      token: bert.tokenizer.pieces[id], id, probability: Math.exp(row[id]), logProbability: row[id], rank,
    });
    blanks.push({
      position, row,
      candidates: topk(row, top).map((id, at) => candidate(id, at + 1)),
      original: was === bert.tokenizer.maskId ? null : candidate(was, rankOf(row, was)),
      entropy: entropyBits(row), words: await scoreWords(bert, encoding, position, row, wanted),
    });
  }
  return { blanks, leftOut: encoding.masked.length - positions.length };
}

export function rows({ blanks }) {
  return blanks.flatMap((blank, i) => {
    const start = { mask: i + 1, position: blank.position, entropy_bits: blank.entropy };
    const row = (kind) => ({ token, word = token, probability, logProbability, rank }) => ({
      ...start, kind, rank: rank ?? "", token: word, probability, log_probability: logProbability,
    });
    return [...blank.candidates.map(row("answer")), ...[blank.original ?? []].flat().map(row("hidden")), ...blank.words.map(row("word"))];
  });
}

export function draw({ blanks }) {
  const several = blanks.length > 1;
  const lines = blanks.map((blank) => barsOf(blank, several ? DRAWN : 100));
  const heights = lines.map((one) => HEAD + BAR * one.length);
  const whole = heights.reduce((a, b) => a + b);
  const chart = new Chart();
  let top = 1;
  blanks.forEach((blank, i) => {
    const [labels, values, colours, words] = [0, 1, 2, 3].map((part) => lines[i].map((one) => one[part]));
    const number = i ? String(i + 1) : "";
    const axes = { xaxis: axis("x", i + 1), yaxis: axis("y", i + 1) };
    const head = several ? HEAD / whole : 0, bottom = Math.max(0, top - heights[i] / whole);
    chart.add({ ...bars(values, colours, { text: words, hover: labels }), hovertemplate: "%{customdata} %{text}<extra></extra>", ...axes });
    chart.layout[`yaxis${number}`] = { ...down(labels, { mono: 14 }), domain: [bottom, top - head], anchor: axes.xaxis };
    chart.layout[`xaxis${number}`] = { range: AXIS, visible: false, anchor: axes.yaxis };
    if (several) chart.note(above(`mask ${i + 1}, token ${blank.position}`, 0, { size: 16, x: 0.5, y: top - head, xanchor: "center" }));
    top = bottom;
  });
  return chart.finish(Math.max(360, whole), { bargap: 0.28, margin: { l: 8, r: 16, t: 4, b: 8 }, meta: "bars" });
}

/** [label, probability, colour, words next to the bar] from the top down. */
function barsOf({ candidates, original: was, words }, most) {
  const lines = candidates.slice(0, most).map((one) => {
    const hidden = one.id === was?.id;
    return [label(one.token), one.probability, hidden ? GREEN : ACCENT, percent(one.probability) + (hidden ? " · was hidden here" : "")];
  });
  if (was && was.rank > Math.min(most, candidates.length)) {
    lines.push([
      label(was.token),
      was.probability,
      GREEN,
      `${percent(was.probability)} · was hidden here, rank ${grouped(was.rank)}`,
    ]);
  }
  for (const one of words) {
    lines.push([
      label(one.word),
      one.probability,
      ORANGE,
      `${percent(one.probability)} · ${one.rank ? `rank ${grouped(one.rank)}` : `${one.pieces.length} pieces`}`,
    ]);
  }
  return lines;
}

export function say({ blanks, leftOut }) {
  const sentences = blanks
    .slice(0, 3)
    .map((blank, i) => {
      const [best, second] = blank.candidates, choices = 2 ** blank.entropy;
      const then = second ? `, then ${quote(second.token)} with ${percent(second.probability)}` : "";
      const hidden = blank.original?.rank > 1
        ? `; the hidden ${quote(blank.original.token)} comes at rank ${grouped(blank.original.rank)}`
        : "";
      return `${blanks.length > 1 ? `For mask ${i + 1} it` : "It"} would put ${quote(best.token)} with ${percent(best.probability)}${then}${hidden}. `
        + `Its uncertainty is ${blank.entropy.toFixed(1)} bits, as if choosing among ${choices >= 10 ? grouped(Math.round(choices)) : choices.toFixed(1)} equally likely words.`;
    });
  const rest = blanks.length - 3 + leftOut;
  if (rest > 0) sentences.push(`${rest} more masks follow${leftOut ? `, ${leftOut} not shown.` : "."}`);
  return sentences.join(" ");
}
