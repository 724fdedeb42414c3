// Numbers and words in sentences, as Python writes them.

/** @param {number} number */
export const grouped = (number, digits = 0) =>
  number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
/** @param {number} number
 *  @param {string} noun */
export const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
/** @param {string} token */
export const quote = (token) => `“${token}”`;
/** @param {string} text */
export const clip = (text, length = 24) =>
  [...text].length <= length ? text : `${[...text].slice(0, length - 1).join("")}…`;
/** @param {number} value */
export const decimal = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
/** @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
/** @param {string[]} names */
export const joinNames = (names) =>
  names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names.join("");
/** @param {number} rank */
export const ordinal = (rank) =>
  `${rank}${[11, 12, 13].includes(rank % 100) ? "th" : (["th", "st", "nd", "rd"][rank % 10] ?? "th")}`;

/** A probability with sensible digits: 97 %, 3.2 %, < 0.1 %.
 *  @param {number} p */
export function percent(p) {
  const share = 100 * p;
  if (share >= 99.95) return p < 1 ? "> 99.9 %" : "100 %";
  if (share >= 9.95) return share < 99 ? `${share.toFixed(0)} %` : `${share.toFixed(1)} %`;
  return share >= 0.1 ? `${share.toFixed(1)} %` : "< 0.1 %";
}

/** A probability and its rest, with the same digits: 92.6 % and 7.4 %, 60 % and 40 %.
 *  @param {number} p */
export function ofTwo(p) {
  const rest = 1 - p;
  const least = Math.min(p, rest);
  if (least < 0.001 || least >= 0.0995) return [percent(p), percent(rest)];
  return [p, rest].map((share) => `${(100 * share).toFixed(1)} %`);
}

/** A number with its sign, or 0 if it rounds to zero.
 *  @param {number} value */
export function signed(value, digits = 2) {
  const text = `${value < 0 ? "" : "+"}${value.toFixed(digits)}`.replace("-", "−");
  return /[1-9]/.test(text) ? text : "0";
}

/** @param {number} tokens */
export const beyondLimit = (tokens) =>
  tokens
    ? [
        `${counted(tokens, "token")} beyond the checkpoint's limit ${tokens === 1 ? "was" : "were"} not read.`,
      ]
    : [];
/** @param {number} others */
export const onlyFirstMask = (others) =>
  others ? [`This is about the first of ${others + 1} masks.`] : [];

/** @param {number} layer */
export const layerName = (layer) => (layer ? `layer ${layer}` : "input");
