import assert from "node:assert/strict";
import { test } from "node:test";
import * as numbers from "../../bertexplorer/web/static/numbers.js";
import { logSoftmax } from "../../bertexplorer/web/static/site/model.js";
import { table } from "./cases.js";

const inScripts = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const close = (found, wanted) => {
  if (wanted.length === undefined)
    assert.ok(Math.abs(found - wanted) < 1e-9, `${found} is not ${wanted}`);
  else {
    assert.equal(found.length, wanted.length);
    wanted.forEach((one, i) => close(found[i], one));
  }
};

for (const [name, cases] of Object.entries(table("statistics"))) {
  test(name, () => {
    for (const [given, value] of cases) close(numbers[inScripts(name)](...given), value);
  });
}

test("a softmax sums to 1, also of large logits", () => {
  const found = logSoftmax([1000, 1000, 999]);
  assert.ok(Math.abs(numbers.sum([...found].map(Math.exp)) - 1) < 1e-6);
  assert.equal(found[0], found[1]);
  assert.ok(Math.abs(found[0] - found[2] - 1) < 1e-4);
});
