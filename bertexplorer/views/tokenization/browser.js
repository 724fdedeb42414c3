// Tokenization: how the text is cut into pieces, and the vectors of each piece that add up to the input.
import { ACCENT, axis, bars, cells, Chart, clip, GREEN, GREY, label, MONO, ORANGE, PALE, quote, safe, ticks } from "../chart.js";
import { inputParts } from "../inputs.js";
import { cosine, least, length, mean, most, range, sum } from "../numbers.js";

const LONGEST = 100;  // characters of a word that has pieces
const SHOWN = 64, STEPS = 18, LETTERS = 26;  // tokens whose vectors are drawn; lines of the words that are cut; letters of a word
const LINE = 26, BAR = 24, TITLE = 44, GAP = 84;  // pixels: a step, a token, above the first panel, between the two
const APART = 0.012;  // share of the width between two columns
const NAMES = { position: "posi-<br>tion", segment: "seg-<br>ment", normalised: "after<br>norm" };  // in two lines, for a phone
const COLOURS = { word: ACCENT, position: ORANGE, segment: GREEN, sum: GREY, normalised: PALE };
const TAKEN = 1, MATCHED = 2, REST = 3, UNKNOWN = 4;
const SHADES = ["rgba(138,148,163,0.2)", ACCENT, PALE, "#e69f00"].flatMap((shade, i) => [[i / 4, shade], [(i + 1) / 4, shade]]);

export async function run(bert, text) {
  const encoding = bert.tokenizer.encode(text), { ids, segments } = encoding, parts = inputParts(bert, encoding);
  return {
    words: wordsOf(bert.tokenizer, encoding), tokens: ids.map((id) => bert.tokenizer.pieces[id]), ids, segments,
    norms: Object.fromEntries(Object.entries(parts).map(([name, rows]) => [name, rows.map(length)])),
    cosines: parts.word.map((word, i) => cosine(word, parts.normalised[i])),
  };
}

/** The words, each with its pieces; hidden words as they were before. Special tokens and masks that were typed are none. */
function wordsOf(tokenizer, encoding) {
  const { words, originalIds, special, tokens } = encoding, groups = new Map();
  words.forEach((word, i) => {
    const isTyped = originalIds[i] === tokenizer.maskId || (special[i] && tokenizer.slice(encoding, i) === tokens[i]);
    if (word !== null && !isTyped) groups.set(word, [...(groups.get(word) ?? []), i]);
  });
  return [...groups.values()].map((positions) => {
    const spans = positions.map((at) => encoding.spans[at]);
    const text = encoding.texts[spans[0].side].slice(spans[0].start, spans.at(-1).end).join("");
    const read = tokenizer.words(text, 0).flat().map(({ char }) => char).join(""), { steps, reason } = cut(tokenizer, read);
    return { text, read, steps: steps.slice(0, positions.length), reason };
  });
}

/** WordPiece (Wu et al., 2016; Devlin et al., 2019): from the left, the longest piece with which the rest begins. */
function cut({ ids, continuation, special, unknownId }, read) {
  const letters = [...read], steps = [];
  const unknown = (reason) => ({ reason, steps: [{ piece: special.unk, id: unknownId, start: 0, end: letters.length, rest: "" }] });
  if (letters.length > LONGEST) return unknown(`it has ${letters.length} characters, and more than ${LONGEST} are not tried`);
  for (let start = 0; start < letters.length; start = steps.at(-1).end) {
    const piece = (end) => (start ? continuation : "") + letters.slice(start, end).join("");
    const end = range(letters.length - start, start + 1).findLast((one) => ids.has(piece(one)));
    if (!end) return unknown(`no piece of the vocabulary begins “${piece(letters.length)}”`);
    steps.push({ piece: piece(end), id: ids.get(piece(end)), start, end, rest: letters.slice(end).join("") });
  }
  return { reason: "", steps };
}

export function rows({ tokens, ids, segments, norms, cosines }) {
  return tokens.map((token, i) => ({
    place: i, token, id: ids[i], position: i, segment: segments[i],
    ...Object.fromEntries(Object.entries(norms).map(([part, values]) => [`norm_${part}`, values[i]])), cosine_word_input: cosines[i],
  }));
}

