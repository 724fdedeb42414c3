// <bx-exports>: the row of buttons that save what the page shows, or its link.
import { saveView } from "./hand_in.js";
import { ask } from "./backend.js";
import { h, save } from "./kit.js";
import { figuresOf, picture } from "./picture.js";

/** @import { View, ViewAnswer } from "./types.d.ts" */

/** What the page shows.
 *  @typedef {object} Shown
 *  @property {ViewAnswer} answer
 *  @property {View} view
 *  @property {import("./state.js").State} state of the page, which may be ahead of the answer
 *  @property {any} stage
 *  @property {any} strip
 *  @property {boolean} old whether the figure is of another state
 *  @property {boolean} isPrivate whether the link opens in this browser only, as it names one of its owner's runs */

const SHOWN_MS = 1500;
const HEADS = "attention"; // the view whose heads can be saved all at once
const PRIVATE =
  "The link is private: it names a run of yours, so it opens in this browser only. For others, export the checkpoint on the page Train.";

class Exports extends HTMLElement {
  /** @type {() => Shown} */
  shown;

  /** Draw the buttons between the elements *before* and *after*. *onSite*: a site has no Python; *shown* is asked at each
   *  press what to save.
   *  @param {{ onSite: boolean, shown: () => Shown, before: Node, after: Node }} parts */
  draw({ onSite, shown, before, after }) {
    this.shown = shown;
    const kinds = ["PNG", "SVG", "HTML", "CSV", "JSON", ...(onSite ? [] : ["Python"]), "Link"];
    const buttons = kinds.map((label) => {
      const kind = label.toLowerCase();
      return this.#button(label, kind, (button) => this.#export(kind, button));
    });
    this.allHeads = this.#button("All heads", "heads", (button) => this.#exportHeads(button));
    this.append(before, ...buttons, this.allHeads, after);
  }

  /** Offer what *view* has.
   *  @param {string} view */
  offer(view) {
    this.allHeads.hidden = view !== HEADS;
  }

  /** @param {string} label
   *  @param {string} kind
   *  @param {(button: HTMLButtonElement) => void} press */
  #button(label, kind, press) {
    const onclick = () => press(button);
    const button = h("button", { type: "button", id: `export-${kind}`, onclick }, label);
    return button;
  }

  /** @param {string} kind
   *  @param {HTMLButtonElement} button */
  async #export(kind, button) {
    if (kind === "link") await this.#copyLink(button);
    else if (["html", "png", "svg"].includes(kind)) await this.#saveFigure(kind, button);
    else await this.#saveRows(kind);
  }

  /** @param {HTMLButtonElement} button */
  async #copyLink(button) {
    try {
      await navigator.clipboard.writeText(location.href);
      say(button, "Copied");
    } catch {
      prompt("Copy this link", location.href);
    }
    const { stage, isPrivate } = this.shown();
    if (isPrivate) stage.tell(PRIVATE, "busy");
  }

  /** Save the figure as a page of its own or as a picture; one that is a document, as that.
   *  @param {string} kind
   *  @param {HTMLButtonElement} button */
  async #saveFigure(kind, button) {
    const { answer, view, stage, strip, old, isPrivate } = this.shown();
    const { receipt } = answer;
    const state = view.text ? answer.state : { ...answer.state, text: "", pair: "" };
    if (old || !(answer.document || stage.figure.figure)) {
      say(button, "Nothing to save");
      return;
    }
    if (answer.document) {
      save(`${state.view}.html`, urlOf(answer.document, "text/html"));
      return;
    }
    if (kind === "html") {
      const rows = ask("view/csv", { body: { state } });
      const shown = { stage, answer: { ...answer, state, words: strip.words } };
      await saveView(view, shown, rows, location.href, isPrivate ? PRIVATE : "");
      return;
    }
    const content = {
      figures: figuresOf(answer),
      shown: stage.figure.clientWidth,
      question: view.question,
      above: [state.text, state.pair, ...strip.words].filter(Boolean),
      below: [view.note, receipt.whole],
    };
    save(`${state.view}.${kind}`, await picture(kind, content));
  }

  /** Save the answer as rows or as a program.
   *  @param {string} kind */
  async #saveRows(kind) {
    const { state, stage } = this.shown();
    const body = { state: state.now, counted_in: state.counted };
    const { status, answer } = await ask(`view/${kind}`, { body });
    if (status === 200) {
      save(answer.name, urlOf(answer.content, "text/plain;charset=utf-8"));
      return;
    }
    const fault = `There is nothing to export yet. ${answer.detail}`;
    stage.tell(fault, "error", answer.missing);
  }

  /** Save a ZIP with a picture of every head.
   *  @param {HTMLButtonElement} button */
  async #exportHeads(button) {
    const { headPictures } = await import("./head_pictures.js");
    const { answer, view, stage } = this.shown();
    const label = button.textContent;
    button.disabled = true;
    try {
      const tell = (/** @type {string} */ words) => {
        button.textContent = words;
      };
      const about = { state: answer.state, card: answer.checkpoint, question: view.question };
      save("heads.zip", URL.createObjectURL(await headPictures({ ...about, tell })));
    } catch (error) {
      stage.tell(/** @type {Error} */ (error).message);
    }
    button.textContent = label;
    button.disabled = false;
  }
}
customElements.define("bx-exports", Exports);

/** Let *button* say *words* for a moment.
 *  @param {HTMLButtonElement} button
 *  @param {string} words */
function say(button, words) {
  const label = (button.dataset.label ??= button.textContent ?? ""); // also while it says something else
  button.textContent = words;
  setTimeout(() => {
    button.textContent = label;
  }, SHOWN_MS);
}

/** @param {string} content
 *  @param {string} type */
const urlOf = (content, type) => URL.createObjectURL(new Blob([content], { type }));
