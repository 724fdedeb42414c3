// The sources of modules as text.

/** The *sources* of modules as one script that needs no other: without imports and exports. Each comes after those that it imports;
 *  no two of them may have the same names.
 *  @param {string[]} sources */
export const oneScript = (sources) =>
  `"use strict";\n${sources
    .join("\n")
    .replace(/^import [^;]*;$/gm, "")
    .replace(/^export (?=const|function|class|async)/gm, "")}`;
