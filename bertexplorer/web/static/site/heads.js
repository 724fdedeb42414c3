// Heads and neurons as a person writes them ("5·3": layer 5, head 3, from 1; in data from 0), and the heads worth a look in one text.
import { argmax, range } from "../numbers.js";
import { Refusal } from "./refusal.js";
import { grouped } from "./wording.js";

const PLACE = /^(\d{1,4})\s*[·.\-:/]\s*(\d{1,6})$/,
  MAX_TYPED = 2_000;
const WINDOW = 20; // tokens of a long text whose links are looked at
const ALWAYS = 0.5; // a head is positional if more than this share of its tokens look the same distance away

export const placeName = ([layer, number]) => `${layer + 1}·${number + 1}`;

/** [layer, number] of each place in a line such as "5·3, 5.7", each once. *count*: of this *kind* in a layer. */
function parsePlaces(typed, kind, example, layers, count) {
  const { length } = [...typed];
  if (length > MAX_TYPED) {
    throw new Refusal(
      `A line of ${grouped(length)} characters was given; the limit is ${grouped(MAX_TYPED)}. Shorten it.`,
    );
  }
  const places = new Map();
  const parts = typed.split(/[,;\n]/).map((one) => one.trim());
  for (const part of parts.filter(Boolean)) {
    const [layer, number] = PLACE.exec(part)?.slice(1).map(Number) ?? [];
    if (layer === undefined) {
      throw new Refusal(
        `'${[...part].slice(0, 20).join("")}' is not a ${kind}; expected a layer and a ${kind} such as ${example}, separated by commas.`,
      );
    }
    checkNumber(layer, layers, "layer");
    checkNumber(number, count, kind);
    places.set(`${layer}·${number}`, [layer - 1, number - 1]);
  }
  return [...places.values()];
}

export const parseHeads = (typed, { layers, heads }) =>
  parsePlaces(typed, "head", "5·3 or 5.3", layers, heads);

export function checkNumber(number, count, kind, low = 1) {
  if (low <= number && number <= count) return;
  const name = `${kind[0].toUpperCase()}${kind.slice(1)}`;
  const choice = low ? `1 to ${count}` : `1 to ${count}, or 0 for all`;
  throw new Refusal(
    `${name} ${number} does not exist; there are ${count} ${kind}s. Choose ${choice}.`,
  );
}

/** The heads with this *layer* and this number *head*, both from 1; 0 means all. */
export function oneOrAll(layer, head, { layers, heads }) {
  checkNumber(layer, layers, "layer", 0);
  checkNumber(head, heads, "head", 0);
  const inLayers = layer ? [layer - 1] : range(layers);
  const numbers = head ? [head - 1] : range(heads);
  return inLayers.flatMap((i) => numbers.map((j) => [i, j]));
}

/** *chosen* in words, the same in every checkpoint for all heads, those of a layer, and those of one number. */
export function nameHeads(chosen, { layers, heads }) {
  const [inLayers, numbers] = [0, 1].map(
    (part) => new Set(chosen.map((place) => place[part])).size,
  );
  const whole = chosen.length === inLayers * numbers && chosen.length > 1;
  if (whole && inLayers === layers && numbers === heads) return "all heads";
  if (whole && inLayers === 1 && numbers === heads) return `all heads of layer ${chosen[0][0] + 1}`;
  if (whole && inLayers === layers && numbers === 1)
    return `head ${chosen[0][1] + 1} of all layers`;
  return chosen.length <= 12 ? chosen.map(placeName).join(" ") : `${chosen.length} heads`;
}

/** All positions of a short text; else the first, the last, and those around *position*. */
export function linkWindow({ ids: { length } }, position) {
  if (length <= WINDOW) return range(length);
  const inner = WINDOW - 2,
    start = Math.min(Math.max(position - inner / 2, 1), length - 1 - inner);
  return [0, ...range(inner, start), length - 1];
}

/** Of each token, whether it belongs to a word: it is neither special nor punctuation. A mask stands for a word. */
export function areWords({ tokenizer }, encoding) {
  return encoding.ids.map(
    (_, i) =>
      !encoding.special[i] &&
      (encoding.masked.includes(i) || !isPunctuation(tokenizer.slice(encoding, i))),
  );
}

export const isPunctuation = (text) => /^\p{P}*$/u.test(text);

/** The strongest link of each head between two different words, {head, source, target, weight, positional}: between two that are
 *  not neighbours, if there are such. The strongest comes first, those of heads that look the same distance away in most places
 *  last. *every*: weights by layer, head, row; *at*: the positions of the rows; *words*: whether each token belongs to a word;
 *  *sources*: only links from these, if one of them is a word. */
export function strongestLinks(every, at, words, sources = []) {
  const looking = range(at.length).filter((row) => words[at[row]]),
    targets = range(words.length).filter((i) => words[i]);
  if (!looking.length || targets.length < 2) return [];
  const wanted = looking.filter((row) => sources.includes(at[row])),
    from = wanted.length ? wanted : looking;
  const isFar = (row, target, least) => Math.abs(target - at[row]) >= least;
  const apart = from.some((row) => targets.some((target) => isFar(row, target, 2))) ? 2 : 1;
  const links = every.flatMap((layer, i) =>
    layer.map((head, j) => {
      const most = (row) => targets[argmax(targets.map((target) => head[row][target]))];
      const link = {
        head: [i, j],
        weight: -1,
        positional: isPositional(looking.map((row) => most(row) - at[row])),
      };
      for (const row of from) {
        for (const target of targets.filter((one) => isFar(row, one, apart))) {
          const weight = head[row][target];
          if (weight > link.weight) Object.assign(link, { source: at[row], target, weight });
        }
      }
      return link;
    }),
  );
  return links.sort((a, b) => a.positional - b.positional || b.weight - a.weight);
}

/** Whether most of *distances* are one and the same. */
function isPositional(distances) {
  const counts = new Map();
  for (const one of distances) counts.set(one, (counts.get(one) ?? 0) + 1);
  return Math.max(...counts.values()) > ALWAYS * distances.length;
}
