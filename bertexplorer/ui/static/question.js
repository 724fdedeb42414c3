// <bx-question>: one question of a lesson: asked, answered, judged by the server, and shown with the live view. What it shows
// is kept as one record, {answer, attempt, said}; fires "record" whenever that changes.
import { drawn, h } from "./kit.js";

const LABELS = { predict: "Lock in my guess", choice: "Check", number: "Check", find: "Check", click: "", say: "Compare with a model answer", share: "Lock in my points" };
const FIRST = new Set(["find", "click"]);  // questions that one works on in the view
const ATTEMPTS = 2;

class Question extends HTMLElement {
  record = {};

  /** Draw *part* of a lesson; *judge* asks the server, *reveal* gives the live view; *record*: what was answered before. */
  open(part, { judge, reveal, record = {}, number }) {
    Object.assign(this, { block: part, judge, record });
    this.reveal = () => { this.view ??= reveal(this.record.link ?? part.link); return this.view; };
    this.id = part.id;
    this.legend = h("legend", {}, h("span", { class: "count" }, `Question ${number}`), drawn(part.prompt));
    this.fields = h("fieldset", {}, this.legend, this.#controls());
    this.button = h("button", { type: "submit", class: "go", hidden: !LABELS[part.kind] }, LABELS[part.kind]);
    this.feedback = h("div", { class: "feedback", role: "status", tabindex: -1 });
    this.place = h("div", { class: "place" });
    const form = h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); this.#send(); } }, this.fields);
    if (FIRST.has(part.kind)) form.append(this.place, this.button, this.feedback);
    else form.append(this.button, this.feedback, this.place);
    this.append(form);
  }

  /** It is its turn: nothing that comes later is on the screen. */
  start() {
    if (this.started) return;
    this.started = true;
    if (FIRST.has(this.block.kind)) this.#look();
    if (this.record.said) this.#shown();
  }

  get done() { return Boolean(this.record.said?.done); }

