// Classes of characters as the tokenizer's library has them, written by the site's builder.

/** *about*: class -> its characters as ranges; `combining`: combining class -> its characters. As regular expressions that match one
 *  character, and `written`, the ranges themselves, for longer expressions. */
export function characters({ combining = {}, ...about }) {
  const one = Object.fromEntries(
    Object.entries(about).map(([name, ranges]) => [
      name,
      new RegExp(ranges ? `[${ranges}]` : "(?!)", "u"),
    ]),
  );
  return { ...one, written: about, combining: listed(combining) };
}

/** Character -> its combining class. */
function listed(combining) {
  const found = new Map();
  for (const [number, ranges] of Object.entries(combining))
    for (const [, low, , high = low] of ranges.matchAll(/\\u\{(\w+)\}(-\\u\{(\w+)\})?/g))
      for (let code = parseInt(low, 16); code <= parseInt(high, 16); code += 1)
        found.set(String.fromCodePoint(code), Number(number));
  return found;
}
