import assert from "node:assert/strict";
import { test } from "node:test";
import { Tokenizer } from "../../bertexplorer/web/static/site/tokens.js";
import { table } from "./cases.js";

const { classes, tokenizers } = table("tokenizers");

for (const [name, { about, pieces, the, joined, texts, pair }] of Object.entries(tokenizers)) {
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
  test(`${name}: pieces as people read them`, () => {
    assert.deepEqual(tokenizer.pieces, pieces);
    assert.deepEqual([tokenizer.piecesOf("the"), tokenizer.piecesOf("the", false)], the);
    assert.equal(tokenizer.join(Array.from({ length: 35 }, (_, i) => 5 + i)), joined);
  });
}
