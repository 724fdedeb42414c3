// One mask: the pieces that the checkpoint would put at each mask, with their probabilities.
import { grouped, percent, quote } from "../../web/static/site/wording.js";
import { encodeMasked, parseWords, scoreWords } from "../../web/static/site/masks.js";
import { entropyBits, rankOf, topk } from "../../web/static/numbers.js";

/** @import { Figure } from "../../web/static/types.d.ts" */

const MAX_BLANKS = 20,
  DRAWN = 12; // masks that are answered; answers drawn for each mask when there are several

export async function run(bert, text, { top, words }) {
  const encoding = encodeMasked(bert, text),
    positions = encoding.masked.slice(0, MAX_BLANKS),
    wanted = parseWords(words);
  const [rows] = await bert.maskedLogProbs([encoding], [positions]),
    blanks = [];
  for (const [i, position] of positions.entries()) {
    const row = rows[i];
    const was = encoding.originalIds[position];
    const candidate = (id, rank) => ({
      token: bert.tokenizer.pieces[id],
      id,
      probability: Math.exp(row[id]),
      logProbability: row[id],
      rank,
    });
    blanks.push({
      position,
      row,
      candidates: topk(row, top).map((id, at) => candidate(id, at + 1)),
      original: was === bert.tokenizer.maskId ? null : candidate(was, rankOf(row, was)),
      entropy: entropyBits(row),
      words: await scoreWords(bert, encoding, position, row, wanted),
    });
  }
  return { blanks, leftOut: encoding.masked.length - positions.length };
}

export function rows({ blanks }) {
  return blanks.flatMap((blank, i) => {
    const start = { mask: i + 1, position: blank.position, entropy_bits: blank.entropy };
    const row =
      (kind) =>
      ({ token, word = token, probability, logProbability, rank }) => ({
        ...start,
        kind,
        rank: rank ?? "",
        token: word,
        probability,
        log_probability: logProbability,
      });
    return [
      ...blank.candidates.map(row("answer")),
      ...[blank.original ?? []].flat().map(row("hidden")),
      ...blank.words.map(row("word")),
    ];
  });
}

/** @returns {Figure} */
export function draw({ blanks }) {
  const several = blanks.length > 1;
  const panels = blanks.map((blank, i) => ({
    title: several ? `mask ${i + 1}, token ${blank.position}` : "",
    marks: [{ kind: "bars", bars: barsOf(blank, several ? DRAWN : 100), high: 1, tokens: true }],
  }));
  return { marks: 1, panels };
}

/** The answers, the hidden piece and the words that were named, from the top down. */
function barsOf({ candidates, original: was, words }, most) {
  const bar = (label, value, note = "", tone = "blue") => ({
    label,
    value,
    text: percent(value) + note,
    tone,
  });
  const bars = candidates
    .slice(0, most)
    .map(({ id, token, probability }) =>
      id === was?.id
        ? bar(token, probability, " · was hidden here", "green")
        : bar(token, probability),
    );
  if (was && was.rank > Math.min(most, candidates.length)) {
    bars.push(
      bar(was.token, was.probability, ` · was hidden here, rank ${grouped(was.rank)}`, "green"),
    );
  }
  for (const { word, probability, rank, pieces } of words) {
    bars.push(
      bar(
        word,
        probability,
        rank ? ` · rank ${grouped(rank)}` : ` · ${pieces.length} pieces`,
        "orange",
      ),
    );
  }
  return bars;
}

export function say({ blanks, leftOut }) {
  const sentences = blanks.slice(0, 3).map((blank, i) => {
    const [best, second] = blank.candidates,
      choices = 2 ** blank.entropy;
    const then = second ? `, then ${quote(second.token)} with ${percent(second.probability)}` : "";
    const hidden =
      blank.original?.rank > 1
        ? `; the hidden ${quote(blank.original.token)} comes at rank ${grouped(blank.original.rank)}`
        : "";
    return (
      `${blanks.length > 1 ? `For mask ${i + 1} it` : "It"} would put ${quote(best.token)} with ${percent(best.probability)}${then}${hidden}. ` +
      `Its uncertainty is ${blank.entropy.toFixed(1)} bits, as if choosing among ${choices >= 10 ? grouped(Math.round(choices)) : choices.toFixed(1)} equally likely words.`
    );
  });
  const rest = blanks.length - 3 + leftOut;
  if (rest > 0)
    sentences.push(`${rest} more masks follow${leftOut ? `, ${leftOut} not shown.` : "."}`);
  return sentences.join(" ");
}
