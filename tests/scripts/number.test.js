import assert from "node:assert/strict";
import { test } from "node:test";
import { readNumber } from "../../bertexplorer/web/static/number.js";
import { table } from "./cases.js";

for (const { typed, key, percent, read } of table("numbers")) {
  test(`“${typed}” for ${key}${percent ? ", in per cent" : ""}`, () => {
    const found = readNumber(typed, key, percent);
    if (read === null) assert.equal(found, null);
    else assert.ok(Math.abs(found - read) < 1e-12, `${found} is not ${read}`);
  });
}
