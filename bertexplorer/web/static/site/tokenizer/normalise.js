// The normalisers of a tokenizer.json, by their types: each takes a text, whose characters know where they come from, and gives one.
import { WHITE_SPACE } from "./aligned.js";
import { inForm } from "./forms.js";
import { literal, pattern } from "./patterns.js";
import { Precompiled } from "./precompiled.js";

/** The function that normalises as *rules* say, a part of tokenizer.json; null changes nothing. *classes*: see characters.js. */
export function normaliser(rules, classes) {
  return rules ? KINDS[rules.type](rules, classes) : (text) => text;
}

const KINDS = {
  Sequence({ normalizers }, classes) {
    const steps = normalizers.map((one) => normaliser(one, classes));
    return (text) => steps.reduce((now, step) => step(now), text);
  },
  BertNormalizer({ clean_text, handle_chinese_chars, strip_accents, lowercase }, classes) {
    const { space, control } = classes;
    const steps = [];
    if (clean_text) {
      steps.push((text) => text.filter((char) => !control.test(char)));
      steps.push((text) => text.map((char) => (space.test(char) ? " " : char)));
    }
    if (handle_chinese_chars) steps.push((text) => apart(text, classes.chinese));
    if (strip_accents ?? lowercase) {
      steps.push((text) => inForm(text, "NFD", classes));
      steps.push((text) => text.filter((char) => !classes.nonspacing.test(char)));
    }
    if (lowercase) steps.push(KINDS.Lowercase(null, classes));
    return (text) => steps.reduce((now, step) => step(now), text);
  },
  Lowercase(_, { changes_case }) {
    return (text) => text.map((char) => (changes_case.test(char) ? char.toLowerCase() : char));
  },
  StripAccents(_, { marks }) {
    return (text) => text.filter((char) => !marks.test(char));
  },
  Strip({ strip_left, strip_right }) {
    return (text) => stripped(text, strip_left, strip_right);
  },
  Replace({ pattern: written, content }, classes) {
    const found =
      written.String === undefined ? pattern(written.Regex, classes) : literal(written.String);
    return (text) => text.replace(found, content);
  },
  Prepend({ prepend }) {
    return (text) => text.prepend(prepend);
  },
  Precompiled({ precompiled_charsmap }, classes) {
    const table = new Precompiled(precompiled_charsmap, classes);
    return (text) => table.apply(text);
  },
  ...Object.fromEntries(
    ["NFC", "NFD", "NFKC", "NFKD"].map((form) => [
      form,
      (_, classes) => (text) => inForm(text, form, classes),
    ]),
  ),
};

/** *text* with a space on both sides of each of *signs*. */
function apart(text, signs) {
  return text.transform(
    text.chars.flatMap((char) =>
      signs.test(char)
        ? [
            [" ", 0],
            [char, 1],
            [" ", 1],
          ]
        : [[char, 0]],
    ),
  );
}

function stripped(text, left, right) {
  let start = 0,
    end = text.length;
  if (left) while (start < end && WHITE_SPACE.test(text.chars[start])) start += 1;
  if (right) while (end > start && WHITE_SPACE.test(text.chars[end - 1])) end -= 1;
  return text.filter((_, i) => i >= start && i < end);
}
