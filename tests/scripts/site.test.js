// What a site computes without its checkpoint.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOf } from "../../bertexplorer/web/static/site/export.js";
import { strongestLinks } from "../../bertexplorer/web/static/site/heads.js";
import { askToChange } from "../../bertexplorer/web/static/site/question.js";
import { pool } from "../../bertexplorer/web/static/site/tiles.js";

test("the strongest link of a head is between words that are no neighbours", () => {
  const head = [
    [0.1, 0.8, 0.1, 0],
    [0.3, 0.3, 0.1, 0.3],
    [0.6, 0.2, 0.1, 0.1],
    [0.1, 0.1, 0.1, 0.7],
  ];
  const [link] = strongestLinks([[head]], [0, 1, 2, 3], [true, true, true, true]);
  assert.deepEqual([link.head, link.source, link.target, link.weight], [[0, 0], 2, 0, 0.6]);
  assert.deepEqual(strongestLinks([[head]], [0, 1, 2, 3], [true, false, false, false]), []);
});

test("a pixel of several tokens has the largest number", () => {
  assert.deepEqual(
    pool(
      [
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
      ],
      2,
    ),
    [
      [5, 6],
      [8, 9],
    ],
  );
});

test("rows as a file say what made them", () => {
  const state = { view: "a-b" };
  const { content, name } = fileOf("csv", state, [{ a: 1 }, { a: true, d: [1] }], "made");
  assert.equal(name, "a-b.csv");
  assert.equal(content, "a,d,made_with\r\n1,,made\r\nTrue,[1],\r\n");
  assert.equal(JSON.parse(fileOf("json", state, [{ a: 1 }], "made").content).analysis, "a_b");
});

test("a text without a mask learns what else could be measured", async () => {
  const about = { masked: [], secondStart: -1, leftOut: 0 };
  const bert = (has, more) => ({
    name: "mini",
    has,
    tokenizer: { encode: () => ({ ...about, ...more }) },
  });
  const refused = (pattern) => ({ missing: "mask", message: pattern });
  await assert.rejects(
    askToChange(bert(["masked_lm", "next_sentence"]), {}, "answer", ""),
    refused(
      /^Nothing is hidden and there is no pair, so there is no answer to change\. Hide a word, or add a second sentence\.$/,
    ),
  );
  await assert.rejects(
    askToChange(bert(["masked_lm"], { leftOut: 3 }), {}, "mask", ""),
    refused(
      /^Nothing is hidden within the tokens that are read and mini has no next-sentence head/,
    ),
  );
});