export function draw(result) {
  const { tokens, ids, segments, norms, cosines } = result;
  const words = wordsToDraw(result);
  const columns = Object.entries({ ...norms, cosine: cosines });
  const first = words.length ? 2 : 1;
  const above = LINE * sum(words.map((word) => word.steps.length)) + Math.floor(LINE / 2) * Math.max(0, words.length - 1);
  const count = Math.min(SHOWN, tokens.length), below = BAR * count, inner = above + below + (words.length ? GAP : 0);
  const chart = new Chart(), width = (1 - APART * (columns.length - 1)) / columns.length;
  const heading = (text, x, y, size) => chart.note({
    text, x, y, xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom", align: "left", showarrow: false, font: { size },
  });
  if (words.length) {
    chart.layout.xaxis = { anchor: "y", domain: [0, 1], visible: false };
    chart.layout.yaxis = { anchor: "x", domain: [1 - above / inner, 1] };
    const all = cutWords(result).length;
    heading(`cut, longest match first${all > words.length ? `: ${words.length} of ${all} words` : ""}`, 0, 1, 14);
    drawCuts(chart, words);
  }
  const hover = range(count).map((i) => `${safe(tokens[i])}: id ${ids[i]}, position ${i}, segment ${segments[i]}`);
  columns.forEach(([name, all], column) => {
    const values = all.slice(0, count);
    const digits = name === "cosine" || (columns.length < 7 && most(all) < 10) ? 2 : 1;
    const panel = first + column;
    const number = panel === 1 ? "" : panel, furthest = Math.max(most(values.map(Math.abs)), 1e-6), start = column * (width + APART);
    const trace = bars(values, COLOURS[name] ?? GREY, {
      text: values.map((one) => one.toFixed(digits)), hover, textfont: { size: 12 }, constraintext: "none",
    });
    chart.add({ ...trace, hovertemplate: `%{customdata}<br>${name} %{x:.3f}<extra></extra>` }, panel);
    chart.layout[`xaxis${number}`] = {
      anchor: axis("y", panel), domain: [start, start + width], range: [Math.min(0, least(values)) * 3.1, furthest * 3.1], visible: false,
    };
    chart.layout[`yaxis${number}`] = {
      anchor: axis("x", panel), domain: [0, below / inner], range: [count - 0.5, -0.5], showgrid: false, showticklabels: !column,
      ...(column ? { matches: axis("y", first) } : ticks(tokens.slice(0, count).map((token) => label(token, 10)), { mono: 13 })),
    };
    heading(NAMES[name] ?? name, start, below / inner, 12);
  });
  return chart.finish(Math.max(320, inner + TITLE + 8), { bargap: 0.3, margin: { l: 8, r: 16, t: TITLE, b: 8 } });
}

/** Words of several pieces, and unknown ones; each spelling once. */
function cutWords({ words }) {
  const some = words.filter((word) => word.steps.length > 1 || word.reason);
  return [...new Map(some.map((word) => [JSON.stringify([word.read, word.steps]), word])).values()];
}

/** Of these the first, as many as fit. */
function wordsToDraw(result) {
  let lines = 0;
  return cutWords(result).filter(({ steps }) => { lines += steps.length; return lines <= STEPS; });
}

/** A line for each step: the part already matched, the piece of this step, and the rest. */
function drawCuts(chart, words) {
  const width = Math.max(16, Math.min(LETTERS, Math.max(...words.map((word) => [...word.read].length)))), places = [];
  for (const word of words) {
    const top = places.length ? places.at(-1) + 1.5 : 0, lines = word.steps.map((_, i) => top + i), letters = [...clip(word.read, width)];
    const blank = Array(width - letters.length).fill(null);
    const z = word.steps.map(({ start, end }) => [
      ...letters.map((_, i) => (word.reason ? UNKNOWN : i < start ? TAKEN : i < end ? MATCHED : REST)),
      ...blank,
    ]);
    const text = z.map((row) => row.map((state, i) => (state === TAKEN || state === null ? "" : safe(letters[i]))));
    const hover = word.steps.map((_, i) => Array(width).fill(hoverOf(word, i)));
    const trace = cells(z, SHADES, 0.5, 4.5, { text, hover, y: lines, textfont: { family: MONO, size: 13 }, hoverongaps: false });
    chart.add({ ...trace, xgap: undefined }, 1);
    places.push(...lines);
  }
  const pieces = words.flatMap((word) => word.steps.map((step) => label(step.piece, 10)));
  chart.axes("y", {
    range: [places.at(-1) + 0.5, -0.5], showgrid: false, tickvals: places, ticktext: pieces,
    tickfont: { family: MONO, size: 13 },
  }, 1);
}

function hoverOf({ text, steps, reason }, i) {
  if (reason) return `${safe(text)}: ${safe(steps[i].piece)}, as ${safe(reason)}`;
  return `${safe(text)}, step ${i + 1}: ${safe(steps[i].piece)}, ${steps[i].rest ? `then ${safe(steps[i].rest)} is left` : "nothing is left"}`;
}

export function say(result) {
  const { words, tokens, norms, cosines } = result;
  const known = cutWords(result).filter((word) => !word.reason);
  const unknown = words.find((word) => word.reason);
  const long = (name) => `${name} ${mean(norms[name]).toFixed(2)}`;
  const longest = known.reduce((best, word) => (word.steps.length > best.steps.length ? word : best), known[0]);
  const lengths = ["word", "position", "segment"].filter((name) => norms[name]).map(long);
  return [
    `${
      words.length === 1 ? "1 word becomes" : `${words.length} words and punctuation marks become`
    } ${tokens.length} tokens, special ones included.`,
    longest && `${quote(clip(longest.text, 40))} is cut into ${longest.steps.slice(0, 12).map((step) => step.piece).join(" + ")}.`,
    unknown && `${quote(clip(unknown.text, 40))} becomes ${unknown.steps[0].piece}: ${unknown.reason}.`,
    `Lengths on average: ${lengths.join(", ")}; the ${long("sum")}, after LayerNorm ${mean(norms.normalised).toFixed(2)}. `
      + `The word vector and the input have a cosine of ${mean(cosines).toFixed(2)} on average.`,
    tokens.length > SHOWN && `The first ${SHOWN} of ${tokens.length} tokens are drawn.`,
  ].filter(Boolean).join(" ");
}
