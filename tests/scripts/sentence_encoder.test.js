// One vector of a text, against the table that Python answers, too. In place of a checkpoint, a case has the weights.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dot } from "../../bertexplorer/web/static/numbers.js";
import { SentenceEncoder } from "../../bertexplorer/web/static/site/sentence_encoder.js";
import { Tokenizer } from "../../bertexplorer/web/static/site/tokens.js";
import { table } from "./cases.js";

const { vectors, similarities, prompts } = table("sentence_encoders");
const near = (found, wanted, limit = 1e-6) => {
  assert.equal(found.length, wanted.length);
  found.forEach((one, i) => assert.ok(Math.abs(one - wanted[i]) < limit, `${found} and ${wanted}`));
};

/** The encoder of a case. */
function encoderOf({ modes, steps = [] }) {
  const linear = (name, rows) => {
    const { weight, bias } = steps[name];
    return rows.map((row) => weight.map((line, i) => dot(line, row) + (bias ? bias[i] : 0)));
  };
  return new SentenceEncoder(
    { linear },
    { modes, steps: steps.map((step, i) => ({ ...step, name: i })) },
  );
}

for (const [number, one] of vectors.entries()) {
  const encoder = encoderOf(one),
    { tokens, unpooled, vector } = one;
  test(`vector ${number}: ${one.modes} of ${JSON.stringify(one.steps ?? [])}`, () =>
    near(encoder.transform(encoder.pool(tokens, unpooled)), vector));
  if (!encoder.isSum) continue;
  test(`the parts of vector ${number} sum to it`, () => {
    const parts = encoder.parts(tokens, unpooled);
    assert.equal(parts.length, tokens.length);
    near(
      vector.map((_, i) => parts.reduce((total, part) => total + part[i], 0)),
      vector,
    );
  });
}

test("one token, and a layer that bends, make no sum", () => {
  const bends = vectors.filter((one) => !encoderOf(one).isSum);
  const activations = bends.flatMap((one) => (one.steps ?? []).map((step) => step.activation));
  assert.deepEqual(activations, ["ReLU", "Tanh", "GELU", "SiLU", "Sigmoid"]);
  assert.equal(bends.length, 3 + 5);
});

for (const [similarity, a, b, value] of similarities) {
  test(`${similarity}`, () =>
    near([new SentenceEncoder(null, { similarity }).similarity(a, b)], [value]));
}

for (const [known, usual, name, before] of prompts) {
  test(`the prompt ${name} of ${Object.keys(known)}`, () => {
    const encoder = new SentenceEncoder(null, { prompts: known, default_prompt: usual });
    if (before.startsWith("files")) assert.throws(() => encoder.prompt(name), new RegExp(before));
    else assert.equal(encoder.prompt(name), before);
  });
}

test("a prompt stands before the text, which is cut at the encoder's limit", () => {
  const tokenizer = new Tokenizer(table("tokens").vocabulary);
  const about = { prompts: { query: "THE CAT " }, default_prompt: "query", max_tokens: 5 };
  const text = { first: "The İ cat sat", hidden: [{ side: 0, start: 4, end: 5 }] };
  const encoding = new SentenceEncoder({ tokenizer }, { ...about, pools_prompt: false }).encode(
    text,
  );
  assert.equal(encoding.texts[0].join(""), "THE CAT The İ cat sat");
  assert.equal(encoding.ids.length, 5);
  assert.ok(encoding.leftOut > 0);
  assert.equal(encoding.unpooled, 3); // [CLS] the cat
  const lower = new SentenceEncoder({ tokenizer }, { lower_case: true, max_tokens: 20 }).encode(
    text,
  );
  assert.equal(lower.texts[0].join(""), "the i̇ cat sat");
  assert.equal(lower.unpooled, 0);
  assert.deepEqual(
    lower.masked.map((at) => lower.spans[at]),
    [{ side: 0, start: 4, end: 5 }],
  );
});
