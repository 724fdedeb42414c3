import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { oneScript } from "../../bertexplorer/web/static/sources.js";

const STATIC = new URL("../../bertexplorer/web/static/", import.meta.url);

test("modules become one script", () => {
  const script = oneScript([
    'export const two = 2;\nconst export_ = "export const";',
    'import { two } from "./a.js";\nimport {\n  b,\n} from "./b.js";\nreturn two + 1;',
  ]);
  assert.equal(new Function(script)(), 3);
});

test("the scripts of a saved lesson are one script", () => {
  const [, names] = /^const SCRIPTS = (\[.*\]);/m.exec(
    readFileSync(new URL("offline.js", STATIC), "utf-8"),
  );
  const script = oneScript(
    JSON.parse(names).map((name) => readFileSync(new URL(name, STATIC), "utf-8")),
  );
  assert.doesNotThrow(() => new Function(script));
  assert.doesNotMatch(script, /^(import|export)\b/m);
});
