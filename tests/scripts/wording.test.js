import assert from "node:assert/strict";
import { test } from "node:test";
import * as wording from "../../bertexplorer/web/static/site/wording.js";
import { table } from "./cases.js";

const inScripts = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());

for (const [name, cases] of Object.entries(table("wording"))) {
  test(name, () => {
    for (const [given, text] of cases) assert.deepEqual(wording[inScripts(name)](...given), text);
  });
}
