// Sentences with labels, and templates, as they are typed: against the table that Python answers, too.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSentences } from "../../bertexplorer/web/static/site/words.js";
import { first } from "../../bertexplorer/views/template/browser.js";
import { table } from "./cases.js";

const { sentences, templates } = table("typed_texts");
const bert = { tokenizer: { prepare: (text) => ({ text }), mask: "[MASK]" } };

for (const [typed, wanted] of sentences)
  test(`sentences of ${JSON.stringify(typed)}`, () =>
    assert.deepEqual(
      parseSentences(typed).map(({ label, sentence }) => [label, sentence]),
      wanted,
    ));

for (const [typed, hidden, wanted] of templates)
  test(`the first filling of ${typed}`, () =>
    assert.equal(
      first(bert, {
        first: typed,
        second: "",
        picked: [],
        hidden: hidden.map(([start, end]) => ({ side: 0, start, end })),
      }).first,
      wanted,
    ));
