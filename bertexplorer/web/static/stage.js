// <bx-stage>: the answer on the screen: its figure and caption, the compared answer, and the progress of a slow answer. Fires
// "jump" from a figure, "open" from the table of cases, "stop", "aside" if it should go on as a run, and "add" with what the text lacks.
import "./cases.js";
import "./figure.js";
import { h, unbroken } from "./kit.js";
import { shareScales } from "./marks.js";

const ADDS = {
  mask: "Insert [MASK]",
  pair: "Add a second sentence",
  head: "Use mini",
  tuned: "Use sentiment",
};
const LONG_NAME = 80;
const LATE_MS = 400; // delay before the old figure is dimmed, so that quick answers do not flicker
const short = (name) => (name.length <= LONG_NAME ? name : `${name.slice(0, LONG_NAME - 1)}…`);

class Stage extends HTMLElement {
  /** @type {number | undefined} */
  #late;
  drawn = ""; // the view of the figure on the stage

  connectedCallback() {
    if (this.firstChild) return;
    // ids, on a page with a single stage
    const part = (name, id = name) => ({
      class: name,
      id: this.dataset.ids === undefined ? null : id,
    });
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
    this.aside = h(
      "button",
      { type: "button", hidden: true, onclick: () => this.#fire("aside") },
      "Go on as a run",
    );
    this.way = h(
      "div",
      { ...part("under-way"), role: "status", hidden: true },
      this.bar,
      this.rest,
      stop,
      this.aside,
    );
    this.said = h("p", { class: "said", role: "status", dir: "auto" });
    this.warning = h("p");
    const caption = h(
      "div",
      part("caption"),
      this.said,
      h("details", { class: "misread" }, h("summary", {}, "How not to misread this"), this.warning),
    );
    this.their_words = h("p", { class: "said", dir: "auto" });
    this.beside = h(
      "div",
      { ...part("beside"), class: "beside column" },
      this.named,
      this.theirs,
      this.their_words,
    );
    this.cases = h("bx-cases", {
      hidden: true,
      onopen: ({ detail }) => this.#fire("open", detail),
      onall: () => this.#fire("all"),
    });
    this.append(
      h("div", part("question"), this.question),
      this.message,
      h(
        "div",
        part("stage"),
        h("div", { class: "column" }, this.ours, this.way, this.figure, caption),
        this.beside,
      ),
      this.difference,
      this.cases,
    );
    this.blank();
  }

  /** Show a message: an "error", one that "stands" next to its figure, or the current activity, "busy". */
  tell(words, kind = "error", missing = "") {
    const button =
      missing in ADDS &&
      h(
        "button",
        { type: "button", "data-adds": missing, onclick: () => this.#fire("add", missing) },
        ADDS[missing],
      );
    this.message.replaceChildren(
      h(
        "p",
        {
          class: `message ${kind}${missing in ADDS ? " wanting" : ""}`,
          role: kind === "busy" ? "status" : "alert",
          dir: "auto",
        },
        words,
        button && [" ", button],
      ),
    );
  }

  silence() {
    this.message.replaceChildren();
  }

  /** Show the progress of an answer: whether it is busy, what it waits for, how far it is, and errors. */
  hear({ busy, waits, progress, notice }) {
    if (busy !== undefined) this.busy(busy);
    if (waits) this.waits(waits);
    if (progress) this.progress(progress);
    if (notice) this.tell(notice);
  }

  /** Show whether an answer is being computed. */
  busy(on) {
    this.figure.stale = this.theirs.stale = this.difference.stale = on;
    clearTimeout(this.#late);
    this.classList.remove("late");
    if (on) this.#late = setTimeout(() => this.classList.add("late"), LATE_MS);
    if (this.way.contains(document.activeElement)) this.question.focus(); // keep the focus when the button disappears
    this.way.hidden = true;
    this.waits("");
  }

  /** Show why the computation has not started. */
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
    if (this.said.textContent !== unbroken(said)) this.said.textContent = unbroken(said); // screen readers hear it once
    if (figure?.marks && beside?.figure?.marks) shareScales(figure, beside.figure);
    if (source) this.figure.frame(source, height);
    else this.figure.show(figure, said);
    this.cases.show(cases);
    this.beside.hidden = this.ours.hidden = !beside;
    this.difference.hidden = !beside?.difference;
    if (!beside) return;
    this.ours.textContent = short(beside.ours);
    this.named.textContent = short(beside.name);
    this.their_words.textContent = unbroken(beside.said);
    if (beside.figure) this.theirs.show(beside.figure, beside.said);
    else this.theirs.clear();
    if (beside.difference)
      this.difference.show(beside.difference, "The difference between the two");
  }

  /** Draw the figures anew, as their place has another size. */
  redraw() {
    for (const one of [this.figure, this.theirs, this.difference]) one.redraw();
  }

  /** Clear the figure and its caption: there is no answer for this view. */
  blank() {
    this.drawn = "";
    for (const one of [this.figure, this.theirs, this.difference]) one.clear();
    this.cases.show();
    this.said.textContent = "";
    this.beside.hidden = this.difference.hidden = this.ours.hidden = true;
  }

  #fire(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
customElements.define("bx-stage", Stage);
