// What a site computes without its checkpoint.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileOf } from "../../bertexplorer/web/static/site/export.js";
import {
  nameHeads,
  oneOrAll,
  parseHeads,
  strongestLinks,
} from "../../bertexplorer/web/static/site/heads.js";
import { askToChange } from "../../bertexplorer/web/static/site/question.js";
import { pool } from "../../bertexplorer/web/static/site/tiles.js";

const SIZES = { layers: 12, heads: 8 };

test("heads are read as people write them", () => {
  assert.deepEqual(parseHeads("5·3, 5.7; 1:1\n5-3", SIZES), [
    [4, 2],
    [4, 6],
    [0, 0],
  ]);
  assert.deepEqual(parseHeads("", SIZES), []);
  assert.throws(
    () => parseHeads("13·1", SIZES),
    /Layer 13 does not exist; there are 12 layers\. Choose 1 to 12\./,
  );
  assert.throws(() => parseHeads("0·1", SIZES), /Layer 0 does not exist/);
  assert.throws(
    () => parseHeads("five", SIZES),
    /'five' is not a head; expected a layer and a head such as 5·3 or 5\.3/,
  );
  assert.throws(() => parseHeads("1·1,".repeat(600), SIZES), /A line of 2,400 characters/);
});

test("several heads have one name", () => {
  assert.equal(nameHeads(oneOrAll(0, 0, SIZES), SIZES), "all heads");
  assert.equal(nameHeads(oneOrAll(3, 0, SIZES), SIZES), "all heads of layer 3");
  assert.equal(nameHeads(oneOrAll(0, 2, SIZES), SIZES), "head 2 of all layers");
  assert.equal(nameHeads(oneOrAll(3, 2, SIZES), SIZES), "3·2");
});

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

test("a cell that a spreadsheet takes for a formula is text", () => {
  const { content, name } = fileOf(
    "csv",
    { view: "a-b" },
    [
      { a: "=1", b: 'x"y', c: true },
      { a: -1, b: "", d: [1] },
    ],
    "made",
  );
  assert.equal(name, "a-b.csv");
  assert.deepEqual(content.split("\r\n"), [
    "a,b,c,d,made_with",
    `'=1,"x""y",True,,made`,
    "-1,,,[1],",
    "",
  ]);
  assert.equal(
    JSON.parse(fileOf("json", { view: "a-b" }, [{ a: 1 }], "made").content).analysis,
    "a_b",
  );
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
