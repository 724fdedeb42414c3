// <bx-learn>: the page of lessons: their list, or one lesson as a column. Progress stays in this browser.
import "./board.js";
import "./question.js";
import "./view.js";
import { drawn, h, post } from "./kit.js";
import { handIn } from "./hand_in.js";

const KEPT = "bx-lesson:";  // + slug -> block -> record, in the browser's storage
const get = (path) => fetch(`api/v1/${path}`).then((reply) => reply.json());

class Learn extends HTMLElement {
  async open() {
    const [schema, lessons] = await Promise.all([get("page"), get("lessons")]);
    Object.assign(this, { schema, lessons });
    addEventListener("popstate", () => this.#route());
    this.#route();
  }

  get #asked() { return new URLSearchParams(location.search); }

  #go(slug, event) {
    if (event?.ctrlKey || event?.metaKey || event?.shiftKey) return;
    event?.preventDefault();
    history.pushState(null, "", slug ? `learn?lesson=${slug}` : "learn");
    this.#route();
    scrollTo(0, 0);
  }

  async #route() {
    const slug = this.#asked.get("lesson"), code = this.#asked.get("class");
    if (code) {
      const board = h("bx-board");
      this.replaceChildren(board);
      board.open(this.schema, code);
      return;
    }
    if (!slug) { this.replaceChildren(...this.#list()); return; }
    const lesson = await get(`lessons/${slug}`);
    if (slug !== this.#asked.get("lesson")) return;
    this.replaceChildren(...(lesson.parts ? this.#lesson(lesson) : [h("p", { class: "message error" }, lesson.detail), this.#all()]));
  }

  // The list.

  #list() {
    const topics = [...new Set(this.lessons.map((one) => one.topic))];
    return [
      h("header", { class: "masthead" }, h("h1", {}, "Learn"), h("p", {}, "Guess first. Then BERT answers, live, and you see why.")),
      ...topics.map((topic) => h("section", {}, h("h2", {}, topic), h("ul", { class: "lessons" },
        this.lessons.filter((one) => one.topic === topic).map((one) => this.#card(one))))),
    ];
  }

  #card({ slug, title, question, minutes, can, questions }) {
    const records = Object.values(kept(slug)), done = records.filter((one) => one.said?.done).length;
    const progress = done >= questions && done ? "Done" : done ? `${done} of ${questions} answered` : "";
    return h("li", {}, h("a", { class: "lesson-card", href: `learn?lesson=${slug}`, onclick: (event) => this.#go(slug, event) },
      h("strong", {}, title), h("span", { class: "asks" }, question), h("span", { class: "hint" }, `${minutes} min. Afterwards you can ${can}.`),
      progress && h("span", { class: "progress" }, progress)));
  }

  #all() { return h("a", { class: "quiet", href: "learn", onclick: (event) => this.#go("", event) }, "← All lessons"); }

  // A lesson.

  #lesson(lesson) {
    const records = kept(lesson.slug), article = h("article", { class: "lesson", "data-lesson": lesson.slug });
    const checkpoint = this.#asked.get("checkpoint") ?? "";
    const judge = (id, asked) => post(`api/v1/lessons/${lesson.slug}/${id}`, { ...asked, ...(checkpoint && { checkpoint }) });
    const reveal = (link) => {
      if (link.startsWith("run:")) return run(link.slice(4));
      const view = h("bx-view");
      Object.assign(view, { schema: this.schema, link: checkpoint ? `${link}&checkpoint=${encodeURIComponent(checkpoint)}` : link });
      return view;
    };
    article.addEventListener("record", ({ target }) => {
      records[target.block.id] = target.record;
      keep(lesson.slug, records);
      this.#count(article);
    });
    let number = 0;
    const made = { judge, reveal };
    const parts = lesson.parts.map((part) => {
      if (part.kind === "prose") return h("div", { class: "prose" }, drawn(part.text));
      if (part.kind === "claim") return claim(part, made);
      if (part.kind === "figure") return figure(part, made);
      const question = h("bx-question", { class: part.kind });
      question.open(part, { ...made, record: records[part.id], number: ++number });
      return question;
    });
    article.append(
      h("header", { class: "masthead" }, h("h1", { tabindex: -1 }, lesson.title), h("p", {}, lesson.question)),
      h("p", { class: "hint" }, `${lesson.minutes} minutes. Afterwards you can ${lesson.can}.`),
      ...lesson.problems.map((words) => h("p", { class: "message error" }, `A part of this lesson is left out. ${words}`)),
      ...parts,
      h("aside", { class: "guards" }, h("h2", {}, "How not to misread this"), h("p", {}, "It is easy to think: ", h("q", {}, drawn(lesson.misreading)), " ", drawn(lesson.instead))),
      h("details", { class: "sources" }, h("summary", {}, "Sources"), h("ul", {}, lesson.sources.map((one) => h("li", {}, one)))),
    );
    this.status = h("p", { class: "hint", role: "status" });
    const again = h("button", { type: "button", class: "quiet", onclick: () => { keep(lesson.slug, {}); this.#route(); scrollTo(0, 0); } }, "Start over");
    const hand = h("button", { type: "button", class: "quiet", onclick: () => handIn(article, lesson) }, "Hand in");
    const next = this.lessons[this.lessons.findIndex((one) => one.slug === lesson.slug) + 1];
    const ask = h("button", { type: "button", class: "quiet", onclick: () => this.#class(lesson.slug) }, "Ask the class");
    this.#count(article);
    this.#measure(article);
    return [h("div", { class: "row" }, this.#all(), ask), article, this.status, h("div", { class: "row" }, hand, again,
      next && h("a", { class: "go", href: `learn?lesson=${next.slug}`, onclick: (event) => this.#go(next.slug, event) }, `Next: ${next.title}`))];
  }

  /** Open a class for the questions of a lesson. */
  async #class(slug) {
    const { status, answer } = await post("api/v1/class", { lesson: slug });
    if (status !== 200) { this.status.textContent = answer.detail; return; }
    history.pushState(null, "", `learn?class=${answer.code}`);
    this.#route();
    scrollTo(0, 0);
  }

  /** The claims one after the other, so that the server has time for questions. */
  async #measure(article) {
    for (const one of article.querySelectorAll(".claim")) await one.measure();
  }

  #count(article) {
    const questions = [...article.querySelectorAll("bx-question")], done = questions.filter((one) => one.done).length;
    this.status.textContent = done === questions.length ? "You have answered every question. “Hand in” saves this page as a file." : `${done} of ${questions.length} questions answered. Your answers stay in this browser.`;
  }
}
customElements.define("bx-learn", Learn);

/** A claim: judged on the checkpoint in use before it is read, with the view behind it at a press. */
function claim(part, { judge, reveal }) {
  const words = h("p", {}, "Measuring…"), place = h("div", { class: "place" });
  const look = h("button", { type: "button", class: "quiet", onclick: () => { look.hidden = true; place.append(reveal(part.link)); } }, "Show me");
  const made = h("div", { class: "claim", id: part.id }, h("span", { class: "mark" }), words, look, place);
  made.measure = async () => {
    const { status, answer } = await judge(part.id, {}).catch((error) => ({ status: 0, answer: { detail: error.message } }));
    made.dataset.holds = String(status === 200 && answer.holds);
    made.querySelector(".mark").textContent = status !== 200 ? "Not measured" : answer.holds ? "Measured here" : "Not on this checkpoint";
    words.replaceChildren(...(status === 200 ? drawn(answer.text) : [answer.detail]));
  };
  return made;
}

/** A run that was recorded: its figure, what was trained, and how to train it oneself. */
function run(name) {
  const made = h("div", { class: "run" }, h("p", { class: "hint" }, "Loading the run…"));
  get(`lessons/runs/${name}`).then(({ title, said, card, command, figure, detail }) => {
    if (detail) { made.replaceChildren(h("p", { class: "message error" }, detail)); return; }
    const picture = h("bx-figure", { class: "figure" }), facts = Object.entries(card).flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]);
    made.replaceChildren(h("h3", {}, title), picture, h("p", { class: "said" }, said),
      h("details", { class: "sources" }, h("summary", {}, "What was trained, and how to do it yourself"), h("dl", { class: "facts" }, facts),
        command && h("pre", { translate: "no" }, command), h("p", {}, h("a", { href: "train" }, "Start a run of your own on the page Train"))));
    picture.show(figure, said);
  });
  return made;
}

function figure(part, { reveal }) {
  const made = h("div", { class: "shown", id: part.id }, drawn(part.prompt), part.text.length ? h("p", {}, drawn(part.text)) : null);
  seen(made, () => made.append(reveal(part.link)));
  return made;
}

/** Call *then* once *element* comes near the screen. */
function seen(element, then) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((one) => one.isIntersecting)) return;
    watch.disconnect();
    then();
  }, { rootMargin: "300px" });
  watch.observe(element);
}

function kept(slug) {
  try { return JSON.parse(localStorage.getItem(KEPT + slug)) ?? {}; } catch { return {}; }
}

function keep(slug, records) {
  try { localStorage.setItem(KEPT + slug, JSON.stringify(records)); } catch { /* a browser that keeps nothing: the page still works */ }
}

const page = h("bx-learn", { class: "bx" });
let opened = false;
const mount = () => {
  const column = document.getElementById("learn");
  if (!column || page.isConnected) return;
  column.append(page);
  if (!opened) page.open();
  opened = true;
};
new MutationObserver(mount).observe(document.documentElement, { childList: true, subtree: true });
mount();
