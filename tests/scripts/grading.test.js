import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "../../bertexplorer/web/static/grading.js";
import { judgeFind } from "../../bertexplorer/web/static/site/grading.js";
import { table, wordsOf } from "./cases.js";

const factsOf = (facts) =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [
      name,
      (word) => (typeof value === "object" ? value[word] : value),
    ]),
  );

for (const { lesson, facts, key, graded } of table("grading")) {
  test(lesson.split("\n").slice(0, 2).join(" "), () => {
    for (const {
      answer,
      attempt,
      refused,
      right,
      done,
      text,
      shown,
      after,
      criteria = [],
    } of graded) {
      const found = key.graded_by
        ? { status: 200, answer: judgeFind(key.graded_by, factsOf(facts), attempt) }
        : judge(key, answer, attempt);
      if (refused) {
        assert.deepEqual(found, { status: 422, answer: { detail: refused } });
        continue;
      }
      const said = found.answer;
      assert.equal(found.status, 200);
      assert.deepEqual(
        [
          said.right,
          said.done,
          wordsOf(said.text),
          wordsOf(said.answer),
          wordsOf(said.after),
          said.criteria.map(wordsOf),
        ],
        [right, done, text, shown, after, criteria],
      );
    }
  });
}

test("a part that the lesson lacks, and a claim", () => {
  assert.equal(judge(undefined, 0, 1).status, 404);
  const claim = { holds: true, text: ["So it is."] };
  assert.deepEqual(judge(claim, null, 1), { status: 200, answer: claim });
});
