import assert from "node:assert/strict";
import { test } from "node:test";
import { Own } from "../../bertexplorer/web/static/own.js";

const example = (text) => [{ text, pair: "", picked: "0:0-1", options: { top: 3 } }];
const SETTINGS = [
  { name: "top", default: 5 },
  { name: "layer", default: 0 },
];
const views = {
  "fill-mask": { text: true, checkpoint: "", settings: [], examples: example("A [MASK].") },
  attention: { text: true, checkpoint: "", settings: SETTINGS, examples: example("An example.") },
  answer: {
    text: true,
    checkpoint: "tuned",
    settings: SETTINGS,
    examples: example("A good film."),
  },
  rows: { text: false, checkpoint: "tuned", settings: SETTINGS, examples: example("") },
};
const NOW = {
  view: "fill-mask",
  text: "My own.",
  pair: "",
  hidden: "",
  picked: "",
  checkpoint: "mini",
  options: {},
};
const made = () => new Own({ views, opening: { checkpoint: "mini" } }, "mini");

test("a view opens with the person's text, and borrows a checkpoint as nobody has picked one", () => {
  const own = made();
  assert.deepEqual(own.open("attention", NOW), {
    view: "attention",
    checkpoint: "mini",
    text: "My own.",
    pair: "",
    hidden: "",
    picked: "",
  });
  assert.equal(own.open("answer", NOW).checkpoint, "tuned");
  own.checkpoint = "another";
  assert.equal(own.open("answer", NOW).checkpoint, "another");
});

test("no example replaces a hidden word where a view is not about the text", () => {
  const own = made(),
    masked = { ...NOW, text: "My [MASK]." };
  assert.equal(own.open("answer", masked).text, "A good film.");
  assert.equal(own.isAway({ view: "answer" }), true);
  const change = own.open("rows", masked);
  assert.equal(change.text, "My [MASK].");
  assert.equal(change.checkpoint, "tuned");
  const [words] = own.note({ ...masked, ...change }, { back: () => {}, use: () => {} });
  assert.ok(!words.includes("example"));
});

test("an example stands in for a refused text, which comes back", () => {
  const own = made();
  const refused = { ...NOW, ...own.open("attention", NOW), options: { top: 9, layer: 1 } };
  const instead = own.instead(refused, {
    detail: "The text is too short. Type more.",
    missing: "",
  });
  assert.deepEqual(instead, {
    text: "An example.",
    pair: "",
    hidden: "",
    picked: "0:0-1",
    options: { top: 3, layer: 0 },
  });
  const now = { ...refused, ...instead };
  assert.ok(own.isAway(now));
  assert.deepEqual(
    own.note(now, {})[0],
    "This is an example, not your text: the text is too short.",
  );
  assert.equal(own.of(now).text, "My own.");
  assert.deepEqual(own.back(), {
    text: "My own.",
    pair: "",
    hidden: "",
    picked: "",
    options: { top: 9, layer: 1 },
  });
  assert.ok(!own.isAway(now) && own.note(now, {}) === null);
});

test("a text with a hidden word does not go to a borrowed checkpoint", () => {
  const own = made();
  const change = own.open("answer", { ...NOW, text: "A [MASK] film." });
  assert.deepEqual([change.text, change.checkpoint], ["A good film.", "tuned"]);
  assert.match(own.note({ ...NOW, ...change }, {})[0], /shows tuned.*your text has a hidden word/);
});

test("it stays where the view has no checkpoint of its own", () => {
  const own = made();
  assert.equal(own.open("attention", { ...NOW, text: "A [MASK] film." }).text, "A [MASK] film.");
  own.checkpoint = "another";
  assert.equal(own.open("answer", { ...NOW, text: "A [MASK] film." }).text, "A [MASK] film.");
});

test("if the example is refused too, the person's text is shown", () => {
  const own = made();
  const refused = { ...NOW, ...own.open("attention", NOW) };
  const now = { ...refused, ...own.instead(refused, { detail: "No.", missing: "" }) };
  assert.equal(own.instead(now, { detail: "No.", missing: "head" }).text, "My own.");
  assert.equal(own.instead(now, { detail: "No.", missing: "" }), null);
});

test("a view that lacks a head is asked again with the checkpoint of the page", () => {
  const own = made();
  own.checkpoint = "another";
  const now = { ...NOW, ...own.open("attention", NOW) };
  assert.deepEqual(own.instead(now, { detail: "No.", missing: "head" }), { checkpoint: "mini" });
});

test("after a change nothing is shown instead", () => {
  const own = made();
  const refused = { ...NOW, ...own.open("attention", NOW) };
  own.changed();
  assert.equal(own.instead(refused, { detail: "No.", missing: "" }), null);
});

test("what history keeps brings it back", () => {
  const own = made(),
    again = made();
  const refused = { ...NOW, ...own.open("attention", NOW) };
  const now = {
    ...refused,
    ...own.instead(refused, { detail: "paris is not there. Type it.", missing: "" }),
  };
  again.kept = structuredClone(own.kept);
  assert.ok(again.isAway(now));
  assert.match(again.note(now, {})[0], /: paris is not there\.$/);
});
