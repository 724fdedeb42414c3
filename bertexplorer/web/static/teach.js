// <bx-teach>: a classifier from a handful of sentences in boxes. The checkpoint makes a vector of each; a head on them is fitted here,
// in the browser, anew at each change. The server keeps sentences only for a run, or for *Your texts*.
import { ask, sendFile } from "./backend.js";
import "./figure.js";
import { choosing, grow, h, onEnter, save, unbroken } from "./kit.js";
import { saveAsFile } from "./hand_in.js";
import { colour } from "./marks_parts.js";
import { argmax } from "./numbers.js";
import { counted, percent, quote } from "./site/wording.js";
import {
  FEWEST,
  MOST,
  fromFile,
  fromTable,
  linesOf,
  emptySaid,
  nameOf,
  oddities,
  rowsOf,
  toFile,
  toTable,
} from "./teach/boxes.js";
import { probabilities, pulls } from "./teach/linear_head.js";
import * as report from "./teach/report.js";
import { savedPage } from "./teach/saved_page.js";
import { SETS, boxesOf, emptyBoxes } from "./teach/sets.js";
import { sameSentence, words } from "./teach/words.js";

/** @import { Head } from "./teach/linear_head.js" */
/** @import { Box, Rows } from "./teach/boxes.js" */
/** @typedef {{head: Head, ridge: number, places: number[][], rows: Rows, boxes: Box[], vectors: number[][]}} Learned */

const KEPT = "bx-teach"; // in the browser's storage
const PATIENCE_MS = 500; // after the last key before the head is fitted anew
const MOST_WORDS = 40; // of a tried sentence, that are hidden in turn
const EXAMPLES = 3; // that pull a tried sentence most, to either side
const MAP = "A map of the sentences: what lies close is alike to BERT";
const SMALL = 0.01; // a change of the probability that decides nothing
const MASK = "[MASK]"; // which every checkpoint reads as its own

class Teach extends HTMLElement {
  #boxes = boxesOf(Object.keys(SETS)[0]);
  #tried = ""; // the sentence that was tried last
  /** @type {{sentence: string, said: string, box: string}[]} what the head said otherwise than a person */
  #fooled = [];
  /** @type {Box[][]} the boxes of before, the latest last */
  #former = [];
  #vectors = new Map(); // sentence -> its vector
  /** @type {Map<string, number[]>} a tried sentence -> the probability of each box */
  #answers = new Map();
  /** @type {Learned | null} */
  #learned = null;
  /** @type {Worker | null} */
  #worker = null;
  #number = 0; // of the newest fit
  /** @type {number | undefined} */
  #timer;
  #by = { checkpoint: "", revision: "" }; // the encoder of the vectors

  /** *opening*: the checkpoint, and the precision. *finetunes*: whether a run can take the rows on; then "finetune" is fired with a file
   *  of them.
   *  @param {any} opening */
  open(opening, { finetunes = false } = {}) {
    this.opening = opening;
    this.finetunes = finetunes;
    const where = finetunes
      ? "The sentences go to the server of this app, which keeps them only to fine-tune it or to say whether it can read them."
      : "The sentences stay on this device.";
    this.#restore();
    this.boxes = h("div", { class: "boxes" });
    this.odd = h("ul", { class: "odd" });
    this.notice = h("p", { class: "message", role: "status" });
    this.said = h("p", { class: "said", role: "status" });
    this.scores = h("bx-figure");
    this.caption = h("h4", {}, MAP);
    this.map = h("bx-figure");
    this.wrong = h("ul", { class: "wrong" });
    this.result = h(
      "div",
      { class: "learned", hidden: true },
      this.said,
      this.scores,
      this.caption,
      this.map,
      this.wrong,
    );
    this.append(
      h(
        "p",
        {},
        `Put sentences into boxes. BERT reads them, a small head learns which box each belongs to, and you try to fool it. ${where}`,
      ),
      this.#beginning(),
      this.boxes,
      this.#actions(),
      this.odd,
      this.notice,
      this.#trial(),
      this.result,
    );
    this.#draw();
    this.#learn();
    addEventListener("storage", ({ key }) => {
      if (key === KEPT) this.#takeOver();
    });
  }

  // What a person does.

