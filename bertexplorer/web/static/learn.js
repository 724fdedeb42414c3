// <bx-learn>: the page of lessons: their list, or one lesson as a column. Progress stays in this browser.
import { openClass } from "./board.js";
import "./lecture.js";
import "./question.js";
import "./view.js";
import { ask, unanswered } from "./backend.js";
import { choosing, en, h, render, save, unbroken } from "./kit.js";
import { handIn } from "./hand_in.js";
import { WELCOME, welcomed } from "./masthead.js";
import { aboutLesson, lectureCard, lessonCard } from "./lesson_cards.js";
import { misreading, saveLesson } from "./offline.js";
import { OwnLesson } from "./own_lesson.js";
import { Records, remember, remembered } from "./records.js";

const TOPICS = ["What goes in", "Pretraining", "Meaning", "Inside", "Reading it right", "Training"]; // in this order; other topics follow
const get = async (path) => (await ask(path)).answer;
const lang = new URLSearchParams(location.search).get("lang") ?? ""; // stays the same from lesson to lesson
// that answers, also in the next lesson; "" for the page's
const checkpoint = new URLSearchParams(location.search).get("checkpoint") ?? "";
/** The address of a page of Learn, with what stays the same from page to page. */
function link(given, spoken = lang) {
  const query = new URLSearchParams();
  if (checkpoint) query.set("checkpoint", checkpoint);
  for (const [name, value] of Object.entries(given)) query.set(name, value);
  if (spoken) query.set("lang", spoken);
  const words = String(query);
  return words ? `learn?${words}` : "learn";
}
const SUFFIXES = { moodle: "moodle.xml", qti: "qti.zip", gift: "gift.txt", csv: "csv" }; // of files of questions
const STUDENT = "bx-student"; // in the browser's storage: the name that a hand-in shows

class Learn extends HTMLElement {
  /** @type {Set<string>} */
  skipped = new Set(); // the ids of questions that were not answered
  /** @type {Records} */
  records;
  /** @type {OwnLesson} */
  own;

  async open() {
    const [schema, lessons, lectures] = await Promise.all([
      get("page"),
      get(`lessons?lang=${lang}`),
      get("lectures"),
    ]);
    this.schema = schema;
    this.lessons = lessons;
    this.lectures = lectures;
    const usual = schema.opening.checkpoint;
    this.records = new Records(checkpoint === usual ? "" : checkpoint);
    this.own = new OwnLesson({
      checkpoint,
      usual,
      address: (slug) => link({ lesson: slug }),
      open: (slug, event) => this.#go(slug, event),
      replace: (slug) => {
        history.replaceState(null, "", link({ lesson: slug }));
        this.#route();
      },
    });
    addEventListener("popstate", () => this.#route());
    this.#route();
  }

  get #query() {
    return new URLSearchParams(location.search);
  }