  #controls() {
    const { kind, id, choices = [] } = this.block;
    if (kind === "predict" || kind === "choice") {
      this.inputs = choices.map((_, i) => h("input", { type: "radio", name: id, value: i }));
      return h("div", { class: "answers" }, choices.map((words, i) => h("label", {}, this.inputs[i], h("span", {}, drawn(words)))));
    }
    if (kind === "number") {
      this.inputs = [h("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": "Your estimate" })];
      return h("div", { class: "answers" }, this.inputs);
    }
    if (kind === "say") {
      this.inputs = [h("textarea", { rows: 3, "aria-label": "In your words" })];
      return h("div", { class: "answers" }, this.inputs);
    }
    if (kind === "share") {
      const even = Math.floor(100 / choices.length);
      this.inputs = choices.map((_, i) => h("input", { type: "number", min: 0, max: 100, step: 1, value: i ? even : 100 - even * (choices.length - 1), oninput: () => this.#left() }));
      this.rest = h("p", { class: "hint", role: "status" }, "All 100 points are shared out.");
      return [h("div", { class: "answers points" }, choices.map((words, i) => h("label", {}, this.inputs[i], h("span", {}, drawn(words))))), this.rest];
    }
    this.inputs = [];
    return null;
  }

  #left() {
    const left = 100 - this.#points().reduce((sum, one) => sum + one, 0);
    this.rest.textContent = left ? (left > 0 ? `${left} points left.` : `${-left} points too many.`) : "All 100 points are shared out.";
  }

  #points() { return this.inputs.map((one) => Number(one.value) || 0); }

  #look() {
    const view = this.reveal();
    if (!view.isConnected) this.place.replaceChildren(view);
    if (this.block.kind === "click") view.addEventListener("token", (event) => { if (!this.done) { event.preventDefault(); this.#send(event.detail); } });
  }

  #given() {
    const { kind } = this.block, chosen = this.inputs.find((one) => one.checked);
    if (kind === "predict" || kind === "choice") return chosen ? Number(chosen.value) : undefined;
    if (kind === "share") return this.#points();
    if (kind === "find") return null;
    return this.inputs[0].value;
  }

  async #send(token) {
    const answer = token ?? this.#given();
    if (answer === undefined) { this.#tell("Choose one first."); return; }
    const attempt = (this.record.attempt ?? 0) + 1, asked = { answer, attempt }, focused = document.activeElement;
    if (this.block.kind === "find") asked.state = this.reveal().state.now;
    this.button.disabled = true;
    const { status, answer: said } = await this.judge(this.block.id, asked).catch((error) => ({ status: 0, answer: { detail: error.message } }));
    this.button.disabled = false;
    if (status !== 200) { this.#tell(said.detail); return; }
    this.record = { answer, attempt, said, ...(asked.state && { link: this.reveal().state.link }) };
    this.#keep();
    this.#shown();
    if (this.contains(focused)) (this.button.hidden && !focused.closest("bx-view") ? this.feedback : focused).focus();  // what is disabled loses it
  }

  #keep() { this.dispatchEvent(new CustomEvent("record", { bubbles: true })); }

  #tell(words) { this.feedback.replaceChildren(h("p", { class: "message error" }, words)); }

  /** What the record says. */
  #shown() {
    const { kind, choices } = this.block, { answer, attempt, said } = this.record;
    this.#restore(answer);
    this.dataset.right = said.right === null ? "" : String(said.right);
    const lines = [];
    if (kind === "predict") lines.push(h("p", {}, said.right ? "As you guessed: " : "Not as you guessed: ", h("strong", {}, drawn(said.answer))));
    else if (said.right !== null) lines.push(h("p", { class: "verdict" }, said.right ? "Right." : said.done ? "Not quite." : "Not yet."));
    if (said.text.length) lines.push(h("div", {}, drawn(said.text)));
    if (said.done && kind === "number") lines.push(h("p", {}, "The answer: ", h("strong", {}, drawn(said.answer)), `. You: ${answer}.`));
    if (said.done && kind === "choice" && !said.right) lines.push(h("p", {}, "The answer: ", h("strong", {}, drawn(said.answer))));
    if (kind === "find" && !said.done && said.answer.length) lines.push(h("p", {}, "One that works: ", h("em", { translate: "no" }, drawn(said.answer))));
    if (kind === "say") lines.push(h("p", {}, h("strong", {}, "A model answer: "), drawn(said.answer)), h("p", {}, "Tick what your answer does. It …"), h("ul", { class: "criteria" }, said.criteria.map((one, i) => h("li", {}, h("label", {}, this.#tick(i), h("span", {}, drawn(one)))))));
    if (kind === "share") lines.push(shares(choices, answer, said.shares));
    if (said.after.length) lines.push(h("div", { class: "after" }, drawn(said.after)));
    if (!said.done && kind !== "find") lines.push(h("p", { class: "hint" }, `Attempt ${attempt} of ${ATTEMPTS}.`));
    this.feedback.replaceChildren(...lines);
    if (!said.done) return;
    this.classList.add("done");
    if (kind !== "find") { this.fields.disabled = true; this.button.hidden = true; }
    if (this.block.link && !FIRST.has(kind)) this.#look();
  }

  /** The box of a criterion: what is ticked is kept. */
  #tick(i) {
    return h("input", { type: "checkbox", checked: Boolean(this.record.met?.includes(i)), onchange: ({ target }) => {
      const others = (this.record.met ?? []).filter((one) => one !== i);
      this.record.met = target.checked ? [...others, i] : others;
      this.#keep();
    } });
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

/** Two bars for each choice: the points that were given, and the checkpoint's share. */
function shares(choices, points, values) {
  const bar = (who, share) => {
    const made = h("span", { class: `bar ${who}` });
    made.style.setProperty("--share", share);
    return h("span", { class: "track" }, made, h("span", { class: "value" }, `${who === "mine" ? "You" : "BERT"} ${Math.round(100 * share)} %`));
  };
  return h("ul", { class: "shares" }, choices.map((words, i) => h("li", {}, h("span", { class: "label" }, drawn(words)), bar("mine", points[i] / 100), bar("theirs", values[i]))));
}
