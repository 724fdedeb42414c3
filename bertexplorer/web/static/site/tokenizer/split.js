// The pre-tokenizers of a tokenizer.json, by their types: each takes a text and gives its parts, which become words.
import { WHITE_SPACE } from "./aligned.js";
import { byteCharacters } from "./bytes.js";
import { literal, pattern } from "./patterns.js";

const GPT2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{s}\p{L}\p{N}]+|\p{s}+(?!\P{s})|\p{s}+`;

/** The function that splits as *rules* say, a part of tokenizer.json; null leaves a text whole. *classes*: see characters.js. */
export function splitter(rules, classes) {
  return rules ? KINDS[rules.type](rules, classes) : (text) => [text];
}

const KINDS = {
  Sequence({ pretokenizers }, classes) {
    const steps = pretokenizers.map((one) => splitter(one, classes));
    return (text) => steps.reduce((parts, step) => parts.flatMap(step), [text]);
  },
  BertPreTokenizer(_, { punctuation }) {
    const spaces = new RegExp(WHITE_SPACE.source, "gu"),
      signs = everywhere(punctuation);
    return (text) => cut(text, spaces, "Removed").flatMap((part) => cut(part, signs, "Isolated"));
  },
  ByteLevel({ add_prefix_space, use_regex }, classes) {
    const words = pattern(GPT2, classes);
    return (text) => {
      const spaced = add_prefix_space && text.chars[0] !== " " ? text.prepend(" ") : text;
      const parts = use_regex ? cut(spaced, words, "Isolated") : [spaced];
      return parts.map((part) => part.map(byteCharacters));
    };
  },
  Metaspace({ replacement, prepend_scheme, split }) {
    const spaces = / /gu,
      mark = literal(replacement);
    return (text) => {
      let marked = text.replace(spaces, replacement);
      const first =
        prepend_scheme === "always" || (prepend_scheme === "first" && text.origin === 0);
      if (first && marked.chars[0] !== replacement) marked = marked.prepend(replacement);
      return split ? cut(marked, mark, "MergedWithNext") : [marked];
    };
  },
  Split({ pattern: written, behavior, invert }, classes) {
    const found =
      written.String === undefined ? pattern(written.Regex, classes) : literal(written.String);
    return (text) => cut(text, found, behavior, invert);
  },
  Punctuation({ behavior }, { punctuation }) {
    const signs = everywhere(punctuation);
    return (text) => cut(text, signs, behavior);
  },
  Digits({ individual_digits }, { numeric }) {
    const digits = everywhere(numeric);
    return (text) => cut(text, digits, individual_digits ? "Isolated" : "Contiguous");
  },
  WhitespaceSplit() {
    const spaces = new RegExp(WHITE_SPACE.source, "gu");
    return (text) => cut(text, spaces, "Removed");
  },
};

const everywhere = (one) => new RegExp(one.source, "gu");

/** The parts of *text* between the matches of *found*; *behavior*: what becomes of a match. *invert*: the matches are what is between. */
function cut(text, found, behavior, invert = false) {
  const kept = [];
  let parts = text.parts(found).map((part) => ({ ...part, match: part.match !== invert }));
  if (behavior === "MergedWithNext") parts = parts.reverse();
  let before = false; // whether the last part was a match
  for (const { start, end, match } of parts) {
    const joins = {
      Isolated: false,
      Removed: false,
      Contiguous: match === before,
      MergedWithPrevious: match && !before,
      MergedWithNext: match && !before,
    }[behavior];
    const last = kept.at(-1);
    if (joins && last) {
      last.start = Math.min(last.start, start);
      last.end = Math.max(last.end, end);
    } else if (!(match && behavior === "Removed")) kept.push({ start, end });
    before = match;
  }
  if (behavior === "MergedWithNext") kept.reverse();
  return kept.map(({ start, end }) => text.slice(start, end));
}
