// The widget of a notebook: the views with their text and settings. The notebook's kernel answers in place of a server.
import "./nav.js";
import "./view.js";
import { loadPlotly } from "./figure.js";
import { h } from "./kit.js";

/** @import { Ask } from "./types.d.ts" */

const DARK = "[data-jp-theme-light=false], [theme=dark], .dark, .vscode-dark";  // of <html> or <body>: JupyterLab, Colab, marimo, VS Code

/** A function like `ask`, which the kernel of *model* answers, and one that ends it. It gets one question at a time, as it
 *  cannot stop one: while it computes, only the newest question waits.
 *  @returns {[Ask, () => void]} */
function kernel(model) {
  const waiting = new Map();  // number of a question -> what resolves it
  const open = [];  // questions that are not sent yet
  let last = 0, busy = false;
  const next = () => {
    const question = open.shift();
    if (!question || busy) { if (question) open.unshift(question); return; }
    busy = true;
    waiting.set(question.number, question.done);
    model.send({ number: question.number, path: question.path, body: question.body ?? null });
  };
  const hear = (message) => {
    const done = waiting.get(message.number);
    if (!done) return;  // of another picture of the same widget
    waiting.delete(message.number);
    busy = false;
    done({ status: message.status, answer: JSON.parse(message.answer) });
    next();
  };
  model.on("msg:custom", hear);
  const mark = Math.random().toString(36).slice(2);
  /** @type {Ask} */
  const ask = (path, { body, signal } = {}) => new Promise((done, failed) => {
    const question = { number: `${mark}-${++last}`, path, body, done };
    open.push(question);
    signal?.addEventListener("abort", () => {
      if (open.includes(question)) open.splice(open.indexOf(question), 1);
      failed(signal.reason);
    });
    next();
  });
  return [ask, () => model.off("msg:custom", hear)];
}

/** Plotly from the source that the kernel sends. It runs inside a function, so that no module loader of the page catches it. */
const plotlyOf = (ask) => async (bundle) => {
  const { answer } = await ask(`plotly-${bundle}`);
  const src = URL.createObjectURL(new Blob([
    "(function (define, module, exports) {",
    answer.source,
    "\n})();",
  ], { type: "text/javascript" }));
  await new Promise((done, failed) => document.head.append(h("script", { src, onload: done, onerror: failed })));
  return window.Plotly;
};

/** Show *model* in the element *el*, as anywidget asks. */
export async function render({ model, el }) {
  const [ask, end] = kernel(model);
  loadPlotly(plotlyOf(ask));
  const { answer: schema } = await ask("page");
  const nav = h("bx-nav"), view = Object.assign(h("bx-view"), { schema, link: model.get("link"), backend: ask });
  const theme = h("div", { class: "bx-theme" }, h("div", { class: "bx-page" }, h("div", { class: "bx" }, nav, view)));
  const paint = () => theme.classList.toggle("dark", [document.documentElement, document.body].some((one) => one.matches(DARK)));
  const mark = () => { if (view.state) nav.mark(view.state.now.view); };
  nav.draw(schema.views, schema.doors);
  const open = ({ detail }) => view.state.set({ view: detail, checkpoint: schema.opening.checkpoint });
  nav.addEventListener("view", open);
  nav.addEventListener("door", open);
  view.addEventListener("filled", () => {
    mark();
    if (view.getAttribute("aria-busy") === "true" || model.get("link") === view.state.link) return;
    model.set("link", view.state.link);
    model.save_changes();
  });
  paint();
  const watch = new MutationObserver(paint);
  for (const one of [document.documentElement, document.body]) watch.observe(one, { attributes: true });
  el.append(h("div", { class: "bx-widget" }, theme));
  mark();
  const moved = () => { if (model.get("link") !== view.state.link) view.state.open(model.get("link")); };
  model.on("change:link", moved);
  return () => { watch.disconnect(); model.off("change:link", moved); end(); };
}
