// <bx-view>: a live view inside a lesson, with its own state: text, strip, figure and settings. Fires "token" with the label of
// a pressed chip; cancel the event to keep the press from changing the view.
import "./form.js";
import "./stage.js";
import "./strip.js";
import { grow, h, onEnter, rewrite } from "./kit.js";
import { Panel } from "./panel.js";
import { State } from "./state.js";

/** @import { Ask, Page } from "./types.d.ts" */

let count = 0;

class View extends Panel {
  /** @type {Page} */
  schema;
  link = "";
  given; // the state to open with, in place of a link
  below;
  /** @type {Record<"text" | "pair", any>} */
  boxes;
  /** @type {Ask | undefined} */
  backend;
  start; // the link of the first answer
  answer = {}; // on the screen
  #checkpoint = {};

  /** Show the view of `link`; `schema` is the page's. `below`: elements to place below the sentence, if there are any;
   *  `backend`: whom to ask, if it is not the page's. */
  connectedCallback() {
    if (this.firstChild) return;
    const number = ++count,
      { schema } = this;
    this.link = this.link.replace(/^[^?]*/, "");
    const box = (name, label) => {
      const id = `view-${number}-${name}`;
      const field = h("textarea", {
        id,
        rows: 1,
        spellcheck: "false",
        dir: "auto",
        translate: "no",
        onkeydown: onEnter(() => this.state.ask()),
        oninput: () => {
          grow(field);
          this.state.set({ [name]: field.value }, { soon: true });
        },
      });
      return h("div", { class: "field" }, h("label", { for: id }, label), field);
    };
    this.boxes = { text: box("text", "Sentence"), pair: box("pair", "Second sentence") };
    this.strip = h("bx-strip", { onpress: ({ detail }) => this.press(detail) });
    this.strip.addEventListener("click", (event) => this.#token(event), true);
    this.stage = h("bx-stage", {
      onjump: ({ detail }) => this.#jump(detail),
      onstop: () => this.state.stop(),
      onadd: () => this.boxes.pair.querySelector("textarea").focus(),
    });
    this.form = h("bx-form", {
      "data-prefix": `view-${number}-`,
      onset: ({ detail }) => this.setting(detail),
    });
    this.settings = h("details", { class: "more" }, h("summary", {}, "Options"), this.form);
    this.back = h(
      "button",
      { type: "button", class: "quiet", hidden: true, onclick: () => this.state.open(this.link) },
      "Back to the lesson’s text",
    );
    this.explore = h("a", { class: "quiet", href: `./${this.link}` }, "Open in Explore");
    this.append(
      h("div", { class: "bench" }, this.boxes.text, this.boxes.pair, this.below, this.strip),
      this.stage,
      this.settings,
      h("div", { class: "row" }, this.back, this.explore),
    );
    const view = new URLSearchParams(this.link).get("view") ?? "";
    this.state = new State(
      schema.views,
      { ...schema.opening, view: Object.hasOwn(schema.views, view) ? view : schema.opening.view },
      (what) => this.#show(what),
      { address: false, backend: this.backend },
    );
    if (this.given) this.open(this.given);
    else this.state.open(this.link);
  }

  /** Show what is *given*, a state or a part of one. Spans count in the text that they come with. */
  open(given) {
    const { now } = this.state,
      options =
        given.view && given.view !== now.view
          ? given.options
          : { ...now.options, ...given.options };
    const change = { ...given, ...(options && { options }) },
      { text = now.text, pair = now.pair } = given;
    if ("hidden" in given || "picked" in given) this.state.mark(change, { text, pair });
    else this.state.set(change);
  }

  #token(event) {
    const chip = event.target.closest(".chip");
    if (
      chip &&
      !this.dispatchEvent(new CustomEvent("token", { detail: chip.textContent, cancelable: true }))
    )
      event.stopPropagation();
  }

  #jump({ set = {}, view, picked }) {
    const { now } = this.state;
    if (view && view !== now.view) return; // a lesson stays at its view
    this.state.set({ picked: picked || now.picked, options: { ...now.options, ...set } });
  }

  #show({ answer, ...news }) {
    if (news.notice || answer?.detail) this.#withdraw();
    this.hear(news);
    if (answer) this.#showAnswer(answer);
    this.#fill();
  }

  #showAnswer(answer) {
    if (answer.detail) this.stage.tell(answer.detail, "error");
    else if (answer.recorded) this.stage.tell(answer.recorded, "busy");
    else this.stage.silence();
    if (!answer.state) return;
    this.#checkpoint = answer.checkpoint ?? this.#checkpoint;
    this.showText(answer);
    if (answer.detail) return;
    this.answer = { ...answer, words: this.strip.words };
    this.start ??= this.state.link;
    this.stage.draw(answer);
    requestAnimationFrame(() => this.dispatchEvent(new CustomEvent("answered")));
  }

  /** There is no answer to this state: remove the one of before. */
  #withdraw() {
    this.answer = {};
    this.stage.blank();
  }

  #fill() {
    const { now } = this.state,
      view = this.schema.views[now.view];
    for (const [name, box] of Object.entries(this.boxes)) {
      const field = box.querySelector("textarea");
      box.hidden = name === "pair" && !now.pair && document.activeElement !== field;
      rewrite(field, now[name]);
    }
    this.showSettings(view, this.#checkpoint);
    this.settings.hidden = !view.settings.some((one) => !one.by_page);
    this.stage.question.textContent = view.question;
    this.stage.warning.textContent = view.note;
    this.back.hidden = !this.start || this.state.link === this.start;
    this.explore.href = `./${this.state.link}`;
    this.dispatchEvent(new CustomEvent("filled"));
  }
}
customElements.define("bx-view", View);