  #go(slug, event) {
    if (event?.ctrlKey || event?.metaKey || event?.shiftKey) return;
    event?.preventDefault();
    history.pushState(null, "", link(slug ? { lesson: slug } : {}));
    this.#route();
    scrollTo(0, 0);
  }

  /** What a link to the lesson *slug* needs. */
  #to(slug) {
    return { href: link({ lesson: slug }), onclick: (event) => this.#go(slug, event) };
  }

  async #route() {
    const slug = this.#query.get("lesson");
    const code = this.#query.get("class");
    const lecture = this.#query.get("lecture");
    if (lecture) {
      this.#lecture(lecture);
      return;
    }
    if (code) {
      const board = h("bx-board");
      this.replaceChildren(board);
      board.open(this.schema, code, this.lessons, link);
      return;
    }
    if (!slug) {
      this.replaceChildren(...this.#list());
      return;
    }
    const lesson = await get(`lessons/${slug}?lang=${lang}`);
    if (slug !== this.#query.get("lesson")) return;
    if (slug === WELCOME) welcomed();
    if (lesson.parts) this.replaceChildren(...this.#lesson(lesson));
    else this.replaceChildren(h("p", { class: "message error" }, lesson.detail), this.#backLink());
  }

  // The list.

  #list() {
    const header = h(
      "header",
      { class: "masthead" },
      h("h1", {}, "Learn"),
      h("p", {}, "Guess first. Then BERT answers, live, and you see why."),
    );
    const parts = [header];
    if (!this.schema.site) {
      const words =
        "With a class: open a lesson and press “Ask the class” below it. Phones join with a QR code, and vote before BERT answers.";
      parts.push(h("p", { class: "hint" }, words), this.#ownClass());
    }
    const section = (title, cards) =>
      parts.push(h("section", {}, h("h2", {}, title), h("ul", { class: "lessons" }, cards)));
    if (this.lectures.length) {
      section(
        "Lectures",
        this.lectures.map((one) => lectureCard(one, link({ lecture: one.slug }))),
      );
    }
    const place = (topic) => (TOPICS.includes(topic) ? TOPICS.indexOf(topic) : TOPICS.length);
    const topics = [...new Set(this.lessons.map((one) => one.topic))];
    topics.sort((a, b) => place(a) - place(b));
    for (const topic of topics) {
      const lessons = this.lessons.filter((one) => one.topic === topic);
      section(
        topic,
        lessons.map((one) => lessonCard(one, this.records.of(one.slug), this.#to(one.slug))),
      );
    }
    if (!this.schema.site) parts.push(this.own.form());
    return parts;
  }

  /** The way back to a class of this browser, if one is open. */
  #ownClass() {
    const row = h("div", { class: "row", hidden: true });
    openClass().then((code) => {
      row.append(
        h(
          "a",
          { class: "quiet accent", href: link({ class: code }) },
          h("span", {}, "Back to your class ", h("span", { translate: "no" }, code)),
        ),
      );
      row.hidden = !code;
    });
    return row;
  }

  /** A lecture: the screen, or the teacher's desk in a second window. */
  async #lecture(slug) {
    const lecture = await get(`lectures/${slug}`);
    if (!lecture.steps?.length) {
      this.replaceChildren(
        h("p", { class: "message error" }, lecture.detail ?? lecture.problems.join(" ")),
        this.#backLink(),
      );
      return;
    }
    const half = h(this.#query.has("desk") ? "bx-desk" : "bx-lecture");
    this.replaceChildren(half);
    const article = async (name) => {
      const lesson = await get(`lessons/${name}?lang=${lang}`);
      return lesson.parts
        ? this.#lesson(lesson).find((one) => one.matches?.("article"))
        : h("p", { class: "message error" }, lesson.detail);
    };
    half.open(
      {
        schema: this.schema,
        lessons: this.lessons,
        link,
        checkpoint,
        article,
        view: (address) => this.#view(address),
      },
      lecture,
    );
  }

  #backLink() {
    return h(
      "a",
      { class: "quiet", href: link({}), onclick: (event) => this.#go("", event) },
      "← All lessons",
    );
  }

  // A lesson.

  /** What the page shows of a lesson. Its questions are open one after the other. */
  #lesson(lesson) {
    // 1. The parts of the lesson, and what they ask for.
    const records = this.records.of(lesson.slug);
    const article = h("article", {
      class: "lesson",
      "data-lesson": lesson.slug,
      lang: lesson.language,
    });
    const judge = (id, request) =>
      ask(`lessons/${lesson.slug}/${id}?lang=${lang}`, {
        body: { ...request, ...(checkpoint && { checkpoint }) },
      });
    const reveal = (link) => this.#view(link);
    const keep = ({ target }) => {
      records[target.block.id] = target.record;
      this.records.save(lesson.slug, records);
    };
    article.addEventListener("draft", keep);
    article.addEventListener("record", (event) => {
      keep(event);
      this.#advance(article);
    });
    const openClass = (first) =>
      this.#openClass({
        lesson: lesson.slug,
        ...(first && { first }),
        ...(checkpoint && { checkpoint }),
        ...(lang && { language: lang }),
      });
    let number = 0;
    const helpers = { judge, reveal };
    const parts = lesson.parts.map((part) => {
      if (part.kind === "prose") return h("div", { class: "words" }, render(part.text));
      if (part.kind === "claim") return claim(part, helpers);
      if (part.kind === "figure") return figure(part, helpers);
      const question = h("bx-question", { class: part.kind, onask: () => openClass(part.id) });
      question.open(part, { ...helpers, record: records[part.id], number: ++number });
      return question;
    });
    // 2. The lesson as a column.
    article.append(
      h(
        "header",
        { class: "masthead" },
        h("h1", { tabindex: -1 }, lesson.title),
        h("p", {}, render(lesson.question)),
      ),
      h("p", { class: "hint" }, ...aboutLesson(lesson)),
      this.schema.site ? "" : this.#answering(lesson.slug),
      ...lesson.problems.map((words) =>
        en("p", { class: "message error" }, `A part of this lesson is left out. ${words}`),
      ),
      ...parts,
      h("aside", { class: "guards" }, ...misreading(lesson)),
      en(
        "details",
        { class: "sources" },
        h("summary", {}, "Sources"),
        h(
          "ul",
          {},
          lesson.sources.map((one) => h("li", {}, one)),
        ),
      ),
    );
    this.status = h("p", { class: "hint", role: "status" });
    // 3. What is below it: for a pupil, for a teacher, and the way on.
    const again = h(
      "button",
      {
        type: "button",
        class: "quiet",
        onclick: () => {
          if (confirm("Delete your answers to this lesson?")) {
            this.records.save(lesson.slug, {});
            this.#route();
            scrollTo(0, 0);
          }
        },
      },
      "Start over",
    );
    const student = h("input", {
      type: "text",
      class: "student",
      maxlength: 100,
      autocomplete: "off",
      placeholder: "Name or number",
      "aria-label": "Your name or number, which the file will show",
      value: remembered(STUDENT),
      onchange: () => remember(STUDENT, student.value),
    });
    const about = () => ({
      lesson: lesson.slug,
      version: lesson.version,
      checkpoint,
      student: student.value.trim(),
    });
    const hand = h(
      "button",
      { type: "button", class: "quiet", onclick: () => handIn(article, lesson, about(), records) },
      "Hand in",
    );
    const offline = h(
      "button",
      { type: "button", class: "quiet", onclick: () => this.#offline(lesson, reveal, offline) },
      "Save for offline",
    );
    const questions = (kind, words) =>
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => this.#questions(lesson.slug, kind) },
        words,
      );
    const teachers = h(
      "details",
      { class: "sources" },
      h("summary", {}, "For teachers"),
      h(
        "div",
        { class: "row" },
        offline,
        questions("moodle", "Questions for Moodle (XML)"),
        questions("qti", "Questions as QTI 2.1"),
        questions("gift", "Questions as GIFT"),
        questions("csv", "Questions as CSV"),
      ),
    );
    const next = this.lessons[this.lessons.findIndex((one) => one.slug === lesson.slug) + 1];
    const askClass = h(
      "button",
      { type: "button", class: "quiet accent", onclick: () => openClass() },
      "Ask the class",
    );
    // 4. Up to where it is open.
    this.skipped.clear();
    this.skip = en(
      "button",
      {
        type: "button",
        class: "quiet skip",
        onclick: () => {
          this.skipped.add(this.skip?.previousElementSibling?.id ?? "");
          this.#advance(article);
        },
      },
      "Go on without answering",
    );
    this.#advance(article);
    const languages = lesson.languages.length ? ["en", ...lesson.languages] : [];
    const others = languages.filter((one) => one !== (lang || "en"));
    const translations = others.map((one) =>
      h(
        "a",
        {
          class: "quiet",
          hreflang: one,
          lang: one,
          href: link({ lesson: lesson.slug }, one),
        },
        new Intl.DisplayNames([one], { type: "language" }).of(one),
      ),
    );
    return [
      h("div", { class: "row" }, this.#backLink(), translations),
      ...(this.own.uploaded?.slug === lesson.slug ? [this.own.form(lesson.slug)] : []),
      article,
      this.status,
      this.schema.site ? "" : h("div", { class: "row" }, askClass), // below: a pupil's first button is an answer
      teachers,
      h(
        "div",
        { class: "row" },
        student,
        hand,
        again,
        next &&
          h(
            "a",
            {
              class: "go",
              href: link({ lesson: next.slug }),
              onclick: (event) => this.#go(next.slug, event),
            },
            `Next: ${next.title}`,
          ),
      ),
    ];
  }

  /** The view of *link*, or the recorded run. */
  #view(link) {
    if (link.startsWith("run:")) return run(link.slice(4));
    const view = en("bx-view");
    Object.assign(view, {
      schema: this.schema,
      link: checkpoint ? `${link}&checkpoint=${encodeURIComponent(checkpoint)}` : link,
    });
    return view;
  }

  /** Which checkpoint answers, and a choice of another. */
  #answering(slug) {
    const now = checkpoint || this.schema.opening.checkpoint;
    const option = ({ name, label }) => h("option", { value: name, selected: name === now }, label);
    const unlisted = { name: now, label: now };
    const list = h("select", { id: "answering", translate: "no" }, option(unlisted));
    choosing(list, (name) => {
      location.href = link({ lesson: slug, checkpoint: name });
    });
    // in the same order on each page
    get("checkpoints").then((all) => {
      const isListed = all.some(({ name }) => name === now);
      const choices = isListed ? all : [unlisted, ...all];
      list.replaceChildren(...choices.map(option));
    });
    return h(
      "p",
      { class: "hint answering", lang: "en" },
      h("label", { for: "answering" }, "Answered by "),
      list,
    );
  }

  /** Save the lesson as one file, with its answers and a picture of each view. */
  async #offline(lesson, reveal, button) {
    const tell = (words) => {
      this.status.textContent = words;
    };
    button.disabled = true;
    tell("Computing the answers…");
    try {
      const keys = await get(
        `lessons/${lesson.slug}/keys?${new URLSearchParams({ checkpoint, lang })}`,
      );
      if (keys.detail) throw new Error(keys.detail);
      await saveLesson(lesson, keys, aboutLesson(lesson), reveal, tell);
      tell("Saved. The file works without a network.");
    } catch (error) {
      tell(error.message);
    }
    button.disabled = false;
  }

  /** Save the questions and their answers as a file for another system. */
  async #questions(slug, kind) {
    const path = `lessons/${slug}/${kind}?${new URLSearchParams({ checkpoint, lang })}`;
    const { status, answer } = await ask(path);
    if (status !== 200) {
      this.status.textContent = answer.detail;
      return;
    }
    const type = kind === "qti" ? "application/zip" : "text/plain;charset=utf-8";
    const file = new Blob([answer.content], { type });
    save(`${slug}.${SUFFIXES[kind]}`, URL.createObjectURL(file));
  }

  /** Open a class for the questions of a lesson, or those from one on. */
  async #openClass(request) {
    const { status, answer } = await ask("class", { body: request });
    if (status !== 200) {
      this.status.textContent = answer.detail;
      return;
    }
    history.pushState(null, "", link({ class: answer.code }));
    this.#route();
    scrollTo(0, 0);
  }

  /** Show the lesson up to the first open question; later parts would give its answer away. */
  #advance(article) {
    const parts = [...article.children].filter((one) => one !== this.skip);
    const open = parts.find(
      (one) => one.matches("bx-question") && !one.done && !this.skipped.has(one.id),
    );
    const last = open ? parts.indexOf(open) : parts.length;
    parts.forEach((one, i) => {
      one.hidden = i > last && !one.matches(".sources");
      if (!one.hidden) one.start?.();
    });
    if (open) open.after(this.skip);
    else this.skip.remove();
    this.#count(article);
  }

  #count(article) {
    const questions = [...article.querySelectorAll("bx-question")],
      done = questions.filter((one) => one.done).length;
    this.status.textContent =
      done === questions.length
        ? "You have answered every question. “Hand in” saves this page as a file."
        : `${done} of ${questions.length} questions answered. Your answers stay in this browser.`;
  }
}
customElements.define("bx-learn", Learn);

