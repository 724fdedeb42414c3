// <bx-explore>: the page that shows one text in many views. It draws the state of the page and the answers.
import "./exports.js";
import "./form.js";
import "./moment.js";
import "./nav.js";
import "./picker.js";
import "./stage.js";
import "./strip.js";
import { ask, unanswered } from "./backend.js";
import { checkpointsOf, hint } from "./comparing.js";
import { FileInUse } from "./file_in_use.js";
import { grow, h, onEnter, rewrite } from "./kit.js";
import { about, classDoor, masthead, teach, teachDoor } from "./masthead.js";
import { Own } from "./own.js";
import { Panel } from "./panel.js";
import { Presentation } from "./present.js";
import { settingsInQuery, withSetting } from "./settings.js";
import { State } from "./state.js";

const LONGEST_EXPECTED = 600; // characters of a text whose chips are drawn before the answer: the strip is no higher
const small = (label, id, onclick) => h("button", { type: "button", id, onclick }, label);
const box = (id, label, heard) =>
  h(
    "div",
    { id },
    h("label", { for: `${id}-box` }, label),
    h("textarea", {
      id: `${id}-box`,
      rows: 1,
      spellcheck: "false",
      dir: "auto",
      translate: "no",
      ...heard,
    }),
  );

class Explore extends Panel {
  /** @type {Own} */
  own;
  /** @type {Presentation} */
  presentation;
  /** @type {FileInUse} */
  file;
  #answer = {};

  /** Draw the page from its *schema*, and request the view that the address names. */
  open(schema) {
    this.schema = schema;
    this.presentation = new Presentation(this, {
      example: (by) => this.#nextExample(by),
      view: (by) => this.#nextView(by),
      redraw: () => this.stage.redraw(),
    });
    this.append(this.#top(), this.#nav(), this.#work(), about(schema.about, schema.site));
    addEventListener("resize", () => this.querySelectorAll("#workbench textarea").forEach(grow));
    this.nav.draw(schema.views, schema.doors, [classDoor(schema.site), teachDoor()]);
    this.picker.draw(schema.precisions, schema.site && !schema.several, schema.site);
    // 1. What the address names: a view, a text and a checkpoint.
    const { opening, views } = schema;
    const query = new URLSearchParams(location.search);
    const asked = query.get("view") ?? "";
    const view = Object.hasOwn(views, asked) ? asked : opening.view;
    const example = view === opening.view ? "" : views[view].examples[0].text;
    const text = query.get("text") ?? (example || opening.text);
    const named = query.get("checkpoint");
    const isBorrowed = named && named === views[view].checkpoint; // the view's, in place of the person's own
    this.own = new Own(schema, isBorrowed ? opening.checkpoint : (named ?? opening.checkpoint));
    if (history.state?.kept) this.own.kept = history.state.kept; // the page was loaded again
    // 2. What is shown until the answer arrives.
    this.state = new State(views, { ...opening, view, text }, (what) => this.#show(what), {
      beside: this.own,
    });
    const settings = settingsInQuery(query, this.state.defaults(view));
    this.state.keep({ options: { ...this.state.now.options, ...settings } });
    this.#fill();
    const typed = [text, this.state.now.pair || query.get("pair")].filter(Boolean);
    this.strip.expect(
      typed.map((one) => one.slice(0, LONGEST_EXPECTED)),
      this.view.press,
    );
    this.picker.show(this.state.now, null);
    // 3. The answer.
    this.state.open(location.search);
  }

