import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultsOf, settingsInQuery } from "../../bertexplorer/web/static/settings.js";
import { readLink } from "../../bertexplorer/web/static/site/links.js";
import { State } from "../../bertexplorer/web/static/state.js";
import { table } from "./cases.js";

const { views: defaults, written, read } = table("links");
const EMPTY = { text: "", pair: "", hidden: "", picked: "", against: "", other: "" };
const OPENING = { view: "fill-mask", ...EMPTY, checkpoint: "mini", precision: "auto" };
const settingsOf = (view) =>
  Object.entries(defaults[view]).map(([name, value]) => ({ name, default: value }));
const EXAMPLE = { text: "An example.", pair: "Another.", picked: "0:0-2", options: { layer: 7 } };
const views = Object.fromEntries(
  Object.keys(defaults).map((view) => [view, { settings: settingsOf(view), examples: [EXAMPLE] }]),
);

/** A state, what it shows, and the questions that it asks: [{body, tell, signal, answer(text)}]. */
function made() {
  const asked = [],
    shown = [];
  const backend = (_, question) =>
    new Promise((done, failed) => {
      asked.push({
        ...question,
        failed,
        answer: (state) =>
          done({ status: 200, answer: { state: { ...OPENING, options: {}, ...state } } }),
      });
    });
  return {
    asked,
    shown,
    state: new State(views, OPENING, (news) => shown.push(news), { address: false, backend }),
  };
}

const settled = () =>
  new Promise((go) => {
    setTimeout(go);
  });

for (const { state, query } of written) {
  test(`the link of ${JSON.stringify(query.slice(1))}`, () => {
    const { state: page } = made();
    page.keep({ ...state, options: { ...defaults[state.view], ...state.options } });
    assert.deepEqual([...new URLSearchParams(page.link)], query);
  });
}

for (const { query, state } of read) {
  test(`the state of ${JSON.stringify(query)}`, () => {
    assert.deepEqual(
      readLink(`?${new URLSearchParams(query)}`, { views, opening: OPENING }).state,
      state,
    );
  });
}

test("a link without a text opens the example of its view", () => {
  const { state, options } = readLink("?view=attention&hidden=0:0-2", { views, opening: OPENING });
  assert.deepEqual(state, {
    ...EMPTY,
    view: "attention",
    text: "An example.",
    pair: "Another.",
    picked: "0:0-2",
    hidden: "0:0-2",
  });
  assert.deepEqual(options, { layer: 7 });
});

test("settings in a query have the type of their default", () => {
  assert.deepEqual(defaultsOf(views["fill-mask"]), defaults["fill-mask"]);
  const query = new URLSearchParams("top=3&temperature=0.25&show=False&word=7&other=1");
  assert.deepEqual(settingsInQuery(query, defaults["fill-mask"]), {
    top: 3,
    temperature: 0.25,
    show: false,
    word: "7",
  });
});

test("what is typed between two answers stays", async () => {
  const { state, asked } = made();
  state.open("?");
  state.set({ text: "typed" }, { soon: true });
  asked[0].tell({ answer: { state: { ...OPENING, text: "old", options: {} } } });
  asked[0].answer({ text: "old" });
  await settled();
  assert.equal(state.now.text, "typed");
  state.stop();
});

test("the answer to an outdated question is dropped", async () => {
  const { state, asked, shown } = made();
  state.set({ text: "one" });
  state.set({ text: "two" });
  assert.ok(asked[0].signal.aborted && !asked[1].signal.aborted);
  asked[1].answer({ text: "two", hidden: "0:0-3" });
  asked[0].answer({ text: "one", hidden: "0:0-1" });
  await settled();
  assert.equal(state.now.hidden, "0:0-3");
  assert.equal(shown.filter(({ answer }) => answer).length, 1);
});

test("each view keeps its settings, and a change of one is no question", () => {
  const { state, asked } = made();
  state.set({ options: { ...state.now.options, top: 9 } });
  state.set({ view: "attention" });
  assert.deepEqual(state.now.options, { layer: 0 });
  state.setOptions("fill-mask", { word: "x" });
  assert.equal(asked.length, 2);
  state.set({ view: "fill-mask" });
  assert.deepEqual(state.now.options, { ...defaults["fill-mask"], top: 9, word: "x" });
});

test("pressed spans count in the texts of the answer", () => {
  const { state, asked } = made();
  state.set({ text: "new" });
  state.mark({ hidden: "0:0-3" }, { text: "old", pair: "" });
  const { body } = asked.at(-1);
  assert.deepEqual(
    [body.state.text, body.state.hidden, body.counted_in],
    ["new", "0:0-3", { text: "old", pair: "" }],
  );
});

test("an answer that cannot be read is an error; a stopped one says so", async () => {
  const { state, asked, shown } = made();
  state.ask();
  asked[0].failed(new Error("broken"));
  await settled();
  assert.match(shown.at(-1).answer.detail, /cannot be read \(broken\)/);
  state.ask();
  state.stop();
  assert.match(shown.at(-1).notice, /^Stopped/);
  assert.ok(asked[1].signal.aborted);
});
