// A lecture in two windows of one browser, which tell each other what they show. <bx-lecture>: the screen, with one step at a
// time. <bx-desk>: what only the teacher sees: notes, the time, and the class.
import { openClass } from "./board.js";
import "./view.js";
import { ask } from "./backend.js";
import { h, render } from "./kit.js";
import { alone, FIELDS, leave, typeSize } from "./present.js";

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }; // keys, also those of a presenter's remote
const SEEN_MS = 4000; // for so long the buttons stay after the pointer has moved
const CLOCK = "bx-clock:"; // + slug -> when the lecture began, in the browser's storage
const TICK_MS = 1000,
  FORGOTTEN_MS = 6 * 3_600_000; // of the clock; how long after its beginning a lecture is another one

/** @import { Page } from "./types.d.ts" */

/** What both windows have: the lecture, the step, and the class that votes in it. */
class Half extends HTMLElement {
  at = 0; // the number of the step, from 0
  code = ""; // of the class, once it is open
  /** @type {Page} */
  schema;
  lessons; // their list
  link; // makes the address of a page of Learn
  checkpoint; // that answers; "" for the page's
  article; // makes the element of a lesson
  view; // makes the live view of a link
  /** @type {BroadcastChannel} */
  channel; // to the other window
  /** @type {(event: KeyboardEvent) => void} */
  keys;

  /** *page*: {schema, lessons, link, checkpoint, article, view} of Learn. */
  async open(page, lecture) {
    Object.assign(this, page);
    this.lecture = lecture;
    this.votes = lecture.steps.filter((step) => step.kind === "vote");
    const step = Number(new URLSearchParams(location.search).get("step") ?? 1);
    this.at = Number.isInteger(step) ? Math.min(Math.max(step, 1), lecture.steps.length) - 1 : 0;
    this.channel = new BroadcastChannel(`bx-lecture:${lecture.slug}`);
    this.channel.onmessage = ({ data }) => this.hear(data);
    this.keys = (event) => this.#press(event);
    document.addEventListener("keydown", this.keys);
    this.begin();
    const code = this.votes.length ? await openClass(lecture.slug, this.checkpoint) : "";
    if (code) this.setClass(code);
  }

  disconnectedCallback() {
    this.channel.close();
    this.board?.close();
    document.removeEventListener("keydown", this.keys);
    this.end();
  }

  /** Draw what this window shows, once. */
  begin() {}

  /** Show the step. */
  draw() {}

  /** The window closes. */
  end() {}

  get step() {
    return this.lecture.steps[this.at];
  }

  /** The question of the class that a *step* asks, from 0; null if it asks none. */
  questionOf(step) {
    return step.kind === "vote" ? this.votes.indexOf(step) : null;
  }

  titleOf(step) {
    const view = new URLSearchParams(step.view.split("?")[1]).get("view") ?? "";
    return step.title || this.schema.views[view]?.title || step.view;
  }

  /** Go to the step *at*, in both windows. */
  go(at) {
    if (at < 0 || at >= this.lecture.steps.length || at === this.at) return;
    this.channel.postMessage({ at });
    this.show(at);
  }

  show(at) {
    this.at = at;
    const query = new URLSearchParams(location.search);
    query.set("step", at + 1);
    history.replaceState(null, "", `${location.pathname}?${query}`);
    this.draw();
  }

  hear({ at, code }) {
    if (at !== undefined && at !== this.at) this.show(at);
    if (code !== undefined && code !== this.code) this.setClass(code);
  }

