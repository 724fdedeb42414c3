// Added tokens, such as <mask>, which are found in a text before anything is split.
import { WHITE_SPACE } from "./aligned.js";
import { escaped } from "./patterns.js";

export class AddedTokens {
  /** *tokens*: {id, content, lstrip, rstrip} of each, spelt as in the text that they are looked for in. */
  constructor(tokens) {
    this.byContent = new Map(tokens.toReversed().map((one) => [one.content, one])); // the first of two alike
    const longestFirst = [...this.byContent.keys()].sort((a, b) => b.length - a.length);
    this.pattern = new RegExp(longestFirst.map(escaped).join("|") || "(?!)", "gu");
  }

  /** The parts of *text* in their order: {id, text} for a token, {text} for what is between them. */
  split(text) {
    const out = [];
    let last = 0;
    for (const part of text.parts(this.pattern)) {
      if (!part.match) continue;
      const { id, lstrip, rstrip } = this.byContent.get(
        text.chars.slice(part.start, part.end).join(""),
      );
      let { start, end } = part;
      if (lstrip) while (start > last && WHITE_SPACE.test(text.chars[start - 1])) start -= 1;
      if (rstrip) while (end < text.length && WHITE_SPACE.test(text.chars[end])) end += 1;
      if (last < start) out.push({ text: text.slice(last, start) });
      out.push({ id, text: text.slice(start, end) });
      last = end;
    }
    if (last < text.length) out.push({ text: text.slice(last, text.length) });
    return out;
  }
}
