// Tables of rows as the API sends them, and paragraphs above them.
import { h } from "./kit.js";

/** @typedef {Record<string, any>} Row */

const LONG = 30,
  MAX_LENGTH = 240; // characters of a cell: from here on it gets more room; cut beyond
const ANSWERS = ["gold", "predicted", "said"]; // columns that are empty for a question without an answer

/** *rows*, objects with the same keys, as a table that scrolls in itself; nothing without rows.
 *  @param {Row[] | null} [rows] */
export function table(rows) {
  if (!rows?.length) return null;
  const names = Object.keys(rows[0]),
    head = names.map((name) => h("th", { scope: "col" }, name.replaceAll("_", " ")));
  return h(
    "div",
    { class: "scroll", tabindex: 0 },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, head)),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            names.map((name) => cell(row, name)),
          ),
        ),
      ),
    ),
  );
}

/** @param {Row} row
 *  @param {string} name */
function cell(row, name) {
  const words = text(row[name]) || ("question" in row && ANSWERS.includes(name) ? "no answer" : "");
  return h(
    "td",
    { dir: "auto", translate: "no", class: words.length > LONG ? "long" : null },
    words,
  );
}

/** A value as it is read: numbers with three digits, lists and objects as JSON.
 *  @param {any} value */
function text(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number")
    return (Number.isInteger(value) ? String(value) : value.toFixed(3)).replace("-", "−");
  const words = typeof value === "object" ? JSON.stringify(value) : String(value);
  return words.length <= MAX_LENGTH ? words : `${words.slice(0, MAX_LENGTH - 1)}…`;
}

/** A heading, sentences and a table: {title, said, rows}; *said* is a text or a list of them.
 *  @param {{title?: string, said?: string | string[], rows?: Row[]} | null} [part] */
export function section(part, heading = "h3") {
  if (!part) return [];
  const said = [part.said ?? []].flat().filter(Boolean);
  return [
    part.title && h(heading, { dir: "auto" }, part.title),
    ...said.map((words) => h("p", { class: "summary", dir: "auto" }, words)),
    table(part.rows),
  ].filter(Boolean);
}

/** A message: an "error", or what goes on ("busy").
 *  @param {string} words */
export const message = (words, kind = "error") =>
  words
    ? [
        h(
          "p",
          { class: `message ${kind}`, role: kind === "error" ? "alert" : "status", dir: "auto" },
          words,
        ),
      ]
    : [];
