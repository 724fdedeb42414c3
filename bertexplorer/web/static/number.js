// A number as people type it, read by the rules of learn/numbers.py.

/** The number that *typed* means in a question whose answer is *key*, or null if it is none. 1,595 is 1595 or 1.595; if the question
 *  asks for per cent, 0.4 is 0.4 % or 40 %: the one nearer to the answer. A lesson saved as a file has this function's source.
 *  @param {string} typed
 *  @param {number} key
 *  @param {boolean} percent
 *  @returns {number | null} */
export function readNumber(typed, key, percent) {
  const [, digits, sign] =
    /^\s*([-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+|[1-9]\d{0,2}(?:,\d{3})+))\s*(?:(%)\s*)?$/.exec(
      typed.replace("\u2212", "-"),
    ) ?? [];
  const commas = digits?.split(",").length - 1,
    scale = percent || sign ? 100 : 1;
  if (!digits || (percent && commas > 1)) return null;
  const readings =
    !percent && /^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(digits)
      ? [Number(digits.replaceAll(",", "")) / scale]
      : [];
  if (commas < 2) readings.push(Number(digits.replace(",", ".")) / scale);
  if (percent && !sign && Math.abs(readings[0]) < 0.01) readings.push(100 * readings[0]);
  return readings.reduce((best, one) => (Math.abs(one - key) < Math.abs(best - key) ? one : best));
}