/** A claim, measured on the checkpoint in use before it is shown; a button reveals its view. */
function claim(part, { judge, reveal }) {
  const words = h("p", {}, en("span", {}, "Measuring…")),
    place = h("div", { class: "place" });
  const look = en(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        look.hidden = true;
        place.append(reveal(part.link));
      },
    },
    "Show me",
  );
  const element = h(
    "div",
    { class: "claim", id: part.id },
    en("span", { class: "mark" }),
    words,
    look,
    place,
  );
  element.start = async () => {
    element.start = null;
    const { status, answer } = await judge(part.id, {}).catch(unanswered);
    const mark = element.querySelector(".mark");
    if (status !== 200) {
      element.dataset.holds = "false";
      mark.textContent = "Not measured";
      words.replaceChildren(answer.detail);
      return;
    }
    element.dataset.holds = String(answer.holds);
    mark.textContent = answer.holds ? "Measured here" : "Not on this checkpoint";
    words.replaceChildren(...render(answer.text));
  };
  return element;
}

/** A recorded run: its figure, its description, and the command to repeat it. */
function run(name) {
  const element = en("div", { class: "run" }, h("p", { class: "hint" }, "Loading the run…"));
  get(`lessons/runs/${name}`).then(({ title, said, card, command, figure, detail }) => {
    if (detail) {
      element.replaceChildren(h("p", { class: "message error" }, detail));
      return;
    }
    const picture = h("bx-figure", { class: "figure" });
    const facts = Object.entries(card).flatMap(([key, value]) => [
      h("dt", {}, key),
      h("dd", {}, value),
    ]);
    element.replaceChildren(
      h("h3", {}, title),
      picture,
      h("p", { class: "said" }, unbroken(said)),
      h(
        "details",
        { class: "sources" },
        h("summary", {}, "What was trained, and how to do it yourself"),
        h("dl", { class: "facts" }, facts),
        command && h("pre", { translate: "no" }, command),
        h("p", {}, h("a", { href: "train" }, "Start a run of your own on the Train page")),
      ),
    );
    picture.show(figure, said).then(() => element.dispatchEvent(new CustomEvent("answered")));
  });
  return element;
}

/** A view between the words, which is asked for once it is near. */
function figure(part, { reveal }) {
  const element = h(
    "div",
    { class: "shown", id: part.id },
    render(part.prompt),
    part.text.length ? h("p", {}, render(part.text)) : null,
  );
  element.start = () => {
    element.start = null;
    whenVisible(element, () => element.append(reveal(part.link)));
  };
  return element;
}

/** Call *then* once *element* is near the visible part of the page. */
function whenVisible(element, then) {
  const watch = new IntersectionObserver(
    (entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      watch.disconnect();
      then();
    },
    { rootMargin: "300px" },
  );
  watch.observe(element);
}

const page = h("bx-learn", { class: "bx" });
document.querySelector("#learn").append(page);
page.open();
