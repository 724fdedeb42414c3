import assert from "node:assert/strict";
import { test } from "node:test";
import { overlap, readSpans, shiftSpans, writeSpans } from "../../bertexplorer/web/static/spans.js";
import { table } from "./cases.js";

const spansOf = (rows) => rows.map(([side, start, end]) => ({ side, start, end }));

for (const { written, spans } of table("spans").read) {
  test(`“${written}” is read`, () => {
    assert.deepEqual(readSpans(written), spansOf(spans));
    assert.deepEqual(readSpans(writeSpans(spansOf(spans))), spansOf(spans));
  });
}

for (const { name, spans, side, old, new: now, shifted } of table("spans").shift) {
  test(`spans after ${name}`, () => {
    assert.deepEqual(shiftSpans(spansOf(spans), side, [...old], [...now]), spansOf(shifted));
  });
}

test("spans overlap if they share a character of a side", () => {
  const span = (side, start, end) => ({ side, start, end });
  assert.ok(overlap(span(0, 1, 4), span(0, 3, 5)));
  assert.ok(!overlap(span(0, 1, 4), span(0, 4, 5)) && !overlap(span(0, 4, 5), span(0, 1, 4)));
  assert.ok(!overlap(span(0, 1, 4), span(1, 1, 4)));
});
