// The tables of tests/cases, which tests/test_cases.py runs too.
import { readFileSync } from "node:fs";

export const table = (name) =>
  JSON.parse(readFileSync(new URL(`../cases/${name}.json`, import.meta.url), "utf-8"));

/** The words of a *tree* of prose. */
export const wordsOf = (tree) =>
  tree.map((part) => (typeof part === "string" ? part : wordsOf(part[2]))).join("");
