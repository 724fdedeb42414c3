// <bx-stage>: the answer on the screen: its figure, the figure in words, the answer it is compared with, and how an answer that
// takes long comes on. Fires "jump" from a figure, "open" from the table of cases, "stop", and "add" with what the text lacks.
import "./cases.js";
import "./figure.js";
import { h, unbroken } from "./kit.js";

const ADDS = { mask: "Insert [MASK]", pair: "Add a second sentence" };
const LONG_NAME = 80;
const LATE_MS = 400;  // until the old figure is dimmed, so that quick answers do not flicker
const short = (name) => (name.length <= LONG_NAME ? name : `${name.slice(0, LONG_NAME - 1)}…`);

class Stage extends HTMLElement {
  #late = null;
  drawn = "";  // the view whose figure is here

  connectedCallback() {
    if (this.firstChild) return;
    const part = (name, id = name) => ({ class: name, id: this.dataset.ids === undefined ? null : id });  // ids where a page has one stage
    this.question = h("h2", { tabindex: -1 });
    this.message = h("div", part("notices", "message"));
    const jump = { onjump: ({ detail }) => this.#fire("jump", detail) };
    this.figure = h("bx-figure", { ...part("figure"), ...jump });
    this.theirs = h("bx-figure", jump);
    this.difference = h("bx-figure", { ...part("difference"), ...jump });
    this.ours = h("h3", { class: "side" });
    this.named = h("h3", { class: "side" });
    this.bar = h("progress", { max: 1, "aria-label": "Progress" });
    this.rest = h("span");
    const stop = h("button", { type: "button", onclick: () => this.#fire("stop") }, "Stop");
    this.way = h("div", { ...part("under-way"), role: "status", hidden: true }, this.bar, this.rest, stop);
    this.said = h("p", { class: "said", role: "status", dir: "auto" });
    this.note = h("p");
    const caption = h("div", part("caption"), this.said, h("details", { class: "misread" }, h("summary", {}, "How not to misread this"), this.note));
    this.their_words = h("p", { class: "said", dir: "auto" });
    this.beside = h("div", { ...part("beside"), class: "beside column" }, this.named, this.theirs, this.their_words);
    this.cases = h("bx-cases", { hidden: true, onopen: ({ detail }) => this.#fire("open", detail), onall: () => this.#fire("all") });
    this.append(h("div", part("question"), this.question), this.message,
      h("div", part("stage"), h("div", { class: "column" }, this.ours, this.way, this.figure, caption), this.beside), this.difference, this.cases);
    this.blank();
  }

  /** Say *words*: an "error", one that "stands" beside its figure, or that something is under way, "busy". */
  tell(words, kind = "error", missing = "") {
    const button = missing in ADDS && h("button", { type: "button", "data-adds": missing, onclick: () => this.#fire("add", missing) }, ADDS[missing]);
    this.message.replaceChildren(h("p", { class: `message ${kind}`, role: kind === "busy" ? "status" : "alert", dir: "auto" }, words, button && [" ", button]));
  }

  silence() { this.message.replaceChildren(); }

  /** Show how an answer comes on: whether it is under way, what it waits for, how far it is, and what went wrong. */
  hear({ busy, waits, progress, notice }) {
    if (busy !== undefined) this.busy(busy);
    if (waits) this.waits(waits);
    if (progress) this.progress(progress);
    if (notice) this.tell(notice);
  }

  /** An answer is on its way, or no longer. */
  busy(on) {
    this.figure.stale = this.theirs.stale = this.difference.stale = on;
    clearTimeout(this.#late);
    this.classList.remove("late");
    if (on) this.#late = setTimeout(() => this.classList.add("late"), LATE_MS);
    if (this.way.contains(document.activeElement)) this.question.focus();  // not lost with the button
    this.way.hidden = true;
    this.waits("");
  }

  /** Why nothing is computed yet. */
  waits(words) {
    if (words) this.figure.dataset.line = words;
    else delete this.figure.dataset.line;
  }

  progress({ place, seconds, done }) {
    this.waits(place ? `Place ${place} in line, about ${seconds} s` : "");
    this.way.hidden = done === undefined;
    if (done === undefined) return;
    this.bar.value = done;
    this.rest.textContent = `About ${seconds} s left`;
  }

  draw({ state, figure, document: source, height, said, beside, cases }) {
    this.drawn = state.view;
    this.said.textContent = unbroken(said);
    if (source) this.figure.frame(source, height);
    else this.figure.show(figure, said);
    this.cases.show(cases, beside?.name);
    this.beside.hidden = this.ours.hidden = !beside;
    this.difference.hidden = !beside?.difference;
    if (!beside) return;
    this.ours.textContent = short(beside.ours);
    this.named.textContent = short(beside.name);
    this.their_words.textContent = unbroken(beside.said);
    if (beside.figure) this.theirs.show(beside.figure, beside.said);
    else this.theirs.clear();
    if (beside.difference) this.difference.show(beside.difference, "The difference between the two");
  }

  /** No figure and nothing said of one: there is none of the view on the screen. */
  blank() {
    this.drawn = "";
    for (const one of [this.figure, this.theirs, this.difference]) one.clear();
    this.cases.show();
    this.said.textContent = "";
    this.beside.hidden = this.difference.hidden = this.ours.hidden = true;
  }

  #fire(kind, detail) { this.dispatchEvent(new CustomEvent(kind, { detail })); }
}
customElements.define("bx-stage", Stage);
