// Regular expressions with the characters of the tokenizer's library, as a browser may follow another version of Unicode.

/** *written* by the site's builder, where \p{name} stands for one of the *classes* (see characters.js), inside of brackets or alone. */
export function pattern(written, classes) {
  let inside = false;
  const source = written.replace(/\\[pP]\{(\w+)\}|\\.|[[\]]/gsu, (part, name) => {
    if (part === "[") inside = true;
    else if (part === "]") inside = false;
    if (!name) return part;
    if (inside) return classes.written[name];
    return `[${part[1] === "P" ? "^" : ""}${classes.written[name]}]`;
  });
  return new RegExp(source, "gu");
}

/** Matches *words* as they are written. */
export const literal = (words) => new RegExp(escaped(words), "gu");

export const escaped = (words) => words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
