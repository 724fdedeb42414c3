// Where marks are drawn. In place of a canvas, each character is as wide as half its size.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as bars from "../../bertexplorer/web/static/marks_bars.js";
import * as histogram from "../../bertexplorer/web/static/marks_histogram.js";
import * as lines from "../../bertexplorer/web/static/marks_lines.js";
import {
  fitting,
  isDark,
  powers,
  rectangle,
  roundNumbers,
  shading,
  short,
  spread,
  twoLines,
  words,
  wrapped,
} from "../../bertexplorer/web/static/marks_parts.js";
import { isSpace, seenFromTheCamera, spaceOf } from "../../bertexplorer/web/static/marks_space.js";
import * as spans from "../../bertexplorer/web/static/marks_spans.js";

const ruler = {
  font: "",
  measureText: (text) => ({
    width: ([...text].length * Number(/(\d+)px/.exec(ruler.font)[1])) / 2,
  }),
};
globalThis.document = /** @type {any} */ ({ createElement: () => ({ getContext: () => ruler }) });

const SIZE = 14; // of usual words: 7 a character
const group = (mark, inside) => inside.join("");
const numbersOf = (text, pattern) =>
  [...text.matchAll(pattern)].map((found) => found.slice(1).map(Number));

test("round numbers cover a scale", () => {
  assert.deepEqual(roundNumbers(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(roundNumbers(-30, 50, 4), [-20, 0, 20, 40]);
  assert.deepEqual(roundNumbers(0, 0.0003, 3), [0, 0.0001, 0.0002, 0.0003]);
  assert.deepEqual(roundNumbers(2, 2, 4), [2]);
  assert.deepEqual(powers(10_000), [1, 10, 100, 1000, 10_000]);
});

test("numbers at an axis have four digits", () => {
  assert.deepEqual([0.123456, 12_345, -0.5, NaN].map(short), ["0.1235", "12,350", "−0.5", "–"]);
});

test("names at the ends of lines do not overlap, in their order", () => {
  assert.deepEqual(spread([10, 12, 100], 200, 17), [10, 27, 100]);
  assert.deepEqual(spread([190, 195], 200, 17), [183, 200]);
  assert.deepEqual(spread([50, 50, 50], 200, 17), [50, 67, 84]);
});

test("a palette has its colours at its ends, and none beyond", () => {
  const shade = shading("shades", 0, 2);
  assert.deepEqual([-1, 0, 1, 2, 3].map(shade), [
    "rgb(240,245,251)",
    "rgb(240,245,251)",
    "rgb(187,212,240)",
    "rgb(134,179,228)",
    "rgb(134,179,228)",
  ]);
  assert.equal(shading("groups")(1), "rgb(213,94,0)");
  assert.equal(shading("groups")(-1), "rgb(213,218,225)");
  assert.equal(shading("root")(0.25), "rgb(169,200,234)");
  assert.ok(isDark("#12406f") && isDark("rgb(18,64,111)") && !isDark("#eef4fb"));
});

test("words fit into their room", () => {
  assert.equal(fitting("a long name", 70, SIZE), "a long na…");
  assert.equal(fitting("short", 70, SIZE), "short");
  assert.equal(fitting("🙂🙂🙂🙂", 21, SIZE), "🙂🙂…");
  assert.equal(fitting("none", 3, SIZE), "");
  assert.deepEqual(wrapped("one two three\nfour", 49), ["one two", "three", "four"]);
  assert.deepEqual(twoLines("one two three four five", 49), ["one two", "three …"]);
});

test("text is never markup", () => {
  assert.equal(
    words(1.234, 2, '<b>&"\u0000\ud800', { kind: "token" }),
    '<text x="1.23" y="2" text-anchor="start" class="token" style="">&#60;b&#62;&#38;&#34;\ufffd\ufffd</text>',
  );
  assert.equal(
    rectangle(0, 1.006, 2, 3, "#fff"),
    '<rect x="0" y="1.01" width="2" height="3" fill="#fff"/>',
  );
});

test("points of a line stand where their numbers are", () => {
  const mark = {
    steps: ["in", "1", "2"],
    lines: [{ name: "a", values: [0, 5, 10] }],
    low: 0,
    high: 10,
  };
  const pen = { group, isAlone: false, margins: lines.margins([mark], 400) };
  const circles = numbersOf(
    lines.draw(mark, 400, pen).drawn.join(""),
    /<circle cx="([\d.]+)" cy="([\d.]+)" r="3.5"/g,
  );
  const [[x0, y0], [x1, y1], [x2, y2]] = circles;
  assert.equal(circles.length, 3);
  assert.ok(Math.abs(x1 - (x0 + x2) / 2) < 0.02 && Math.abs(y1 - (y0 + y2) / 2) < 0.02);
  assert.ok(x0 > pen.margins.left && x2 < 400 - pen.margins.right && y2 < y0);
});

test("bars are as long as their numbers", () => {
  const mark = {
    kind: "bars",
    bars: [
      { label: "a", value: 1, text: "1" },
      { label: "b", value: 0.5, text: "0.5" },
    ],
    low: 0,
    high: 1,
  };
  const panel = { mark, wide: 300, marks: [mark], beside: [] };
  const pen = { group, whole: 300, isAlone: true, names: bars.widestName([mark]) };
  pen.scales = bars.scales([panel], pen);
  const drawn = bars.draw(mark, 300, { ...pen, beside: [] }).drawn.join("");
  const [long, half] = numbersOf(
    drawn,
    /<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="[\d.]+" fill="#2b6cb0"/g,
  );
  assert.ok(Math.abs(long[0] - 2 * half[0]) < 0.05, `${long} and ${half}`);
});

test("a bar of a negative number ends where the scale has 0", () => {
  const mark = {
    kind: "bars",
    bars: [
      { label: "a", value: -1 },
      { label: "b", value: 1 },
    ],
    low: -1,
    high: 1,
  };
  const pen = { group, whole: 300, isAlone: true, names: bars.widestName([mark]) };
  pen.scales = bars.scales([{ mark, wide: 300 }], pen);
  const drawn = bars.draw(mark, 300, { ...pen, beside: [] }).drawn.join("");
  const [[x0, wide], [x1]] = numbersOf(
    drawn,
    /<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" fill="#2b6cb0"/g,
  );
  assert.ok(Math.abs(x0 + wide - x1) < 0.05, `${x0} + ${wide} is not ${x1}`);
});

test("a scale from which 0 is missing is extended to 0", () => {
  for (const sign of [1, -1]) {
    const ends = [0.5 * sign, sign].sort((a, b) => a - b);
    const mark = {
      kind: "bars",
      bars: [
        { label: "a", value: sign },
        { label: "b", value: 0.5 * sign },
      ],
      low: ends[0],
      high: ends[1],
    };
    const pen = { group, whole: 300, isAlone: true, names: bars.widestName([mark]) };
    pen.scales = bars.scales([{ mark, wide: 300 }], pen);
    const drawn = bars.draw(mark, 300, { ...pen, beside: [] }).drawn.join("");
    const [[x, long], [, half]] = numbersOf(
      drawn,
      /<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" fill="#2b6cb0"/g,
    );
    assert.ok(x + long <= 300.05, `${x} + ${long} is beyond the figure`);
    assert.ok(Math.abs(long - 2 * half) < 0.05, `${long} and ${half}`);
  }
});

test("a text in spans is broken at spaces", () => {
  const mark = {
    texts: ["one two three four"],
    rows: [
      [
        { start: 0, end: 3 },
        { start: 4, end: 7 },
        { start: 8, end: 13 },
      ],
    ],
  };
  const drawn = spans.draw(mark, 80, { group });
  assert.deepEqual(
    numbersOf(drawn.drawn.join(""), /<rect x="([\d.]+)" y="([\d.]+)"/g).map(([, y]) => y),
    [0, 0, 38],
  );
  assert.equal(drawn.height, 76);
});

const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i >> 2, (i >> 1) & 1, i & 1]);

