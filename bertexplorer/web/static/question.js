// <bx-question>: one question of a lesson: its prompt, the learner's answer, the server's feedback and the live view. Its
// record is {answer, attempt, said}, with a draft while somebody writes; it fires "record" whenever the record changes,
// "draft" if only the draft does.
import { unanswered } from "./backend.js";
import { ATTEMPTS, BUTTONS, verdict } from "./grading.js";
import { en, h, render } from "./kit.js";
import { readNumber } from "./number.js";
import { sum } from "./numbers.js";
import { fieldsOf } from "./question_fields.js";

const FIRST = new Set(["find", "click"]); // questions whose view comes first
const WRITTEN = new Set(["number", "say"]); // questions with a field to write in
const PATIENCE_MS = 700; // after that the page says that it is still computing

class Question extends HTMLElement {
  /** @type {HTMLInputElement[]} */
  inputs;
  /** @type {() => any} */
  reveal; // makes the view of the question, once
  record = {};
  view = null; // the live view, once it was revealed

  /** Draw a *part* of a lesson. *judge* asks the server; *reveal* returns the live view; *record*: the earlier answer. */
  open(part, { judge, reveal, record = {}, number }) {
    this.block = part;
    this.judge = judge;
    this.record = record;
    this.reveal = () => {
      this.view ??= reveal(this.record.link ?? part.link);
      return this.view;
    };
    this.id = part.id;
    this.legend = h(
      "legend",
      {},
      en("span", { class: "count" }, `Question ${number}`),
      render(part.prompt),
    );
    this.fields = h("fieldset", {}, this.legend, this.#controls());
    this.button = en(
      "button",
      { type: "submit", class: "go", hidden: !BUTTONS[part.kind] },
      BUTTONS[part.kind],
    );
    this.feedback = h("div", { class: "feedback", role: "status", tabindex: -1 });
    this.place = h("div", { class: "place" });
    const form = h(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          this.#send();
        },
      },
      this.fields,
    );
    if (FIRST.has(part.kind)) form.append(this.place, this.button, this.feedback);
    else form.append(this.button, this.feedback, this.place);
    if (part.class) {
      form.append(
        en(
          "button",
          {
            type: "button",
            class: "ask",
            title: "Opens a class that begins with this question",
            onclick: () => this.dispatchEvent(new CustomEvent("ask")),
          },
          "Ask it in class",
        ),
      );
    }
    this.append(form);
  }

  /** Called when this is the last visible question. */
  start() {
    if (this.started) return;
    this.started = true;
    if (FIRST.has(this.block.kind)) this.#showView();
    if (this.record.said) this.#showFeedback();
  }

  get done() {
    return Boolean(this.record.said?.done);
  }

  #controls() {
    const { inputs, element } = fieldsOf(this.block);
    this.inputs = inputs;
    if (WRITTEN.has(this.block.kind)) this.#keepDraft(inputs[0]);
    if (this.block.kind !== "share") return element;
    this.rest = en("p", { class: "hint", role: "status" }, "All 100 points are shared out.");
    for (const one of inputs) one.addEventListener("input", () => this.#updateRest());
    return [element, this.rest];
  }

  /** Keep what is written in *field*, and show what was written before. */
  #keepDraft(field) {
    field.value = this.record.draft ?? "";
    field.addEventListener("input", () => {
      this.record.draft = field.value;
      this.dispatchEvent(new CustomEvent("draft", { bubbles: true }));
    });
  }

  #updateRest() {
    const left = 100 - sum(this.#points());
    let words = "All 100 points are shared out.";
    if (left > 0) words = `${left} points left.`;
    if (left < 0) words = `${-left} points too many.`;
    this.rest.textContent = words;
  }

  #points() {
    return this.inputs.map((one) => Number(one.value) || 0);
  }

  #showView() {
    const view = this.reveal();
    if (this.block.kind === "find") view.below = [this.button, this.feedback];
    if (!view.isConnected) this.place.replaceChildren(view);
    if (this.block.kind === "click") {
      view.addEventListener("token", (event) => {
        if (!this.done) {
          event.preventDefault();
          this.#send(event.detail);
        }
      });
    }
  }

  #readAnswer() {
    const { kind } = this.block,
      chosen = this.inputs.find((one) => one.checked);
    if (kind === "predict" || kind === "choice") return chosen ? Number(chosen.value) : undefined;
    if (kind === "share") return this.#points();
    if (kind === "find") return null;
    return this.inputs[0].value;
  }

  async #send(token) {
    const answer = token ?? this.#readAnswer();
    if (answer === undefined) {
      this.#showError("Choose one first.");
      return;
    }
    const attempt = (this.record.attempt ?? 0) + 1;
    const request = { answer, attempt };
    /** @type {any} */
    const focused = document.activeElement;
    if (this.block.kind === "find") request.state = this.reveal().state.now;
    this.button.disabled = true;
    const waiting = setTimeout(
      () => this.feedback.replaceChildren(en("p", { class: "hint" }, "Computing…")),
      PATIENCE_MS,
    );
    const { status, answer: said } = await this.judge(this.block.id, request).catch(unanswered);
    clearTimeout(waiting);
    this.button.disabled = false;
    if (status !== 200) {
      this.#showError(said.detail);
      return;
    }
    this.record = { answer, attempt, said };
    if (request.state) this.record.link = this.reveal().state.link;
    this.#saveRecord();
    this.#showFeedback();
    // a disabled field loses the focus
    if (!this.contains(focused)) return;
    const isDisabled = this.button.hidden && !focused?.closest("bx-view");
    if (isDisabled) this.feedback.focus();
    else focused?.focus();
  }

  #saveRecord() {
    this.dispatchEvent(new CustomEvent("record", { bubbles: true }));
  }

  #showError(words) {
    this.feedback.replaceChildren(en("p", { class: "message error" }, words));
  }

  /** Show the feedback of the record. */
  #showFeedback() {
    const { kind, choices } = this.block;
    const { answer, attempt, said } = this.record;
    this.#restore(this.record.draft ?? answer);
    this.dataset.right = said.right === null ? "" : String(said.right);
    // 1. The verdict, what was found, and the answer.
    const judged = verdict(kind, said);
    const lines = [];
    if (kind === "predict")
      lines.push(h("p", {}, en("span", {}, judged), h("strong", {}, render(said.answer))));
    else if (judged) lines.push(en("p", { class: "verdict" }, judged));
    if (said.found?.length)
      lines.push(
        h(
          "ul",
          { class: "found" },
          said.found.map((one) => h("li", {}, render(one))),
        ),
      );
    if (said.text.length) lines.push(h("div", {}, render(said.text)));
    if (said.done && kind === "number") {
      lines.push(
        en(
          "p",
          {},
          "The answer: ",
          h("strong", {}, render(said.answer)),
          `. You: ${asTyped(answer, said.answer)}.`,
        ),
      );
    }
    if (said.done && kind === "choice" && !said.right) {
      lines.push(h("p", {}, en("span", {}, "The answer: "), h("strong", {}, render(said.answer))));
    }
    if (kind === "find" && said.answer.length) {
      lines.push(
        en("p", {}, "One that works: ", h("em", { translate: "no" }, render(said.answer))),
      );
    }
    if (kind === "say") {
      lines.push(
        h("p", {}, en("strong", {}, "A model answer: "), render(said.answer)),
        en("p", {}, "Tick what your answer does. It …"),
        h(
          "ul",
          { class: "criteria" },
          said.criteria.map((one, i) =>
            h("li", {}, h("label", {}, this.#tick(i), h("span", {}, render(one)))),
          ),
        ),
      );
    }
    if (kind === "share") lines.push(shares(choices, answer, said.shares));
    if (said.after.length) lines.push(h("div", { class: "after" }, render(said.after)));
    if (!said.done && kind !== "find")
      lines.push(en("p", { class: "hint" }, `Attempt ${attempt} of ${ATTEMPTS}.`));
    this.feedback.replaceChildren(...lines);
    // 2. A question that is done takes no other answer, and shows its view.
    if (!said.done) return;
    this.classList.add("done");
    if (kind !== "find") {
      this.fields.disabled = true;
      this.button.hidden = true;
    }
    if (this.block.link && !FIRST.has(kind)) this.#showView();
  }

  /** The checkbox of a criterion; the record stores its state. */
  #tick(i) {
    return h("input", {
      type: "checkbox",
      checked: Boolean(this.record.met?.includes(i)),
      onchange: ({ target }) => {
        const others = (this.record.met ?? []).filter((one) => one !== i);
        this.record.met = target.checked ? [...others, i] : others;
        this.#saveRecord();
      },
    });
  }

  #restore(answer) {
    this.inputs.forEach((one, i) => {
      if (one.type === "radio") one.checked = Number(one.value) === answer;
      else if (Array.isArray(answer)) one.value = answer[i];
      else if (typeof answer === "string") one.value = answer;
    });
  }
}
customElements.define("bx-question", Question);

/** A typed number as the question takes it: in per cent, where *key*, the answer shown, is. */
function asTyped(typed, key) {
  if (!String(key).endsWith("%")) return typed;
  const share = readNumber(typed, parseFloat(key) / 100, true) ?? NaN;
  return `${Math.round(10_000 * share) / 100} %`;
}

/** Two bars for each choice: the learner's points, and the checkpoint's share. */
function shares(choices, points, values) {
  const bar = (who, share) => {
    const element = h("span", { class: `bar ${who}` });
    element.style.setProperty("--share", share);
    const name = who === "mine" ? "You" : "BERT";
    const value = h("span", { class: "value" }, `${name} ${Math.round(100 * share)} %`);
    return h("span", { class: "track" }, element, value);
  };
  return h(
    "ul",
    { class: "shares" },
    choices.map((words, i) =>
      h(
        "li",
        {},
        h("span", { class: "label" }, render(words)),
        bar("mine", points[i] / 100),
        bar("theirs", values[i]),
      ),
    ),
  );
}
