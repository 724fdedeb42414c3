// Next sentence: how sure BERT is that one text follows another, both ways round and among other candidates.
import {
  above, ACCENT, bars, beyondLimit, Chart, clip, decimal, heightOf, HIDDEN, label, MONO, ordinal, PALE, percent, quote, safe, TEXT, texts,
} from "../chart.js";
import { sigmoid, sum } from "../numbers.js";
import { parseTexts } from "../passages.js";
import { encodePair } from "../question.js";
import { Refusal } from "../tokens.js";

const SHOWN = 30, LINE = 44;  // tokens of a segment that are drawn; characters in a line of them
const LINE_HEIGHT = 46, ROW_HEIGHT = 62, GAP = 34;  // pixels
const TINTS = ["rgba(43,108,176,0.20)", "rgba(213,94,0,0.18)"], REST = "rgba(138,148,163,0.18)";

export async function run(bert, text, { candidates }) {
  await bert.nextSentence([]);  // refuses if there is no head
  const pair = encodePair(bert, text);
  const swapped = encodePair(bert, {
    first: text.second, second: text.first,
    hidden: text.hidden.map((span) => ({ ...span, side: 1 - span.side })),
  });
  const first = { first: text.first, hidden: text.hidden.filter((span) => span.side === 0) };
  const others = parseTexts(candidates).map((one) => encodeCandidate(bert, first, one));
  const encodings = [pair, swapped, ...others.filter(({ ids }) => String(ids) !== String(pair.ids))];
  const logits = await bert.nextSentence(encodings);
  const [forward, backward, ...rest] = encodings.map((one, i) =>
    score(visibleSide(bert, one, 0), visibleSide(bert, one, 1), [...logits[i]]));
  return {
    tokens: pair.ids.map((id) => bert.tokenizer.pieces[id]), segments: pair.segments, forward, backward,
    candidates: [forward, ...rest].sort((a, b) => b.gap - a.gap), leftOut: pair.leftOut + sum(others.map(({ cut }) => cut[1])),
  };
}

function score(first, second, logits) {
  const gap = logits[0] - logits[1];
  return { first, second, logits, gap, isNext: sigmoid(gap), notNext: sigmoid(-gap) };
}

function encodeCandidate(bert, first, second) {
  try {
    return encodePair(bert, { ...first, second });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(`${[...`'${second}'`].slice(0, 60).join("")} cannot be a second sentence: nothing in it can be read.`);
  }
}

/** One side of a pair as the encoder reads it, with [MASK] for each hidden piece. */
function visibleSide({ tokenizer: { mask } }, { texts: sides, spans, ids, originalIds }, side) {
  const text = [...sides[side]];
  const hidden = spans.filter((span, i) => span?.side === side && ids[i] !== originalIds[i]);
  for (const { start, end } of hidden.reverse()) text.splice(start, end - start, mask);
  return text.join("").trim();
}

export function rows({ forward, backward, candidates }) {
  const ways = [["A, B", "", forward], ["B, A", "", backward], ...candidates.map((one, i) => ["candidate", i + 1, one])];
  return ways.map(([pair, rank, { first, second, logits, isNext, notNext }]) => (
    { pair, rank, first, second, is_next: isNext, is_not_next: notNext, logit_is_next: logits[0], logit_is_not_next: logits[1] }
  ));
}

