// <bx-explore>: the page on which one text is looked at in many views. It draws the state of the page and the answers.
import "./figure.js";
import "./form.js";
import "./nav.js";
import "./picker.js";
import "./strip.js";
import { throttled } from "./form.js";
import { h, post, save } from "./kit.js";
import { picture } from "./picture.js";
import { State } from "./state.js";

const OTHER = {
  "another checkpoint": "Type the name of the other checkpoint, and press Enter.",
  "another text": "Type the other text, and press Enter.",
};
const ADDS = { mask: "Insert [MASK]", pair: "Add a second sentence" };
const LONG_NAME = 80, SHOWN_MS = 1500;
const small = (label, id, onclick) => h("button", { type: "button", id, onclick }, label);
const box = (id, label, heard) => h("div", { id }, h("label", { for: `${id}-box` }, label), h("textarea", { id: `${id}-box`, rows: 1, spellcheck: "false", dir: "auto", ...heard }));

class Explore extends HTMLElement {
  #drawn = "";  // the view whose figure is on the screen
  #texts = { text: "", pair: "" };  // of the answer on the screen
  #answer = {};

  /** Draw the page from its *schema* and ask for what its address names. */
  open(schema) {
    this.schema = schema;
    this.append(this.#top(), this.#work(), about(schema.about));
    this.nav.draw(schema.views);
    this.picker.draw(schema.precisions);
    const asked = new URLSearchParams(location.search).get("text");
    this.state = new State(schema.views, { ...schema.opening, text: asked ?? schema.opening.text }, (what) => this.#show(what));
    this.#fill();
    this.state.open(location.search);
  }

  get view() { return this.schema.views[this.state.now.view]; }

  #top() {
    this.picker = h("bx-picker", { onuse: ({ detail }) => this.#use(detail), onprecision: ({ detail }) => this.state.set({ precision: detail }) });
    const name = h("header", { class: "masthead" }, h("h1", {}, "BERT Explorer"), h("p", {}, "Type a sentence. See how BERT reads it."));
    return h("div", { id: "top" }, name, this.picker);
  }

  #work() {
    this.nav = h("bx-nav", { id: "nav", onview: ({ detail }) => this.state.set({ view: detail }) });
    this.form = h("bx-form", { id: "forms", onset: ({ detail: { name, value } }) => this.state.set({ options: { ...this.state.now.options, [name]: value } }) });
    return h("div", { id: "work" }, this.#bench(), this.#stage(), this.form);
  }

  #bench() {
    const later = throttled((change) => this.state.set(change));
    const typing = (name) => {
      const change = (event) => { grow(event.target); return { [name]: event.target.value }; };
      return { oninput: (event) => later(change(event)), onblur: () => later.now(), onfocus: (event) => { this.last = event.target; } };
    };
    this.text = box("text", "Your sentence", typing("text"));
    this.pair = box("pair", "Second sentence", typing("pair"));
    this.strip = h("bx-strip", { id: "strip", onpress: ({ detail }) => this.#press(detail) });
    this.file = h("input", { type: "file", id: "lines", hidden: true, accept: ".txt,.csv,.tsv", onchange: () => this.#upload() });
    this.upload = small("Upload lines", "do-upload", () => this.file.click());
    const actions = h("div", { id: "actions" },
      small("Insert [MASK]", "do-insert", () => this.#insert()),
      small("Show all words", "do-unhide", () => this.state.set({ hidden: "", picked: "" })),
      small("Second sentence", "do-second", () => { this.pair.hidden = false; this.pair.querySelector("textarea").focus(); }),
      small("Compare", "do-compare", () => { this.comparing.hidden = false; this.comparing.querySelector("input").focus(); }),
      this.upload, this.file);
    this.examples = h("div", { id: "examples", class: "examples", role: "group", "aria-label": "Examples" });
    return h("section", { id: "workbench", "aria-label": "Text" }, this.text, this.pair, this.strip, actions, this.#compare(), this.examples, this.#training());
  }

  #compare() {
    this.against = this.schema.comparisons.map((one) => h("input", { type: "radio", name: "against", value: one, onchange: () => this.#set_against(one) }));
    this.other = box("other", "Name of the checkpoint, or the other text", {
      onchange: (event) => this.state.set({ other: event.target.value }),
      onkeydown: (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); event.target.blur(); } },
    });
    this.comparing = h("div", { id: "comparing" }, h("fieldset", { id: "against" }, h("legend", {}, "Compare with"),
      h("div", { class: "choices" }, this.against.map((one) => h("label", {}, one, " ", one.value || "nothing")))), this.other);
    return this.comparing;
  }

  #training() {
    this.moment = h("input", { type: "range", id: "moment-at", min: 0, step: 1, oninput: () => this.#move() });
    this.training = h("div", { id: "moment", class: "setting" }, h("label", { for: "moment-at" }, "Training"), this.moment);
    return this.training;
  }

  #stage() {
    this.question = h("h2");
    this.message = h("div", { id: "message" });
    const jumps = { onjump: ({ detail }) => this.#jump(detail) };
    this.figure = h("bx-figure", { id: "figure", ...jumps });
    this.theirs = h("bx-figure", jumps);
    this.difference = h("bx-figure", { id: "difference", ...jumps });
    this.ours = h("h3", { class: "beside" });
    this.named = h("h3", { class: "beside" });
    this.bar = h("progress", { max: 1, "aria-label": "Progress" });
    this.left = h("span");
    this.way = h("div", { id: "under-way", role: "status", hidden: true }, this.bar, this.left, small("Stop", "do-stop", () => this.state.stop()));
    this.caption = h("div", { id: "caption" }, h("p", { class: "said", role: "status", dir: "auto" }),
      h("details", { class: "misread" }, h("summary", {}, "How not to misread this"), h("p")));
    this.beside = h("div", { id: "beside", class: "column" }, this.named, this.theirs, h("p", { class: "said", dir: "auto" }));
    this.receipt = h("p", { class: "receipt" });
    const kinds = ["PNG", "SVG", "HTML", "CSV", "JSON", "Python", "Link"];
    const exports = kinds.map((kind) => small(kind, `export-${kind.toLowerCase()}`, (event) => this.#export(kind.toLowerCase(), event.target)));
    return h("section", { id: "main", "aria-label": "View" }, this.nav, h("div", { id: "question" }, this.question), this.message,
      h("div", { id: "stage" }, h("div", { class: "column" }, this.ours, this.way, this.figure, this.caption), this.beside),
      this.difference, h("div", { id: "exports", role: "group", "aria-label": "Export" }, exports, h("div", { id: "receipt" }, this.receipt)));
  }

  // What a person does.

  #press(detail) {
    if (detail.fill) this.state.ask({ fill: detail.fill });
    else this.state.mark(detail, this.#texts);
  }

  #set_against(against) {
    this.state.set({ against });
    this.#fill();
    if (OTHER[against] && !this.state.now.other.trim()) this.#tell(OTHER[against], "busy");
  }

  #move() {
    const [name, label] = this.#answer.checkpoint.series[this.moment.value];
    this.training.firstChild.textContent = `Training: ${label.split(", ").at(-1)}`;
    this.state.set({ checkpoint: name });
  }

  #jump({ set = {}, view, picked }) {
    const { now } = this.state, to = view in this.schema.views ? view : now.view;
    const held = to === now.view ? now.options : this.state.defaults(to);
    const known = Object.entries(set).filter(([name]) => name in held);
    this.state.set({ view: to, picked: picked || now.picked, options: { ...held, ...Object.fromEntries(known) } });
  }

  #example({ text, pair, options, picked }) {
    this.state.set({ text, pair, hidden: "", picked, options: { ...this.state.defaults(this.state.now.view), ...options } });
    this.#fill();
  }

  /** Put [MASK] where the cursor is, in the box that was typed in last. */
  #insert() {
    const field = this.last?.isConnected && this.last.offsetParent ? this.last : this.text.querySelector("textarea");
    const before = field.value.slice(0, field.selectionStart), after = field.value.slice(field.selectionEnd);
    const mask = (before && !/\s$/.test(before) ? " " : "") + "[MASK]" + (after && !/^[\s.,;:!?]/.test(after) ? " " : "");
    field.value = before + mask + after;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
    field.setSelectionRange(before.length + mask.length, before.length + mask.length);
  }

  async #upload() {
    const form = new FormData();
    form.append("file", this.file.files[0]);
    this.file.value = "";
    this.#tell("Reading the lines…", "busy");
    const { status, answer } = await post("api/v1/lines", form).catch((error) => ({ status: 0, answer: { detail: error.message } }));
    if (status !== 200) { this.#tell(answer.detail); return; }
    await this.state.set({ options: { ...this.state.now.options, lines: answer.lines } });
    if (!this.message.firstChild) this.#tell(answer.told, "busy");
  }

  /** Take the checkpoint *name*, brought to the server's disk first where it is not there. */
  async #use(name) {
    this.wanted = name;
    this.#tell(`Looking for ${name}…`, "busy");
    const { precision, checkpoint } = this.state.now;
    const tell = (line) => { if (line.told && this.wanted === name) this.#tell(line.told, "busy"); };
    const { status, answer } = await post("api/v1/checkpoints", { name, precision }, { tell });
    if (this.wanted !== name) return;  // another was chosen meanwhile
    if (status === 200) { await this.state.set({ checkpoint: name }); return; }
    this.#tell(`${answer.detail} Still using ${this.#answer.checkpoint ? checkpoint : this.schema.opening.checkpoint}.`);
    if (!this.#answer.checkpoint) {  // the page opened with a link to it
      const told = this.message.textContent;
      await this.state.set({ checkpoint: this.schema.opening.checkpoint, precision: this.schema.opening.precision });
      this.#tell(told, "error stands");
    } else this.picker.show(this.state.now, null);
  }

  async #export(kind, button) {
    const say = (words) => { const { textContent } = button; button.textContent = words; setTimeout(() => { button.textContent = textContent; }, SHOWN_MS); };
    const { view } = this.state.now, blob = (content, type) => URL.createObjectURL(new Blob([content], { type }));
    if (kind === "link") {
      try { await navigator.clipboard.writeText(location.href); say("Copied"); } catch { prompt("Copy this link", location.href); }
    } else if (kind === "html") save(`${view}.html`, blob(this.#answer.document, "text/html"));
    else if (["png", "svg"].includes(kind)) {
      if (!this.figure.figure || this.classList.contains("wrong")) { say("Nothing to save"); return; }
      const { read, picked } = this.strip.words, { text, pair } = this.state.now;
      const above = [text, pair, read && `Read as: ${read}`, picked && `Picked: ${picked}`].filter(Boolean);
      const below = [this.#answer.said, this.view.note, this.#answer.receipt.whole];
      save(`${view}.${kind}`, await picture(kind, { figure: this.figure.figure, shown: this.figure.clientWidth, question: this.view.question, above, below }));
    } else {
      const { status, answer } = await post(`api/v1/view/${kind}`, { state: this.state.now, counted_in: this.state.counted });
      if (status === 200) save(answer.name, blob(answer.content, "text/plain;charset=utf-8"));
      else this.#tell(`There is nothing to export yet. ${answer.detail}`, "error", answer.missing);
    }
  }

  // What is shown.

  #show({ busy, waits, progress, told, answer }) {
    if (busy !== undefined) { this.setAttribute("aria-busy", String(busy)); this.way.hidden = true; delete this.figure.dataset.line; }
    if (waits) this.figure.dataset.line = waits;
    if (progress) this.#progress(progress);
    if (told) this.#tell(told);
    if (answer) this.#answered(answer);
    if (busy) this.#fill();
  }

  #progress({ place, seconds, done }) {
    if (place) this.figure.dataset.line = `Place ${place} in line, about ${seconds} s`;
    else delete this.figure.dataset.line;
    this.way.hidden = done === undefined;
    if (done === undefined) return;
    this.bar.value = done;
    this.left.textContent = `About ${seconds} s left`;
  }

  #answered(answer) {
    this.classList.toggle("wrong", Boolean(answer.detail));
    if (answer.missing === "checkpoint") { this.#use(answer.state.checkpoint); return; }
    if (answer.detail) this.#tell(answer.detail, "error", answer.missing);
    else if (answer.told) this.#tell(answer.told, "error stands");
    else this.message.replaceChildren();
    if (!answer.state) return;
    this.#answer = { ...this.#answer, ...answer };
    this.#texts = { text: answer.state.text, pair: answer.state.pair };
    if (answer.strip) this.strip.show(answer.strip);
    else this.strip.clear();
    this.#fill();
    this.picker.show(this.state.now, answer.checkpoint);
    if (!answer.detail) this.#draw(answer);
    else if (this.#drawn !== answer.state.view) this.#blank();
  }

  #draw({ state, figure, document: source, height, said, receipt, beside }) {
    this.#drawn = state.view;
    this.caption.querySelector(".said").textContent = said;
    this.receipt.textContent = receipt.short;
    this.receipt.dataset.whole = receipt.whole;
    if (source) this.figure.frame(source, height);
    else this.figure.show(figure, said);
    this.classList.toggle("framed", Boolean(source));
    this.beside.hidden = this.ours.hidden = !beside;
    this.difference.hidden = !beside?.difference;
    if (!beside) return;
    const short = (name) => (name.length <= LONG_NAME ? name : `${name.slice(0, LONG_NAME - 1)}…`);
    this.ours.textContent = short(beside.ours);
    this.named.textContent = short(beside.name);
    this.beside.querySelector(".said").textContent = beside.said;
    if (beside.figure) this.theirs.show(beside.figure, beside.said);
    else this.theirs.clear();
    if (beside.difference) this.difference.show(beside.difference, "The difference between the two");
  }

  /** No figure and nothing said of one: there is none of the view on the screen. */
  #blank() {
    this.#drawn = "";
    for (const one of [this.figure, this.theirs, this.difference]) one.clear();
    this.caption.querySelector(".said").textContent = this.receipt.textContent = "";
    this.beside.hidden = this.difference.hidden = this.ours.hidden = true;
    this.classList.remove("framed");
  }

  /** The boxes, settings and words of the state. */
  #fill() {
    const { now } = this.state, { view } = this;
    const put = (field, value) => { if (field.value !== value) field.value = value; grow(field); };
    put(this.text.querySelector("textarea"), now.text);
    put(this.pair.querySelector("textarea"), now.pair);
    put(this.other.querySelector("textarea"), now.other);
    this.pair.hidden = !now.pair && document.activeElement !== this.pair.querySelector("textarea");
    this.comparing.hidden = !now.against && !this.comparing.contains(document.activeElement);
    this.other.hidden = !now.against.startsWith("another");
    for (const one of this.against) one.checked = one.value === now.against;
    this.form.draw(now.view, view.settings);
    const { layers, heads, series = [] } = this.#answer.checkpoint ?? {};
    this.form.fill(now.options, layers ? { layers, heads } : {});
    this.#series(series);
    if (this.dataset.view === now.view) return;
    this.dataset.view = now.view;
    this.nav.mark(now.view);
    this.question.textContent = view.question;
    this.caption.querySelector(".misread p").textContent = view.note;
    this.upload.hidden = !view.lines;
    this.examples.replaceChildren(h("span", {}, "Try"), ...view.examples.map((one, i) => h("button", {
      type: "button", class: "example", title: one.text, "data-example": i, onclick: () => this.#example(one),
    }, one.label)));
  }

  /** The slider through a training, where the checkpoint in use is of one. */
  #series(series) {
    const at = series.findIndex(([name]) => name === this.state.now.checkpoint);
    this.training.hidden = at < 0 || series.length < 2;
    if (this.training.hidden || document.activeElement === this.moment) return;
    this.moment.max = series.length - 1;
    this.moment.value = at;
    this.training.firstChild.textContent = `Training: ${series[at][1].split(", ").at(-1)}`;
  }

  #tell(words, kind = "error", missing = "") {
    const add = () => (missing === "mask" ? this.#insert() : this.querySelector("#do-second").click());
    this.message.replaceChildren(h("p", { class: `message ${kind}`, role: kind === "busy" ? "status" : "alert", dir: "auto" }, words,
      missing in ADDS ? [" ", h("button", { type: "button", "data-adds": missing, onclick: add }, ADDS[missing])] : null));
  }
}
customElements.define("bx-explore", Explore);

function grow(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

function about(parts) {
  const lists = parts.map(([title, lines]) => [h("h3", {}, title), h("ul", {}, lines.map((line) => h("li", {}, line)))]);
  return h("details", { class: "about" }, h("summary", {}, "About: limits and promises"), lists.flat());
}

// The shell may make its column anew: the page moves into it as it is.
const page = h("bx-explore"), schema = fetch("api/v1/page").then((reply) => reply.json());
let opened = false;
const mount = () => {
  const column = document.getElementById("explore");
  if (!column || page.isConnected) return;
  column.append(page);
  if (!opened) schema.then((found) => page.open(found));
  opened = true;
};
new MutationObserver(mount).observe(document.documentElement, { childList: true, subtree: true });
mount();
