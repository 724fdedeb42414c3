import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers, strip } from "../../bertexplorer/web/static/site/answer.js";
import { Tokenizer } from "../../bertexplorer/web/static/site/tokens.js";
import { table } from "./cases.js";

const { classes, tokenizers } = table("tokenizers");

for (const [name, { about, pieces, the, joined, texts, pair, chips }] of Object.entries(
  tokenizers,
)) {
  const tokenizer = new Tokenizer({ ...about, rules: { ...about.rules, classes } });
  const rows = (first, second, hidden) => {
    const { originalIds, ids, spans, words, segments } = tokenizer.encode({
      first,
      second,
      hidden,
    });
    const places = spans.map((span) => span && [span.side, span.start, span.end]);
    return [originalIds, ids, places, words, segments];
  };
  test(`${name}: ids, characters and words`, () => {
    for (const [text, ...wanted] of texts)
      assert.deepEqual(rows(text, "", [{ side: 0, start: 4, end: 6 }]), wanted, text);
    assert.deepEqual(rows(texts[0][0], texts[1][0], []), pair);
  });
  test(`${name}: a text as chips`, () => {
    const hidden = [{ side: 0, start: 4, end: 6 }];
    for (const [number, wanted] of chips.entries()) {
      const encoding = tokenizer.encode({ first: texts[number][0], hidden });
      const found = strip({ tokenizer }, encoding, "hide", {}).chips;
      assert.deepEqual(
        found.map(({ label, title }) => [label, title]),
        wanted,
      );
    }
  });
  test(`${name}: pieces as people read them`, () => {
    assert.deepEqual(tokenizer.pieces, pieces);
    assert.deepEqual([tokenizer.piecesOf("the"), tokenizer.piecesOf("the", false)], the);
    assert.equal(tokenizer.join(Array.from({ length: 35 }, (_, i) => 5 + i)), joined);
  });
}

test("a press on a mask puts the word there as it is written", async () => {
  const { about } = tokenizers["bytes of RoBERTa"];
  const tokenizer = new Tokenizer({ ...about, rules: { ...about.rules, classes } });
  const word = about.pieces.findIndex((piece) => /^[a-z]{2,}$/.test(piece));
  const row = about.pieces.map((_, id) => Number(id === word));
  const bert = { tokenizer, card: { name: "x" }, maskedLogProbs: () => [[row]] };
  const answers = new Answers(bert, { views: {}, opening: {} }, null, null);
  const state = { text: "a [MASK], b", pair: "", hidden: "", picked: "" };
  const after = await answers.filled(state, { side: 0, start: 2, end: 8 });
  assert.equal(after.text, `a ${about.pieces[word]}, b`);
});