  /** Whether the link opens in this browser only, as it names one of its owner's runs. */
  get #private() {
    const { now } = this.state;
    return [now.checkpoint, ...checkpointsOf(now)].some((name) => name.startsWith("run:"));
  }

  get view() {
    return this.schema.views[this.state.now.view];
  }

  #top() {
    this.picker = h("bx-picker", {
      onuse: ({ detail }) => this.#use(detail),
      onprecision: ({ detail }) => this.state.set({ precision: detail }),
    });
    return h("div", { id: "top" }, masthead(), this.picker);
  }

  #nav() {
    this.nav = h("bx-nav", {
      id: "nav",
      onview: ({ detail }) => this.#openView(detail),
      ondoor: ({ detail }) => {
        const nobodyTyped = this.#showsExample;
        this.#openView(detail);
        if (nobodyTyped) this.#example(this.view.examples[0]);
      },
    });
    return this.nav;
  }

  #work() {
    this.form = h("bx-form", {
      id: "forms",
      onset: ({ detail: { name, value, soon } }) =>
        this.state.set(
          { options: withSetting(this.view, this.state.now.options, name, value) },
          { soon },
        ),
    });
    return h("div", { id: "work" }, this.#bench(), this.#main(), this.form);
  }

  #bench() {
    const canAudit = "audit" in this.schema.views;
    this.file = new FileInUse(this, canAudit ? () => this.#openView("audit") : null);
    const typing = (name) => ({
      oninput: ({ target }) => {
        grow(target);
        this.own.changed();
        this.state.set({ [name]: target.value }, { soon: true });
      },
      onfocus: ({ target }) => {
        this.last = target;
      },
      onkeydown: onEnter(() => this.state.ask()),
    });
    this.text = box("text", "Your sentence", typing("text"));
    this.pair = box("pair", "Second sentence", typing("pair"));
    this.strip = h("bx-strip", { id: "strip", onpress: ({ detail }) => this.press(detail) });
    const actions = h(
      "div",
      { id: "actions" },
      small("Insert [MASK]", "do-insert", () => this.#insert()),
      small("Show all words", "do-unhide", () => this.state.set({ hidden: "", picked: "" })),
      small("Second sentence", "do-second", () => this.#second()),
      small("Compare", "do-compare", () => this.comparing.open()),
      this.file.buttons,
    );
    this.moment = h("bx-moment", {
      id: "moment",
      onmove: ({ detail }) => {
        this.own.checkpoint = detail;
        this.state.set({ checkpoint: detail });
      },
      onfetch: ({ detail }) => this.#use(detail),
    });
    this.examples = h("div", {
      id: "examples",
      class: "examples",
      role: "group",
      "aria-label": "Examples",
    });
    this.standIn = h("div", { id: "stand-in", role: "status" });
    return h(
      "section",
      { id: "workbench", "aria-label": "Text" },
      this.standIn,
      this.text,
      this.pair,
      this.strip,
      actions,
      this.file.line,
      this.#compare(),
      this.examples,
      this.moment,
    );
  }

  #compare() {
    this.comparing = h("bx-comparing", {
      id: "comparing",
      onagainst: ({ detail }) => {
        this.state.set({ against: detail });
        this.#fill();
      },
      onother: ({ detail }) => this.state.keep({ other: detail }),
      onask: () => this.state.ask(),
    });
    this.comparing.draw(this.schema.comparisons);
    return this.comparing;
  }

  #main() {
    this.stage = h("bx-stage", {
      "data-ids": true,
      onjump: ({ detail }) => this.#jump(detail),
      onstop: () => this.state.stop(),
      onopen: ({ detail }) => this.#open(detail),
      onall: () => this.#score(),
      onaside: () => this.#setAside(),
      onadd: ({ detail }) => this.#add(detail),
    });
    this.receipt = h("p", { class: "receipt" });
    this.exports = h("bx-exports", { id: "exports", role: "group", "aria-label": "Export" });
    this.exports.draw({
      onSite: this.schema.site,
      before: this.presentation.button,
      after: h("div", { id: "receipt" }, this.receipt),
      shown: () => ({
        answer: this.#answer,
        view: this.view,
        state: this.state,
        stage: this.stage,
        strip: this.strip,
        old: this.getAttribute("aria-busy") === "true",
        isPrivate: this.#private,
      }),
    });
    this.teaching = h("p", { id: "teaching" });
    return h(
      "section",
      { id: "main", "aria-label": "View" },
      this.stage,
      this.exports,
      this.teaching,
    );
  }

  // Actions of the user.

  /** Whether the text is an example as it was offered. */
  get #showsExample() {
    const { text, pair, hidden, picked } = this.own.of(this.state.now);
    const examples = Object.values(this.schema.views).flatMap((view) => view.examples);
    return (
      !hidden &&
      examples.some((one) => one.text === text && one.pair === pair && one.picked === picked)
    );
  }

  /** Open *view* with the person's own text and checkpoint. */
  #openView(view) {
    const { now, counted } = this.state,
      other = this.own.isAway(now),
      change = this.own.open(view, now);
    // the text in which the spans count: another one than before, if an example comes or goes
    const counts = other || this.own.isAway(change) ? change : counted;
    this.state.mark(change, { text: counts.text, pair: counts.pair });
    this.#fill();
  }

  /** Bring the person's text back, which an example stands in for. */
  #backToOwnText() {
    const change = this.own.back();
    if (!change) return;
    this.state.mark(change, { text: change.text, pair: change.pair });
    this.#fill();
  }

  #jump({ set = {}, view, picked, text, pair = "" }) {
    const { now } = this.state,
      to = view in this.schema.views ? view : now.view;
    const current = to === now.view ? now.options : this.state.defaults(to);
    const known = Object.entries(set).filter(([name]) => name in current);
    const asked = {
      view: to,
      picked: picked ?? now.picked,
      options: { ...current, ...Object.fromEntries(known) },
    };
    if (text === undefined) {
      if (to !== now.view) this.own.opens(to);
      this.state.set(asked, { step: known.length > 0 });
      return;
    }
    this.own.changed();
    this.state.mark({ ...asked, text, pair, hidden: "" }, { text, pair }); // picked spans count in the new text
    this.#fill();
  }

  /** The examples of the view that the checkpoint can answer. */
  get #examples() {
    const { kind } = this.#answer.checkpoint ?? {};
    return this.view.examples.filter((one) => !one.kind || one.kind === kind);
  }

  /** The next example of the view, or the one before it. */
  #nextExample(by) {
    const { view, text } = this.state.now;
    const examples = this.#examples;
    const count = examples.length;
    const shown = examples.findIndex((one) => one.text === text);
    const at = this.at?.view === view ? this.at.number : shown;
    let next = by > 0 ? 0 : count - 1; // unless one is shown
    if (at >= 0) next = (at + by + count) % count;
    this.#example(examples[next]);
  }

  /** The view after this one, or before it, in the order of the page; the text stays. */
  #nextView(by) {
    const names = Object.keys(this.schema.views);
    const next = (names.indexOf(this.state.now.view) + by + names.length) % names.length;
    this.#openView(names[next]);
  }

  #example(example) {
    const { text, pair, options, picked } = example;
    this.at = { view: this.state.now.view, number: this.#examples.indexOf(example) };
    if (this.#showsExample)
      this.own.changed(); // nobody typed what it stands in for
    else this.own.chosen();
    const about = this.view.text ? { text, pair, hidden: "", picked } : {};
    const counted = this.view.text ? { text, pair } : this.state.counted; // picked spans count in the example's text
    this.state.mark(
      { ...about, options: { ...this.state.defaults(this.state.now.view), ...options } },
      counted,
    );
    this.#fill();
  }

  /** Open *state*; fields that it does not name become empty. */
  #open(state) {
    this.own.changed();
    this.own.checkpoint = state.checkpoint ?? this.own.checkpoint;
    const empty = { pair: "", hidden: "", picked: "", against: "", other: "" };
    this.state.set({
      ...empty,
      ...state,
      options: { ...this.state.defaults(state.view), ...state.options },
    });
    this.stage.question.focus();
  }

  /** Score all rows of the suite in the background. */
  async #score() {
    const {
      checkpoint,
      precision,
      options: { suite, scoring, pairs, pairs_mean, rows },
    } = this.state.now;
    await this.#queue("suites", {
      checkpoint,
      precision,
      suite,
      scoring,
      pairs,
      pairs_mean,
      rows,
    });
  }

  /** Compute the view of the uploaded rows in the background, in place of the page. */
  async #setAside() {
    const { view, checkpoint, precision, options } = this.state.now;
    this.state.stop();
    await this.#queue("suites/view", { view, checkpoint, precision, options });
  }

  /** Begin a run, and say where it is. */
  async #queue(place, body) {
    const { status, answer } = await ask(place, { body }).catch(unanswered);
    if (status !== 202) {
      this.stage.tell(answer.detail);
      return;
    }
    const link = h("a", { href: `train?run=${answer.id}` }, "Train");
    this.stage.tell(["The run is in the list on the page ", link, "."], "busy");
  }

  /** Add what the text or the checkpoint lacks. */
  #add(what) {
    const { views, opening } = this.schema;
    const actions = {
      mask: () => this.#insert(),
      pair: () => this.#second(),
      head: () => this.#use(opening.checkpoint),
      tuned: () => this.#use(views.answer.checkpoint),
    };
    actions[what]();
  }

  #second() {
    this.pair.hidden = false;
    this.pair.querySelector("textarea").focus();
  }

  /** Insert [MASK] at the cursor of the most recently used box. */
  #insert() {
    const field =
      this.last?.isConnected && this.last.offsetParent
        ? this.last
        : this.text.querySelector("textarea");
    const before = field.value.slice(0, field.selectionStart);
    const after = field.value.slice(field.selectionEnd);
    const lead = before && !/\s$/.test(before) ? " " : "";
    const trail = after && !/^[\s.,;:!?]/.test(after) ? " " : "";
    const written = `${before}${lead}[MASK]${trail}`;
    field.value = written + after;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
    field.setSelectionRange(written.length, written.length);
  }

  /** Use the checkpoint *name*; the server downloads it first if necessary. */
  async #use(name) {
    this.wanted = name;
    this.stage.tell(`Looking for ${name}…`, "busy");
    const { precision, checkpoint } = this.state.now;
    const tell = (line) => {
      if (line.notice && this.wanted === name) this.stage.tell(line.notice, "busy");
    };
    const { status, answer } = await ask("checkpoints", { body: { name, precision }, tell });
    if (this.wanted !== name) return; // another one was chosen in the meantime
    if (status === 200) {
      this.own.checkpoint = name;
      await this.state.set({ checkpoint: name });
      return;
    }
    if (!this.#answer.checkpoint) {
      this.#useDefault(answer.detail);
      return;
    }
    this.stage.tell(`${answer.detail} Still using ${checkpoint}.`);
    this.picker.show(this.state.now, null);
  }

  /** Use the page's own checkpoint if the link's is unavailable. */
  async #useDefault(reason) {
    const { checkpoint, precision } = this.schema.opening;
    this.own.checkpoint = checkpoint;
    await this.state.set({ checkpoint, precision });
    // of the answer with the page's checkpoint
    const fault = this.classList.contains("unanswered") ? [...this.stage.message.children] : [];
    this.stage.tell(`${reason} Shown with ${checkpoint} instead.`, "error stands");
    this.stage.message.append(...fault);
  }

  // Display.

  #show({ answer, ...news }) {
    const refused = answer?.detail && news.status === 422 && answer.missing !== "checkpoint";
    const instead = refused && this.own.instead(answer.state ?? this.state.now, answer);
    if (instead) {
      const { text, pair } = instead.text === undefined ? this.state.counted : instead;
      this.state.mark(instead, { text, pair });
      return;
    }
    if (news.notice) this.#withdraw();
    this.hear(news);
    if (answer) this.#showAnswer(answer);
    if (news.busy) this.#fill();
  }

  #showAnswer(answer) {
    this.exports.offer((answer.state ?? this.state.now).view);
    if (answer.detail) this.#withdraw();
    if (
      answer.state &&
      !answer.checkpoint &&
      answer.state.checkpoint !== this.schema.opening.checkpoint
    ) {
      if (answer.missing === "checkpoint") this.#use(answer.state.checkpoint);
      else this.#useDefault(answer.detail);
      return;
    }
    const toType = hint(this.state.now, this.view);
    if (answer.state) this.#tellWhatStandsIn();
    if (answer.detail) this.stage.tell(answer.detail, "error", answer.missing);
    else if (answer.notice) this.stage.tell(answer.notice, "error stands");
    else if (answer.recorded) this.stage.tell(answer.recorded, "busy");
    else if (toType) this.stage.tell(toType, "busy");
    else this.stage.silence();
    if (!answer.state) {
      this.strip.fade();
      return;
    }
    this.#answer = { ...answer, checkpoint: answer.checkpoint ?? this.#answer.checkpoint };
    this.showText(answer);
    this.#fill();
    this.picker.show(this.state.now, answer.checkpoint);
    if (answer.detail) return;
    this.own.answered();
    this.classList.remove("unanswered");
    this.stage.draw(answer);
    this.stage.classList.remove("other");
    this.moment.answered();
    this.receipt.textContent = answer.receipt.short;
    this.receipt.dataset.whole = answer.receipt.whole;
    this.classList.toggle("framed", "document" in answer);
  }

  /** Say beside the text that it, or the checkpoint, is not the person's own. */
  #tellWhatStandsIn() {
    const use = (name) => {
      if (this.#showsExample) this.own.changed();
      this.#use(name);
    };
    const note = this.own.note(this.state.now, { back: () => this.#backToOwnText(), use });
    if (!note) {
      this.standIn.replaceChildren();
      return;
    }
    const [words, buttons] = note;
    const presses = buttons.map(([label, onclick]) =>
      h("button", { type: "button", onclick }, label),
    );
    const look = { class: "message busy stand-in", dir: "auto" };
    this.standIn.replaceChildren(h("p", look, h("span", {}, words), presses));
  }

  /** There is no answer to this state: remove the one of before, and what can be done with an answer. */
  #withdraw() {
    this.classList.add("unanswered");
    this.stage.blank();
    this.moment.stop();
    this.receipt.textContent = "";
  }

  /** Fill in the boxes, settings and texts of the state. */
  #fill() {
    const { now } = this.state,
      { view } = this;
    rewrite(this.text.querySelector("textarea"), now.text);
    rewrite(this.pair.querySelector("textarea"), now.pair);
    this.pair.hidden = !now.pair && document.activeElement !== this.pair.querySelector("textarea");
    const { series = [] } = this.#answer.checkpoint ?? {};
    this.comparing.show(now, view, series.length);
    this.stage.classList.toggle("other", this.stage.drawn !== "" && this.stage.drawn !== now.view);
    this.showSettings(view, this.#answer.checkpoint);
    this.file.show(view);
    this.moment.show(series, now.checkpoint);
    teach(this.teaching, this.schema, this.state);
    const offered = this.#examples;
    [...this.examples.querySelectorAll("button")].forEach((one, i) => {
      one.hidden = !offered.includes(view.examples[i]);
    });
    this.stage.aside.hidden = !view.as_run || !now.options.rows;
    if (this.dataset.view === now.view) return;
    this.dataset.view = now.view;
    this.nav.mark(now.view);
    this.stage.question.textContent = view.question;
    this.stage.warning.textContent = view.note;
    this.classList.toggle("textless", !view.text);
    this.examples.replaceChildren(
      h("span", {}, "Try"),
      ...view.examples.map((one, i) =>
        h(
          "button",
          {
            type: "button",
            class: "example",
            title: one.text,
            "data-example": i,
            onclick: () => this.#example(one),
          },
          one.label,
        ),
      ),
    );
  }
}
customElements.define("bx-explore", Explore);

const page = h("bx-explore", { class: "bx unanswered" });
document.querySelector("#explore").append(page);
ask("page").then(({ answer }) => page.open(answer));