  setClass(code) {
    this.code = code;
    this.board?.close();
    this.board = code
      ? h("bx-board", { oncode: ({ target, detail }) => this.#changed(target, detail) })
      : null;
    this.board?.open(this.schema, code, this.lessons, this.link, this.role);
    this.draw();
  }

  /** The class of *board* has another *code*, or "" if it has ended, unless the other window has changed the code. */
  async #changed(board, code) {
    const now = code || (await openClass(this.lecture.slug, this.checkpoint));
    if (board !== this.board || now === this.code) return;
    this.channel.postMessage({ code: now });
    this.setClass(now);
  }

  /** The button that opens the class. */
  opener() {
    const problem = h("p", { class: "message error", role: "alert", hidden: true });
    const button = h(
      "button",
      {
        type: "button",
        class: "go",
        onclick: async () => {
          button.disabled = true;
          const { status, answer } = await ask("class", {
            body: {
              lecture: this.lecture.slug,
              ...(this.checkpoint && { checkpoint: this.checkpoint }),
            },
          });
          button.disabled = false;
          problem.textContent = answer.detail ?? "";
          problem.hidden = status === 200;
          if (status !== 200) return;
          this.channel.postMessage({ code: answer.code });
          this.setClass(answer.code);
        },
      },
      "Open the class",
    );
    return [button, problem];
  }

  #press(event) {
    const { key, target } = event;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.isComposing ||
      target.closest?.(FIELDS)
    )
      return;
    if (!STEPS[key]) return;
    event.preventDefault();
    this.go(this.at + STEPS[key]);
  }
}

class Screen extends Half {
  role = "screen";
  /** @type {() => void} */
  resized;
  /** @type {() => void} */
  release; // what this window alone shows
  #shown = {}; // id of a step -> its element, so that what was typed stays
  #timer = 0;

  begin() {
    const button = (words, onclick) => h("button", { type: "button", onclick }, words);
    this.back = button("← Back", () => this.go(this.at - 1));
    this.next = button("Next →", () => this.go(this.at + 1));
    this.count = h("span");
    this.bar = h(
      "nav",
      { class: "lecture-bar", "aria-label": "Lecture" },
      this.back,
      this.count,
      this.next,
      button("Teacher’s window", () => this.#openDesk()),
      button("Full screen", () => this.#fill()),
      h("a", { href: this.link({}) }, "End"),
    );
    this.place = h("div", { class: "lecture-step", tabindex: -1 });
    this.append(h("div", { class: "presenting lecture-stage" }, this.place), this.bar);
    this.release = alone(this);
    this.addEventListener("pointermove", () => this.#tell());
    this.resized = () => this.#size();
    addEventListener("resize", this.resized);
    this.#size();
    this.#tell();
    this.draw();
    this.channel.postMessage({ hello: true });
  }

  end() {
    removeEventListener("resize", this.resized);
    this.release();
    leave();
  }

  hear(said) {
    super.hear(said);
    if (said.desk !== undefined) this.classList.toggle("desked", said.desk);
  }

  async draw() {
    const { step } = this,
      content = await this.#content(step);
    if (step !== this.step) return; // another step was asked for meanwhile
    const moves =
      this.contains(document.activeElement) && !this.bar.contains(document.activeElement);
    this.board?.aim(this.questionOf(step));
    this.place.replaceChildren(
      ...(step.prompt.length ? [h("div", { class: "lecture-words" }, render(step.prompt))] : []),
      content,
    );
    this.place.dataset.kind = step.kind;
    this.count.textContent = `${this.at + 1} of ${this.lecture.steps.length}`;
    this.back.disabled = this.at === 0;
    this.next.disabled = this.at === this.lecture.steps.length - 1;
    this.place.parentElement.scrollTop = 0;
    if (moves) this.place.focus({ preventScroll: true });
  }

  async #content(step) {
    if (step.kind === "vote") {
      return (
        this.board ??
        h(
          "div",
          { class: "lecture-vote" },
          h("p", {}, "The class votes on this. Open the class, and phones join with a QR code."),
          this.opener(),
        )
      );
    }
    this.#shown[step.id] ??=
      step.kind === "lesson" ? await this.article(step.lesson) : this.view(step.view);
    return this.#shown[step.id];
  }

  #openDesk() {
    const query = new URLSearchParams(location.search);
    query.set("desk", "1");
    open(`${location.pathname}?${query}`, "bx-desk", "popup,width=900,height=900");
  }

  #fill() {
    document.documentElement.requestFullscreen?.().catch(() => {});
  }

  #size() {
    this.style.setProperty("--type", typeSize().toFixed(2));
  }

  /** Show the buttons for some seconds. */
  #tell() {
    this.classList.add("seen");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.classList.remove("seen"), SEEN_MS);
  }
}
customElements.define("bx-lecture", Screen);

class Desk extends Half {
  role = "desk";
  /** @type {() => void} */
  leaving;
  #beganHere = 0; // when the lecture began, if the browser stores nothing

