// The head that a browser fits, and its evaluation, against the table that scikit-learn answered.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chooseRidge,
  fitWithRidge,
  interval,
  leftOutInTurn,
} from "../../bertexplorer/web/static/teach/evaluation.js";
import { fit, probabilities, reduced } from "../../bertexplorer/web/static/teach/linear_head.js";
import { oddities } from "../../bertexplorer/web/static/teach/boxes.js";
import { mapFigure } from "../../bertexplorer/web/static/teach/report.js";
import { sameSentence, words, wordVectors } from "../../bertexplorer/web/static/teach/words.js";
import { table } from "./cases.js";

const { heads, words: sentences, same, intervals } = table("teaching");
const near = (found, wanted, limit) => {
  assert.equal(found.length, wanted.length);
  found.forEach((one, i) => assert.ok(Math.abs(one - wanted[i]) < limit, `${found} and ${wanted}`));
};

for (const { name, vectors, labels, groups, boxes, ...wanted } of heads) {
  const rows = { labels, groups, boxes };
  test(`probabilities of ${name}`, () => {
    for (const [ridge, shares] of wanted.probabilities) {
      const head = fit(vectors, labels, boxes, ridge);
      wanted.queries.forEach((query, i) => near(probabilities(head, query), shares[i], 1e-4));
    }
  });
  test(`the head of ${name} is the same in fewer directions`, () => {
    const { head, ridge } = fitWithRidge(vectors, rows);
    assert.equal(ridge, wanted.ridge);
    const [, shares] = wanted.probabilities.find(([each]) => each === ridge);
    wanted.queries.forEach((query, i) => near(probabilities(head, query), shares[i], 1e-4));
  });
  test(`each sentence of ${name} is left out in turn`, () =>
    leftOutInTurn(vectors, rows).forEach((found, i) => near(found, wanted.left_out[i], 1e-4)));
  test(`the ridge of ${name}`, () => assert.equal(chooseRidge(vectors, rows), wanted.ridge));
}

test("coordinates keep products", () => {
  const [{ vectors }] = heads,
    { coordinates } = reduced(vectors);
  for (const [i, j] of [
    [0, 0],
    [1, 4],
    [3, 7],
  ])
    near(
      [coordinates[i].reduce((sum, value, k) => sum + value * coordinates[j][k], 0)],
      [vectors[i].reduce((sum, value, k) => sum + value * vectors[j][k], 0)],
      1e-9,
    );
});

for (const [sentence, wanted] of sentences)
  test(`words of ${sentence}`, () => {
    const found = words(sentence);
    assert.deepEqual(
      found.map(({ text }) => text),
      wanted,
    );
    assert.deepEqual(
      found.map(({ start, end }) => sentence.slice(start, end)),
      wanted,
    );
  });

for (const [first, second] of same)
  test(`${JSON.stringify(first)} is the same`, () =>
    assert.equal(sameSentence(first), sameSentence(second)));

test("word counts have length 1", () => {
  const [first, second, third] = wordVectors(["A cat, a dog.", "...", "a Cat"]);
  near(
    [...first],
    [2, 1, 1].map((count) => count / Math.sqrt(6)),
    1e-9,
  );
  near([...second], [0, 0, 0], 1e-9);
  near(
    [...third],
    [1, 1, 0].map((count) => count / Math.SQRT2),
    1e-9,
  );
});

for (const [right, count, low, high] of intervals)
  test(`interval of ${right} of ${count}`, () => {
    const found = interval(right, count);
    near([found.low, found.high], [low, high], 1e-5);
  });

test("the interval of none and of all ends at 0 and at 1, however many there are", () => {
  for (let count = 1; count <= 300; count++) {
    assert.equal(interval(0, count).low, 0);
    assert.equal(interval(count, count).high, 1);
  }
});

test("the map names each box in the colour of its sentences", () => {
  const boxes = [{ name: "kitchen" }, { name: "" }];
  const rows = { labels: [0, 1, 0], sentences: ["a", "b", "c"] };
  const places = [
    [0, 0],
    [1, 1],
    [0, 1],
  ];
  const [points, key] = mapFigure(boxes, rows, places).panels[0].marks;
  const [first, second] = [points.tones[0], points.tones[1]];
  assert.deepEqual(points.tones, [first, second, first]);
  assert.notEqual(first, second);
  const parts = key.lines[0].map(({ text, tone = "" }) => text.trim() + tone).filter(Boolean);
  assert.deepEqual(parts, [`●${first}`, "kitchen", "·", `●${second}`, "box 2"]);
});

test("a sentence in two boxes is named, with the box in which the score counts it", () => {
  const boxes = [
    { name: "good", text: "I loved it.\nA quiet film." },
    { name: " ", text: "a quiet  film.\nI slept." },
  ];
  assert.deepEqual(oddities(boxes), [
    "“A quiet film.” is in “good” and “box 2”; the score counts it in “good”. Decide for one box.",
  ]);
});
