import assert from "node:assert/strict";
import { test } from "node:test";
import { Answers, strip as drawn } from "../../bertexplorer/web/static/site/answer.js";
import { Refusal } from "../../bertexplorer/web/static/site/refusal.js";
import { Tokenizer } from "../../bertexplorer/web/static/site/tokens.js";
import { table } from "./cases.js";

const { vocabulary, cases } = table("tokens");
const tokenizer = new Tokenizer(vocabulary);

for (const { text, encoding, refused } of cases) {
  test(`the tokens of ${JSON.stringify(text.first.slice(0, 60))}`, () => {
    if (refused)
      assert.throws(
        () => tokenizer.encode(text),
        (error) => error instanceof Refusal && error.message === refused,
      );
    else {
      const found = tokenizer.encode(text);
      assert.deepEqual(
        Object.fromEntries(Object.keys(encoding).map((name) => [name, found[name]])),
        encoding,
      );
    }
  });
}

for (const { text, press, colours, strip } of table("strips")) {
  test(`the chips of ${JSON.stringify(text.first.slice(0, 60))} to ${press || "read"}`, () => {
    assert.deepEqual(drawn({ tokenizer }, tokenizer.encode(text), press, colours), strip);
  });
}

test("pieces are joined as words, and words cut into pieces", () => {
  const ids = tokenizer.piecesOf("unbelievable");
  assert.deepEqual(
    ids.map((id) => vocabulary.pieces[id]),
    ["un", "##believ", "##able"],
  );
  assert.equal(tokenizer.join([...ids, ...tokenizer.piecesOf("film")]), "unbelievable film");
  assert.throws(() => tokenizer.piecesOf("[MASK]"), /is not a word to look up/);
  assert.throws(() => tokenizer.piecesOf("ж"), /is not in the vocabulary/);
});

test("hidden words stay hidden after an edit of the text", () => {
  const answers = new Answers(
    { tokenizer, card: { name: "mini" } },
    { views: {}, opening: {} },
    null,
    null,
  );
  const before = { text: "the cat sat", pair: "", hidden: "0:4-7", picked: "0:8-11,2:0-1" };
  const after = answers.edited(before, "a cat sat", "");
  assert.deepEqual([after.hidden, after.picked], ["0:2-5", "0:6-9"]);
  assert.equal(answers.edited(before, before.text, ""), before);
});