  /** Which boxes to begin with. */
  #beginning() {
    const sets = h(
      "select",
      { "aria-label": "Boxes to begin with" },
      h("option", { value: "" }, "Begin with …"),
      Object.keys(SETS).map((name) => h("option", { value: name }, name)),
      h("option", { value: "empty" }, "two empty boxes"),
    );
    choosing(sets, (set) => {
      if (set) this.#replace(set === "empty" ? emptyBoxes() : boxesOf(set));
      sets.value = "";
    });
    const file = h("input", {
      type: "file",
      hidden: true,
      accept: ".json,.csv,.tsv,.txt",
      onchange: async ({ target }) => {
        if (target.files.length) await this.#open(target.files[0]);
        target.value = "";
      },
    });
    return h(
      "div",
      { class: "bar" },
      sets,
      h("button", { type: "button", onclick: () => file.click() }, "Open…"),
      file,
    );
  }

  /** What can be done with the boxes. */
  #actions() {
    const button = (words, use) => h("button", { type: "button", onclick: use }, words);
    this.back = button("Undo", () => this.#undo());
    this.back.disabled = true;
    const actions = [
      button("Add a box", () => this.#add()),
      this.back,
      button("Save", () => this.#save()),
      button("Save as a page", () => this.#savePage()),
    ];
    if (this.finetunes) {
      actions.push(button("Fine-tune it…", () => this.#finetune()));
      actions.push(button("Can it read them?", () => this.#audit()));
    }
    return h("div", { class: "bar" }, actions);
  }

  /** Take other *boxes*. Those of before come back with Undo. */
  #replace(boxes) {
    this.#remember();
    this.#boxes = boxes;
    this.#changed();
    this.#draw();
  }

  /** Take what another tab has kept. */
  #takeOver() {
    this.#remember();
    this.#restore();
    this.notice.textContent =
      "The boxes were changed in another tab, and are shown here, too. Undo brings back those of before.";
    this.#draw();
    this.#learnSoon();
  }

  #remember() {
    this.#former.push(this.#boxes.map((box) => ({ ...box })));
    this.back.disabled = false;
  }

  #undo() {
    this.#boxes = this.#former.pop() ?? this.#boxes;
    this.back.disabled = !this.#former.length;
    this.notice.textContent = "";
    this.#changed();
    this.#draw();
  }

  #add() {
    if (this.#boxes.length >= MOST) {
      this.notice.textContent = `There are ${MOST} boxes at most.`;
      return;
    }
    this.#boxes.push({ name: `box ${this.#boxes.length + 1}`, text: "" });
    this.#changed();
    this.#draw();
    this.boxes.querySelector(".box:last-child textarea").focus();
  }

  async #open(file) {
    this.notice.textContent = "";
    try {
      if (file.size > 5e6)
        throw new Error(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB; the limit is 5.`);
      const content = await file.text();
      if (/\.(csv|tsv)$/i.test(file.name)) {
        this.#replace(fromTable(content));
        return;
      }
      const { boxes, encoder } = fromFile(content);
      if (this.#by.revision && encoder.revision !== this.#by.revision) {
        this.notice.textContent = `${file.name} was taught on ${encoder.checkpoint || "another encoder"}; here it is ${this.#by.checkpoint}. Its sentences are here, and the head was fitted anew.`;
      }
      this.#replace(boxes);
    } catch (error) {
      this.notice.textContent = error.message;
    }
  }

  #save() {
    if (!this.#learned) {
      this.notice.textContent = "Nothing is learned yet. Put sentences into two boxes.";
      return;
    }
    const content = toFile(this.#learned.boxes, this.#by, this.#learned);
    save("boxes.json", URL.createObjectURL(new Blob([content], { type: "application/json" })));
  }

  /** Save what was learned and tried as an HTML file that opens anywhere. */
  async #savePage() {
    if (!this.#learned) {
      this.notice.textContent = "Nothing is learned yet. Put sentences into two boxes.";
      return;
    }
    const { boxes } = this.#learned;
    const content = await savedPage({
      ...this.#learned,
      said: this.said.textContent ?? "",
      figures: [
        ["How good it is", this.scores],
        [MAP, this.map],
      ],
      answers: this.#answers,
      fools: this.#fools(),
      by: this.#by,
    });
    saveAsFile("taught", `Taught: ${boxes.map(({ name }) => name).join(" or ")}`, content);
  }

  #asFile() {
    return new File([toTable(this.#boxes)], "boxes.csv", { type: "text/csv" });
  }

  /** Hand the rows on to a run, which changes the encoder, too. */
  #finetune() {
    this.notice.textContent = emptySaid(this.#boxes);
    if (this.notice.textContent) return;
    this.dispatchEvent(new CustomEvent("finetune", { detail: this.#asFile() }));
  }

  /** Show what the checkpoint makes of the sentences, which stay in the boxes. */
  async #audit() {
    if (this.#boxes.every((box) => !linesOf(box.text).length)) {
      this.notice.textContent = "There are no sentences yet. Put some into a box.";
      return;
    }
    this.notice.textContent = "Reading the sentences…";
    const { status, answer } = await sendFile("lines", this.#asFile());
    if (status !== 200) {
      this.notice.textContent = answer.detail;
      return;
    }
    const query = { view: "audit", lines: answer.lines, checkpoint: this.opening.checkpoint };
    location.assign(`./?${new URLSearchParams(query)}`);
  }

  // The boxes.

  #draw() {
    this.boxes.replaceChildren(...this.#boxes.map((box, i) => this.#box(box, i)));
    this.boxes.querySelectorAll("textarea").forEach(grow);
    this.#count();
  }

  #box(box, i) {
    return h(
      "section",
      { class: "box", style: `--tone: ${colour(report.TONES[i])}`, "aria-label": `Box ${i + 1}` },
      h(
        "div",
        { class: "name" },
        h("input", {
          value: box.name,
          maxlength: 60,
          "aria-label": `Name of box ${i + 1}`,
          dir: "auto",
          oninput: ({ target }) => {
            box.name = target.value;
            this.#changed();
          },
        }),
        this.#boxes.length > FEWEST &&
          h(
            "button",
            {
              type: "button",
              "aria-label": `Remove the box ${box.name}`,
              onclick: () => this.#replace(this.#boxes.filter((other) => other !== box)),
            },
            "✕",
          ),
      ),
      h(
        "textarea",
        {
          rows: 4,
          dir: "auto",
          spellcheck: "false",
          placeholder: "One sentence a line",
          "aria-label": `Sentences of box ${i + 1}, one a line`,
          oninput: ({ target }) => {
            box.text = target.value;
            grow(target);
            this.#changed();
          },
        },
        box.text,
      ),
      h("small", { class: "count" }),
    );
  }

  #count() {
    const rows = rowsOf(this.#boxes);
    this.boxes.querySelectorAll(".count").forEach((place, box) => {
      const all = linesOf(this.#boxes[box].text).length,
        used = rows.labels.filter((label) => label === box).length;
      place.textContent = `${counted(all, "sentence")}${used < all ? `, ${used} used` : ""}`;
    });
    this.odd.replaceChildren(...oddities(this.#boxes).map((words) => h("li", {}, words)));
  }

  /** Something was typed: keep it, and learn from it soon. */
  #changed() {
    this.#keep();
    this.#count();
    this.#learnSoon();
  }

  #learnSoon() {
    this.result.classList.add("stale");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#learn(), PATIENCE_MS);
  }

  #keep() {
    const kept = { boxes: this.#boxes, fooled: this.#fooled };
    try {
      localStorage.setItem(KEPT, JSON.stringify(kept));
    } catch {
      /* in a private window nothing is kept */
    }
  }

  #restore() {
    try {
      const { boxes, fooled = [] } = JSON.parse(localStorage.getItem(KEPT) ?? "");
      const areBoxes = boxes.every(({ name, text }) => name.slice && text.slice);
      if (boxes.length < FEWEST || !areBoxes) return;
      this.#boxes = boxes.slice(0, MOST);
      this.#fooled = fooled;
    } catch {
      /* nothing was kept */
    }
  }

  // Learning.

  /** The vectors of *sentences*, in their order. *quiet*: what is odd about them is not said. */
  async #encode(sentences, { quiet = false } = {}) {
    const missing = [...new Set(sentences)].filter((sentence) => !this.#vectors.has(sentence));
    if (missing.length) {
      const { checkpoint, precision } = this.opening;
      const { status, answer } = await ask("encode", {
        body: { texts: missing, checkpoint, precision },
        tell: ({ notice }) => notice && (this.notice.textContent = notice),
      });
      if (status !== 200) throw new Error(answer.detail);
      missing.forEach((sentence, i) => this.#vectors.set(sentence, answer.vectors[i]));
      this.#by = answer.encoder;
      if (!quiet) this.notice.textContent = answer.notes.join(" ");
    }
    return sentences.map((sentence) => this.#vectors.get(sentence));
  }

  /** Fit a head on the boxes as they are, and show it, then how good it is. */
  async #learn() {
    this.#number += 1;
    const number = this.#number; // a newer fit takes its place
    const boxes = this.#boxes.map((box) => ({ ...box }));
    const rows = rowsOf(boxes);
    const few = report.tooFew(rows, boxes);
    if (new Set(rows.labels).size < FEWEST) {
      this.#show(null, few);
      return;
    }
    this.result.classList.add("stale");
    let vectors;
    try {
      vectors = await this.#encode(rows.sentences);
    } catch (error) {
      this.notice.textContent = error.message;
      return;
    }
    if (number !== this.#number) return;
    this.#worker?.terminate(); // what it still computes is of boxes that have changed
    const worker = new Worker(new URL("./teach/worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (number !== this.#number) return;
      if (data.fitted) this.#show({ ...data.fitted, rows, boxes, vectors }, few);
      else this.#evaluated(data.evaluated);
    };
    worker.postMessage({ number, vectors, rows, evaluate: !few });
    this.#worker = worker;
  }

  /** Show what was *learned*; *few*: why it cannot be said how good it is. */
  #show(learned, few) {
    this.#learned = learned;
    this.#answers.clear(); // those of another head
    this.result.hidden = !learned && !few;
    this.result.classList.toggle("stale", !few);
    if (few) {
      this.said.textContent = few;
      this.scores.hidden = true;
      this.wrong.replaceChildren();
    }
    this.map.hidden = this.caption.hidden = !learned;
    if (learned) this.map.show(report.mapFigure(learned.boxes, learned.rows, learned.places), MAP);
    this.#try(this.#tried);
  }

  /** Show how good the head is. *found*: the probabilities of each sentence when it is left out; *byWords*: those of counting words. */
  #evaluated({ found, byWords }) {
    if (!this.#learned) return;
    const { rows, boxes } = this.#learned;
    const score = report.score(rows, found);
    const counting = report.score(rows, byWords);
    const sizes = boxes.map(
      (_, box) => new Set(rows.groups.filter((_, i) => rows.labels[i] === box)).size,
    );
    const largest = Math.max(...sizes);
    this.result.classList.remove("stale");
    this.said.textContent = unbroken(report.said(score, counting, largest));
    this.scores.hidden = false;
    this.scores.show(report.scoreFigure(score, counting, largest), this.said.textContent);
    const wrong = [];
    rows.sentences.forEach((sentence, i) => {
      const box = argmax(found[i]);
      const isRepeated = rows.groups[i] !== i;
      if (box === rows.labels[i] || isRepeated) return;
      wrong.push(h("li", {}, quote(sentence), ` lands in ${quote(boxes[box].name)}.`));
    });
    this.wrong.replaceChildren(...wrong);
  }

  // Trying.

  #trial() {
    this.field = h("input", {
      class: "wide",
      dir: "auto",
      maxlength: 500,
      placeholder: "Try a sentence of your own",
      "aria-label": "Try a sentence",
      onkeydown: onEnter(({ value }) => this.#try(value)),
    });
    this.shares = h("bx-figure");
    this.why = h("div", { class: "why" });
    this.belongs = h("div", { class: "belongs" });
    this.score = h("p", { class: "summary" });
    return h(
      "section",
      { class: "trial", "aria-label": "Fool it" },
      h("h3", {}, "Fool it"),
      h(
        "div",
        { class: "bar" },
        this.field,
        h(
          "button",
          { type: "button", class: "primary", onclick: () => this.#try(this.field.value) },
          "Try",
        ),
      ),
      this.score,
      this.shares,
      this.belongs,
      this.why,
    );
  }

  async #try(typed) {
    const sentence = typed.trim();
    this.#tried = sentence;
    this.score.textContent = report.fooledSaid(this.#fools());
    const learned = this.#learned;
    if (sentence) this.notice.textContent = "";
    if (sentence && !learned) this.notice.textContent = "Put sentences into two boxes first.";
    this.shares.hidden = !sentence || !learned;
    if (!sentence || !learned) {
      this.belongs.replaceChildren();
      this.why.replaceChildren();
      return;
    }
    try {
      const [vector] = await this.#encode([sentence]);
      if (sentence !== this.#tried || learned !== this.#learned) return;
      const shares = probabilities(learned.head, vector);
      const said = report.answerSaid(learned.boxes, shares);
      this.#answers.set(sentence, shares);
      await this.shares.show(report.shareFigure(learned.boxes, shares), said);
      if (learned.rows.sentences.some((one) => sameSentence(one) === sameSentence(sentence)))
        this.notice.textContent = "It has learned this sentence. Try one that is in no box.";
      this.#ask(sentence, argmax(shares));
      await this.#explain(sentence, vector, shares, learned);
    } catch (error) {
      this.notice.textContent = error.message;
    }
  }

  /** How many of the sentences that fooled it are still in a box. */
  #fools() {
    const { sentences } = rowsOf(this.#boxes);
    return this.#fooled.filter(({ sentence }) => sentences.includes(sentence)).length;
  }

  /** Ask where *sentence* belongs; the answer becomes an example. *box*: what the head said. */
  #ask(sentence, box) {
    const add = (own) => {
      const name = nameOf(this.#boxes[own].name, own);
      const boxes = this.#boxes.map((box) => ({ ...box }));
      boxes[own].text = [boxes[own].text.trimEnd(), sentence].filter(Boolean).join("\n");
      if (own !== box) this.#fooled.push({ sentence, said: this.#boxes[box].name, box: name });
      this.#tried = this.field.value = "";
      this.#replace(boxes);
      this.notice.textContent = `Added to ${quote(name)}: ${sentence}`;
      this.#try("");
      this.field.focus();
    };
    this.belongs.replaceChildren(
      h("span", {}, "Which box is right?"),
      ...this.#boxes.map(({ name }, own) =>
        h("button", { type: "button", onclick: () => add(own) }, nameOf(name, own)),
      ),
    );
  }

  /** Show what the answer rests on: each word hidden in turn, and the examples that pull it. */
  async #explain(sentence, vector, shares, learned) {
    const { rows, head, ridge, boxes } = learned;
    const box = argmax(shares);
    // 1. Each word hidden in turn.
    const inOrder = words(sentence).slice(0, MOST_WORDS);
    const hidden = inOrder.map(
      ({ start, end }) => sentence.slice(0, start) + MASK + sentence.slice(end),
    );
    const vectors = await this.#encode(hidden, { quiet: true });
    if (sentence !== this.#tried || learned !== this.#learned) return;
    hidden.forEach((each) => this.#vectors.delete(each));
    const changes = inOrder.map(({ text }, i) => ({
      text,
      change: probabilities(head, vectors[i])[box] - shares[box],
    }));
    const figure = h("bx-figure");
    const parts = [h("h4", {}, `What each word does for ${quote(nameOf(boxes[box].name, box))}`)];
    if (changes.every(({ change }) => Math.abs(change) < SMALL))
      parts.push(h("p", {}, "No single word decides it."));
    parts.push(figure);
    // 2. The examples. Each pulls to its own box what it is like, and elsewhere what it is unlike; the latter says little to a person.
    const pulled = pulls(head, ridge, learned.vectors, rows.labels, box, vector);
    const order = pulled.map((_, i) => i).sort((a, b) => pulled[b] - pulled[a]);
    const there = order.filter((i) => pulled[i] > 0 && rows.labels[i] === box);
    const away = order.filter((i) => pulled[i] < 0 && rows.labels[i] !== box).reverse();
    const list = (title, places) => {
      if (!places.length) return;
      const items = places.slice(0, EXAMPLES).map((i) => h("li", {}, quote(rows.sentences[i])));
      parts.push(h("h4", {}, title), h("ul", {}, items));
    };
    list("Examples of this box that it is like", there);
    list("Examples of another box that it is like", away);
    this.why.replaceChildren(...parts);
    const sentences = changes.map(
      ({ text, change }) => `Without ${quote(text)}: ${percent(shares[box] + change)}.`,
    );
    await figure.show(report.wordFigure(changes, box), sentences.join(" "));
  }
}
customElements.define("bx-teach", Teach);