export function draw(result) {
  const chips = layoutChips(result);
  const lines = 1 + chips.at(-1).line;
  const [names, scores] = barRows(result);
  const places = scores.map((_, row) => row + (row > 1 ? 0.5 : 0));
  const heights = [LINE_HEIGHT * lines, ROW_HEIGHT * (places.at(-1) + 1.05)], chart = Chart.panels(heights, GAP);
  chart.add({
    type: "bar", x: chips.map((chip) => chip.width), base: chips.map((chip) => chip.left),
    y: chips.map((chip) => chip.line), orientation: "h", width: 0.84,
    marker: { color: chips.map((chip) => TINTS[chip.segment]), line: { width: 0 } },
    text: chips.map((chip) => `${safe(chip.piece)}<br>${chip.segment}`),
    textposition: "inside", insidetextanchor: "middle", constraintext: "none", textangle: 0,
    textfont: { family: MONO, size: 12, color: TEXT },
    hovertext: chips.map((chip) => `${safe(chip.piece)}: segment ${"AB"[chip.segment]}, id ${chip.segment}`),
    hovertemplate: "%{hovertext}<extra></extra>",
  }, 1);
  chart.axes("y", { range: [lines - 0.5, -0.5] }, 1);
  chart.axes("x", { range: [0, LINE] }, 1);
  chart.note(above("What BERT reads, with segment ids", 4, { row: 1, size: 13 }));
  const hover = scores.map((one) => `A: ${label(one.first, 60)}<br>B: ${label(one.second, 60)}<br>is next ${percent(one.isNext)}, logit `
    + `${decimal(one.logits[0])}<br>not next ${percent(one.notNext)}, logit ${decimal(one.logits[1])}`);
  chart.add(bars(scores.map((one) => one.isNext), ACCENT, { hover, y: places, width: 0.36 }), 2);
  chart.add(bars(scores.map((one) => one.notNext), REST, { hover, y: places, width: 0.36 }), 2);
  chart.add(texts(1.02, places, scores.map((one) => `${percent(one.isNext)} is next<br>${percent(one.notNext)} not`)), 2);
  chart.add(texts(0, places.map((place) => place - 0.4), names.map(safe)), 2);
  if (scores.length > 2) {
    chart.hline(1.36, 2, { line: { color: PALE, width: 1 } });
    chart.add(texts(0, [1.66], ["A, then each candidate, likeliest first"]), 2);
  }
  chart.axes("y", { range: [places.at(-1) + 0.4, -0.65] }, 2);
  chart.axes("x", { range: [-0.01, 1.46] }, 2);
  chart.note(above("Does the second follow the first? Blue: is next", 4, { row: 2, size: 13 }));
  chart.axes("x", HIDDEN);
  chart.axes("y", HIDDEN);
  return chart.finish(Math.max(320, 40 + heightOf(heights, GAP)), { barmode: "stack", margin: { l: 8, r: 8, t: 30, b: 10 } });
}

/** A chip for each token of both segments, in lines; a long segment is cut in the middle. */
function layoutChips({ tokens, segments }) {
  const chips = [];
  let left = 0, line = 0;
  for (const segment of [0, 1]) {
    let pieces = tokens.filter((_, i) => segments[i] === segment).map((token) => clip(token, 16));
    if (pieces.length > SHOWN) pieces = [...pieces.slice(0, SHOWN - 2), `… ${pieces.length - SHOWN + 1} more`, pieces.at(-1)];
    for (const piece of pieces) {
      const width = [...piece].length + 1.6;
      if (left && left + width > LINE) [left, line] = [0, line + 1];
      chips.push({ left, line, width, piece, segment });
      left += width + 0.5;
    }
  }
  return chips;
}

/** [headings, scores] of the bars: both orders, then the candidates if there are any besides B. */
function barRows({ forward, backward, candidates }) {
  const ways = [["A, then B", forward], ["B, then A", backward]], listed = candidates.length > 1 ? candidates : [];
  const headings = ways.map(([way, { logits }]) => `${way}: logits ${decimal(logits[0])} is next, ${decimal(logits[1])} not`);
  const ranked = listed.map((one, i) => (one === forward ? `${i + 1}. B: ${clip(one.second, 41)}` : `${i + 1}. ${clip(one.second, 44)}`));
  return [[...headings, ...ranked], [forward, backward, ...listed]];
}

export function say({ forward, backward, candidates, leftOut }) {
  const sentences = [
    `B follows A with ${percent(forward.isNext)}, does not with ${percent(forward.notNext)} (logits ${decimal(forward.logits[0])} for is next, `
      + `${decimal(forward.logits[1])} for is not next, in this order); the other way round, A follows B with ${percent(backward.isNext)}.`,
  ];
  if (candidates.length > 1) {
    const [best] = candidates, rank = 1 + candidates.indexOf(forward);
    const name = rank === 1 ? "B itself" : `${quote(clip(best.second, 60))}, and B comes ${ordinal(rank)}`;
    sentences.push(`Of ${candidates.length} candidates the likeliest (${percent(best.isNext)}) is ${name}.`);
  }
  return [...sentences, ...beyondLimit(leftOut)].join(" ");
}
