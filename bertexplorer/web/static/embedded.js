// What the widget of a notebook and the components of a Gradio app share: the frame of an element on a page that is not ours, and
// questions to a process that answers one at a time.
import "./nav.js";
import { h } from "./kit.js";

/** @import { Ask, Page } from "./types.d.ts" */

const DARK = "[data-jp-theme-light=false], [theme=dark], .dark, .vscode-dark"; // of <html> or <body>: JupyterLab, Colab, marimo, VS Code, Gradio

/** An element around *children* with the styles of the page, light or dark as the page around it is, and what ends that. */
export function framed(className, ...children) {
  const theme = h(
    "div",
    { class: `bx-theme ${className}` },
    h("div", { class: "bx-page" }, h("div", { class: "bx" }, ...children)),
  );
  const paint = () =>
    theme.classList.toggle(
      "dark",
      [document.documentElement, document.body].some((one) => one.matches(DARK)),
    );
  paint();
  const watch = new MutationObserver(paint);
  for (const one of [document.documentElement, document.body])
    watch.observe(one, { attributes: true });
  return { frame: h("div", { class: "bx-embedded" }, theme), end: () => watch.disconnect() };
}

/** The doors to the *views*, which open them in the live view *place*.
 *  @param {any} place
 *  @param {Pick<Page, "views" | "doors" | "opening">} page */
export function navigation(place, { views, doors, opening }) {
  const nav = h("bx-nav");
  nav.draw(views, doors);
  const open = ({ detail }) => place.state.set({ view: detail, checkpoint: opening.checkpoint });
  nav.addEventListener("view", open);
  nav.addEventListener("door", open);
  place.addEventListener("filled", () => {
    const { view } = place.state.now;
    if (Object.hasOwn(views, view)) nav.mark(view);
  });
  return nav;
}

/** A function like `ask` that sends one question at a time with *send*, as the other side cannot stop one: while it computes, only
 *  the newest question waits.
 *  @param {(path: string, body: any) => Promise<import("./types.d.ts").Reply>} send
 *  @returns {Ask} */
export function inTurn(send) {
  const open = []; // questions that are not sent yet
  let busy = false;
  const next = async () => {
    if (busy || !open.length) return;
    const { path, body, done, failed } = open.shift();
    busy = true;
    try {
      done(await send(path, body ?? null));
    } catch (error) {
      failed(error);
    }
    busy = false;
    next();
  };
  return (path, { body, signal } = {}) =>
    new Promise((done, failed) => {
      const question = { path, body, done, failed };
      open.push(question);
      signal?.addEventListener("abort", () => {
        if (open.includes(question)) open.splice(open.indexOf(question), 1);
        failed(signal.reason);
      });
      next();
    });
}

/** Plotly from the source that the other side sends. It runs inside a function, so that no module loader of the page catches it. */
export const plotlyOf = (ask) => async (bundle) => {
  const { answer } = await ask(`plotly-${bundle}`);
  const src = URL.createObjectURL(
    new Blob(["(function (define, module, exports) {", answer.source, "\n})();"], {
      type: "text/javascript",
    }),
  );
  await new Promise((done, failed) =>
    document.head.append(h("script", { src, onload: done, onerror: failed })),
  );
  return window.Plotly;
};