/** The names that stand beside points in space as the figure opens. */
function namesIn(points) {
  const [x, y, z] = [0, 1, 2].map((axis) => points.map((point) => point[axis]));
  const figure = {
    panels: [
      {
        marks: [
          { kind: "points", x, y, z, tone: "blue", names: points.map((_, i) => `name ${i}`) },
        ],
      },
    ],
  };
  assert.ok(isSpace(figure));
  return spaceOf(figure).data.find(({ mode }) => mode === "text").text;
}

test("the corners of a cube are where plotly's camera shows them", () => {
  const seen = CORNERS.map(seenFromTheCamera(CORNERS));
  for (const corner of [seen[0], seen[7]])
    assert.ok(
      corner.every((one) => Math.abs(one) < 1e-9),
      "towards the eye",
    );
  assert.ok(seen[1][1] > 0.5 && seen[6][1] < -0.5, "z is up");
});

test("names in space do not overlap as the figure opens", () => {
  assert.ok(namesIn(CORNERS).length >= 5);
  const near = namesIn([...CORNERS.map((corner) => corner.map((one) => one / 1000)), [1, 1, 1]]);
  assert.ok(
    near.length >= 1 && near.length <= 5,
    `${near.length} of nine names, eight of them in one place`,
  );
});

test("a histogram has its band behind its bars, and its rule before them", () => {
  const mark = { at: [0, 1, 2], values: [1, 2, 1], low: 0, high: 2 };
  const beside = [
    { kind: "rule", at: 1, tone: "blue" },
    { kind: "band", low: 0.5, high: 1.5 },
  ];
  const { drawn } = histogram.draw(/** @type {any} */ (mark), 200, { group, beside });
  const [left, wide] = numbersOf(drawn[0], /x="([\d.]+)".*?width="([\d.]+)"/g)[0];
  assert.ok(left > 0 && Math.abs(left + wide / 2 - 100) < 0.01); // in the middle, as its ends are alike
  assert.match(drawn[0], /fill-opacity/);
  const rules = drawn.filter((one) => numbersOf(one, /width="([\d.]+)"/g)[0]?.[0] === 3);
  assert.equal(rules.length, 1); // the band is no rule
});