  begin() {
    this.clock = h("p", { class: "clock" });
    this.notes = h("section", { class: "desk-step", "aria-label": "This step" });
    this.room = h("section", { class: "desk-class", "aria-label": "The class" });
    this.plan = h("ol", { class: "desk-plan" });
    const restart = h(
      "button",
      {
        type: "button",
        class: "quiet",
        onclick: () => {
          this.#start(Date.now());
          this.#tick();
        },
      },
      "Begin the time now",
    );
    const { lecture } = this;
    this.append(
      h(
        "header",
        { class: "masthead" },
        h("h1", {}, lecture.title),
        h("div", { class: "row" }, this.clock, restart),
      ),
      ...lecture.problems.map((words) =>
        h("p", { class: "message error" }, `A step of this lecture is left out. ${words}`),
      ),
      h(
        "div",
        { class: "desk-columns" },
        h("div", { class: "desk-main" }, this.notes, this.room),
        h("aside", {}, h("h2", {}, "Plan"), this.plan),
      ),
    );
    this.timer = setInterval(() => this.#tick(), TICK_MS);
    this.leaving = () => this.channel.postMessage({ desk: false });
    addEventListener("pagehide", this.leaving);
    this.channel.postMessage({ desk: true });
    this.draw();
    this.#tick();
  }

  end() {
    clearInterval(this.timer);
    removeEventListener("pagehide", this.leaving);
  }

  hear(said) {
    super.hear(said);
    if (said.hello) this.channel.postMessage({ desk: true, at: this.at, code: this.code });
    if (said.desk === false) this.channel.postMessage({ desk: true }); // this one is still there
  }

  draw() {
    const {
        step,
        lecture: { steps, opening },
      } = this,
      next = steps[this.at + 1];
    const button = (words, by, kind) =>
      h(
        "button",
        {
          type: "button",
          class: kind,
          disabled: !steps[this.at + by],
          onclick: () => this.go(this.at + by),
        },
        words,
      );
    const main = step.kind === "vote" ? "quiet" : "go"; // at a vote, the button that moves the class on stands out
    this.notes.replaceChildren(
      h("p", { class: "hint" }, `Step ${this.at + 1} of ${steps.length} · ${step.minutes} min`),
      h("h2", {}, this.titleOf(step)),
      h("div", { class: "words" }, this.at === 0 ? render(opening) : "", render(step.notes)),
      h("div", { class: "row" }, button("← Back", -1, "quiet"), button("Next →", 1, main)),
      next ? h("p", { class: "hint" }, `Next: ${this.titleOf(next)}`) : "",
    );
    this.plan.replaceChildren(
      ...steps.map((one, i) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              "aria-current": i === this.at ? "step" : null,
              onclick: () => this.go(i),
            },
            this.titleOf(one),
            h("span", {}, `${one.minutes} min`),
          ),
        ),
      ),
    );
    if (!this.votes.length) return;
    this.board?.aim(this.questionOf(step));
    if (this.room.firstChild !== this.board || !this.board) {
      this.room.replaceChildren(
        ...(this.board
          ? [this.board]
          : [h("p", {}, "The class is not open yet."), ...this.opener()]),
      );
    }
  }

  get #began() {
    let began = this.#beganHere;
    try {
      began = Number(localStorage.getItem(CLOCK + this.lecture.slug)) || 0;
    } catch {
      /* as long as the window is open */
    }
    return Date.now() - began < FORGOTTEN_MS ? began : 0;
  }

  #start(now) {
    this.#beganHere = now;
    try {
      localStorage.setItem(CLOCK + this.lecture.slug, now);
    } catch {
      /* until the window is closed */
    }
  }

  /** The time since the lecture began, beside the plan. */
  #tick() {
    const {
      lecture: { steps, minutes },
    } = this;
    const began = this.#began;
    const planned = steps.slice(0, this.at + 1).reduce((sum, step) => sum + step.minutes, 0);
    const passed = Math.floor((Date.now() - began) / 60_000);
    this.clock.textContent = began
      ? `${passed} of ${minutes} min · this step should end at ${planned}`
      : `${minutes} min planned`;
    this.clock.classList.toggle("late", Boolean(began) && passed > planned);
  }
}
customElements.define("bx-desk", Desk);
