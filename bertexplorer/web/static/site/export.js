// Rows as a file: JSON, or CSV (RFC 4180), in which a cell that a spreadsheet would take for a formula begins with an apostrophe.

/** {content, name} of the *rows* of a state as *kind*, csv or json. */
export function fileOf(kind, state, rows, provenance) {
  const content =
    kind === "csv"
      ? csv(rows, provenance)
      : JSON.stringify(
          { analysis: state.view.replaceAll("-", "_"), state, provenance, rows },
          null,
          2,
        );
  return { content, name: `${state.view}.${kind}` };
}

/** *rows* as CSV; the first row has the *provenance*. */
function csv(rows, provenance) {
  const names = [...new Set(rows.flatMap(Object.keys)), "made_with"];
  const lines = [
    names,
    ...rows.map((row, i) =>
      names.map((name) => (name === "made_with" ? (i ? "" : provenance) : row[name])),
    ),
  ];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

/** A cell of a CSV file. */
export function cell(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  const words =
    value === null || value === undefined
      ? ""
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
  const shown = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(words) ? `'${words}` : words;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
