// The widget of a notebook: the views with their text and settings. The notebook's kernel answers in place of a server.
import "./view.js";
import { framed, inTurn, navigation, plotlyOf } from "./embedded.js";
import { loadPlotly } from "./figure.js";
import { h } from "./kit.js";

/** A function like `ask`, which the kernel of *model* answers, and one that ends it. */
function kernel(model) {
  const waiting = new Map(); // number of a question -> what resolves it
  const mark = Math.random().toString(36).slice(2);
  let last = 0;
  const hear = (message) => {
    // also of another picture of the same widget
    waiting.get(message.number)?.({ status: message.status, answer: JSON.parse(message.answer) });
    waiting.delete(message.number);
  };
  model.on("msg:custom", hear);
  const ask = inTurn(
    (path, body) =>
      new Promise((done) => {
        const number = `${mark}-${++last}`;
        waiting.set(number, done);
        model.send({ number, path, body });
      }),
  );
  return { ask, end: () => model.off("msg:custom", hear) };
}

/** Show *model* in the element *el*, as anywidget asks. */
export async function render({ model, el }) {
  const { ask, end } = kernel(model);
  loadPlotly(plotlyOf(ask));
  const { answer: schema } = await ask("page");
  const view = Object.assign(h("bx-view"), { schema, link: model.get("link"), backend: ask });
  const around = framed("", navigation(view, schema), view);
  view.addEventListener("filled", () => {
    if (view.getAttribute("aria-busy") === "true" || model.get("link") === view.state.link) return;
    model.set("link", view.state.link);
    model.save_changes();
  });
  el.append(around.frame);
  const moved = () => {
    if (model.get("link") !== view.state.link) view.state.open(model.get("link"));
  };
  model.on("change:link", moved);
  return () => {
    around.end();
    model.off("change:link", moved);
    end();
  };
}
