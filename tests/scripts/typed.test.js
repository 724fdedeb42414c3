// What a person types, as Python reads it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../../bertexplorer/web/static/site/answer.js";
import { cell } from "../../bertexplorer/web/static/site/export.js";
import { nameHeads, oneOrAll, parseHeads } from "../../bertexplorer/web/static/site/heads.js";
import { parseTexts } from "../../bertexplorer/web/static/site/passages.js";
import { Refusal } from "../../bertexplorer/web/static/site/refusal.js";
import { table } from "./cases.js";

const { heads, texts, settings, checked } = table("typed");
const typedIn = ({ typed, times = 1 }) => typed.repeat(times);

/** Hold what *read* returns to *wanted*, or what it refuses to the words of the case. */
function holds(read, wanted, refused) {
  if (refused === undefined) assert.deepEqual(read(), wanted);
  else assert.throws(read, (error) => error instanceof Refusal && error.message === refused);
}

for (const one of heads.typed) {
  test(`the heads ${one.typed}`, () => {
    const counted = one.heads?.map((place) => place.map((number) => number - 1));
    holds(() => parseHeads(typedIn(one), heads), counted, one.refused);
  });
}

for (const { layer, head, name, refused } of heads.named) {
  test(`the name of head ${head} of layer ${layer}`, () => {
    holds(() => nameHeads(oneOrAll(layer, head, heads), heads), name, refused);
  });
}

for (const one of texts) {
  test(`the texts ${one.typed}`, () => {
    holds(() => parseTexts(typedIn(one)), one.texts, one.refused);
  });
}

for (const { setting, given, value, refused } of checked) {
  test(`the setting ${setting} of ${JSON.stringify(given)}`, () => {
    holds(() => check(settings[setting], given), value, refused);
  });
}

test("a cell of a CSV file", () => {
  for (const [value, words] of table("csv")) assert.equal(cell(value), words);
});
