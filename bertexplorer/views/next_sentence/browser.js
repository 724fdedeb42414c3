// Next sentence: how sure BERT is that one text follows another, both ways round and among other candidates.
import {
  beyondLimit,
  clip,
  decimal,
  ofTwo,
  ordinal,
  percent,
  quote,
} from "../../web/static/site/wording.js";
import { sigmoid, sum } from "../../web/static/numbers.js";
import { parseTexts } from "../../web/static/site/passages.js";
import { encodePair } from "../../web/static/site/question.js";
import { Refusal } from "../../web/static/site/refusal.js";

/** @import { Bars, Figure, Panel } from "../../web/static/types.d.ts" */

const SHOWN = 30,
  TONES = ["blue", "orange"]; // tokens of a segment that are drawn; of segments 0 and 1

export async function run(bert, text, { candidates }) {
  await bert.nextSentence([]); // refuses if there is no head
  const pair = encodePair(bert, text);
  const swapped = encodePair(bert, {
    first: text.second,
    second: text.first,
    hidden: text.hidden.map((span) => ({ ...span, side: 1 - span.side })),
  });
  const first = { first: text.first, hidden: text.hidden.filter((span) => span.side === 0) };
  const others = parseTexts(candidates).map((one) => encodeCandidate(bert, first, one));
  const encodings = [
    pair,
    swapped,
    ...others.filter(({ ids }) => String(ids) !== String(pair.ids)),
  ];
  const logits = await bert.nextSentence(encodings);
  const [forward, backward, ...rest] = encodings.map((one, i) =>
    score(visibleSide(bert, one, 0), visibleSide(bert, one, 1), [...logits[i]]),
  );
  return {
    tokens: pair.ids.map((id) => bert.tokenizer.pieces[id]),
    segments: pair.segments,
    forward,
    backward,
    candidates: [forward, ...rest].sort((a, b) => b.gap - a.gap),
    leftOut: pair.leftOut + sum(others.map(({ cut }) => cut[1])),
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
    throw new Refusal(
      `${[...`'${second}'`].slice(0, 60).join("")} cannot be a second sentence: nothing in it can be read.`,
    );
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
  const ways = [
    ["A, B", "", forward],
    ["B, A", "", backward],
    ...candidates.map((one, i) => ["candidate", i + 1, one]),
  ];
  return ways.map(([pair, rank, { first, second, logits, isNext, notNext }]) => ({
    pair,
    rank,
    first,
    second,
    is_next: isNext,
    is_not_next: notNext,
    logit_is_next: logits[0],
    logit_is_not_next: logits[1],
  }));
}

/** @returns {Figure} */
export function draw(result) {
  const { forward, backward, candidates } = result;
  const ways = [
    ["A, then B", forward],
    ["B, then A", backward],
  ].map(([way, score]) =>
    bar(
      `${way}: logits ${decimal(score.logits[0])} is next, ${decimal(score.logits[1])} not`,
      score,
    ),
  );
  /** @returns {Bars[]} */
  const barsOf = (bars) => [{ kind: "bars", bars, high: 1, above: true }];
  /** @type {Panel[]} */
  const panels = [
    {
      title: "What BERT reads, with segment ids",
      marks: [{ kind: "tokens", tokens: tokens(result) }],
    },
    { title: "Does the second follow the first? Blue: is next", marks: barsOf(ways) },
  ];
  if (candidates.length > 1) {
    const ranked = candidates.map((one, i) =>
      bar(`${i + 1}. ${one === forward ? "B: " : ""}${one.second}`, one),
    );
    panels.push({ title: "A, then each candidate, likeliest first", marks: barsOf(ranked) });
  }
  return { marks: 1, panels };
}

/** The tokens of both segments; a long one is cut in the middle. */
function tokens({ tokens: all, segments }) {
  return TONES.flatMap((tone, segment) => {
    let pieces = all.filter((_, i) => segments[i] === segment);
    if (pieces.length > SHOWN)
      pieces = [
        ...pieces.slice(0, SHOWN - 2),
        `… ${pieces.length - SHOWN + 1} more`,
        pieces.at(-1),
      ];
    return pieces.map((text) => ({
      text,
      note: `${segment}`,
      tone,
      hover: `${text}: segment ${"AB"[segment]}, id ${segment}`,
    }));
  });
}

/** A blue part for “is next”, on all of it. */
function bar(label, { first, second, logits, isNext }) {
  const [yes, no] = ofTwo(isNext);
  const hover =
    `A: ${first}\nB: ${second}\nis next ${yes}, logit ${decimal(logits[0])}\n` +
    `not next ${no}, logit ${decimal(logits[1])}`;
  return {
    label,
    value: isNext,
    text: `${yes} is next · ${no} not`,
    hover,
    behind: 1,
  };
}

export function say({ forward, backward, candidates, leftOut }) {
  const [yes, no] = ofTwo(forward.isNext);
  const sentences = [
    `B follows A with ${yes}, does not with ${no} (logits ${decimal(forward.logits[0])} for is next, ` +
      `${decimal(forward.logits[1])} for is not next, in this order); the other way round, A follows B with ${percent(backward.isNext)}.`,
  ];
  if (candidates.length > 1) {
    const [best] = candidates,
      rank = 1 + candidates.indexOf(forward);
    const name =
      rank === 1 ? "B itself" : `${quote(clip(best.second, 60))}, and B comes ${ordinal(rank)}`;
    sentences.push(
      `Of ${candidates.length} candidates the likeliest (${percent(best.isNext)}) is ${name}.`,
    );
  }
  return [...sentences, ...beyondLimit(leftOut)].join(" ");
}
