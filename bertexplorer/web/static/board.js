// <bx-board>: a class on the projector: how to join, the question, a button for the next step, and finally the class compared
// with BERT. It polls the server for its state, so it also works after sleep, and on a second laptop. In a lecture there are two:
// one on the screen, without buttons, and one at the teacher's desk. Fires "code" with another code of the class, "" if it ended.
import "./view.js";
import { ask } from "./backend.js";
import { h, render } from "./kit.js";
import { sum } from "./numbers.js";

const POLL_MS = 1500;
const STEPS = {
  lobby: ["vote1", "Start the vote"],
  vote1: ["closed1", "Close the vote"],
  closed1: ["reveal", "Show BERT’s answer"],
  discuss: ["vote2", "Start the second vote"],
  vote2: ["closed2", "Close the vote"],
  closed2: ["reveal", "Show BERT’s answer"],
  reveal: ["next", "Next question"],
};

const CLOSED = ["closed1", "discuss", "closed2"]; // phases between a vote and BERT’s answer

const stepOf = ({ question, phase }) => `${question} ${phase}`;

/** How many are here and have voted, and whether others may still come. *isBefore*: the first vote on the question shown. */
function presence({ here, voted, round, door }, isBefore) {
  let words = `${voted} voted`;
  if (round) words += `, ${here} here`;
  else if (isBefore) words = here ? `${here} here` : "Nobody is here yet";
  return door ? words : `${words}; the door is closed to further phones`;
}

const CLASS_KEY = "bx-class"; // -> the code of the class that this browser opened last, in its storage
const keepClass = (code) => {
  try {
    localStorage.setItem(CLASS_KEY, code);
  } catch {
    /* then its address leads back to it */
  }
};
const forgetClass = (code) => {
  try {
    if (localStorage.getItem(CLASS_KEY) === code) localStorage.removeItem(CLASS_KEY);
  } catch {
    /* nothing was kept */
  }
};

/** The code of the class that this browser opened last, if it is still open; "" if not. *lecture*: only if it is that one's, and
 *  *checkpoint* answers it. */
export async function openClass(lecture, checkpoint = "") {
  try {
    const code = localStorage.getItem(CLASS_KEY);
    if (!code) return "";
    const { answer: room } = await ask(`class/${code}`);
    if (room.teacher)
      return lecture === undefined || (room.lecture === lecture && room.checkpoint === checkpoint)
        ? code
        : "";
    if (room.missing === "class") forgetClass(code);
  } catch {
    /* no storage, or no server */
  }
  return "";
}

class Board extends HTMLElement {
  role = ""; // in a lecture, "screen" or "desk"
  /** @type {BroadcastChannel | undefined} */
  channel; // of a lecture
  #lastKey = "";
  #polls = 0; // how often the server was asked
  #peek = ""; // the question and phase whose counts are shown early
  #advice = { step: "", words: "" }; // on the vote that has closed
  /** @type {any[] | null} */
  #questions = null; // of the summary, while it is shown
  target = null; // in a lecture: the question that this step asks, from 0

  /** Watch the class *code*. *schema*: the page's; *lessons*: their list; *link*: makes the address of a page of Learn; *role*:
   *  in a lecture, "screen" or "desk". */
  open(schema, code, lessons, link, role = "") {
    this.schema = schema;
    this.code = code;
    this.lessons = lessons;
    this.link = link;
    this.role = role;
    if (role) this.#connect();
    this.join = h("section", { class: "join" });
    this.stage = h("section", { class: "asked" });
    this.status = h("p", { class: "hint", role: "status" });
    this.buttons = h("div", { class: "row" });
    this.append(
      h("header", {}, this.join, h("div", { class: "next" }, this.buttons, this.status)),
      this.stage,
    );
    document.addEventListener("visibilitychange", this.woken);
    this.gone = !this.isConnected; // then it polls once it is on the page
    this.#poll();
  }

  connectedCallback() {
    this.gone = false;
    if (this.stage) this.#poll();
  }

  disconnectedCallback() {
    clearTimeout(this.timer);
    this.gone = true;
  }

  woken = () => {
    if (!document.hidden && !this.gone) this.#poll();
  };

  /** Let go of what a board holds that will not be shown again. */
  close() {
    document.removeEventListener("visibilitychange", this.woken);
    this.channel?.close();
    clearTimeout(this.timer);
    this.gone = true;
  }

  /** The desk says what the screen shows, also to a screen that comes later. */
  #connect() {
    this.dataset.role = this.role;
    const channel = (this.channel = new BroadcastChannel(`bx-class:${this.code}`));
    if (this.role === "desk") {
      channel.onmessage = ({ data }) => {
        if (data.hello) channel.postMessage({ peek: this.#peek, questions: this.#questions });
      };
    } else {
      channel.onmessage = ({ data: { peek = this.#peek, questions = this.#questions } }) => {
        this.#peek = peek;
        this.#questions = questions;
        this.#poll();
      };
      channel.postMessage({ hello: true });
    }
  }

  /** Look at the class again, after *target* has changed. */
  aim(target) {
    this.target = target;
    this.#lastKey = "";
    if (this.isConnected) this.#poll();
  }

  /** Whether the class is still at an earlier question than this step. */
  get #behind() {
    return this.target !== null && this.room.question < this.target;
  }

  /** Whether the class has gone on to a later question than this step. */
  get #past() {
    return this.target !== null && this.room.question > this.target;
  }

  async #poll() {
    clearTimeout(this.timer);
    if (this.gone || !this.stage) return;
    this.#polls += 1;
    const number = this.#polls; // an answer that comes after a newer question is let go
    try {
      const { status, answer: room } = await ask(
        `class/${this.code}?peek=${Boolean(this.#peek) || this.role === "desk"}`,
      );
      if (number !== this.#polls) return;
      if (status >= 500) throw new Error(room.detail);
      if (status >= 400) {
        this.#showEnded(room.detail);
        return;
      }
      if (!room.teacher) {
        location.href = `./j/${this.code}`;
        return;
      }
      this.#show(room);
    } catch {
      if (number !== this.#polls) return;
      this.status.textContent = "No connection to the server. Trying again…";
    }
    this.timer = setTimeout(() => this.#poll(), POLL_MS);
  }

  #showEnded(words) {
    forgetClass(this.code);
    this.replaceChildren(h("p", { class: "message error" }, words));
    this.#fire("");
  }

  #fire(code) {
    this.dispatchEvent(new CustomEvent("code", { detail: code }));
  }

  async #step(to, at) {
    const { question, phase } = this.room;
    this.#summarise(null);
    for (const one of this.buttons.children) one.disabled = true;
    const { status, answer } = await ask(`class/${this.code}/step`, {
      body: { question, phase, to, ...(at !== undefined && { at }) },
    });
    this.problem = status === 200 ? "" : answer.detail;
    this.#lastKey = "";
    this.#poll();
  }

  #show(room) {
    this.room = room;
    keepClass(this.code);
    const { phase } = room;
    if (this.#peek && this.#peek !== stepOf(room)) {
      this.#peek = "";
      this.#poll();
      return;
    }
    this.status.textContent = this.problem || presence(room, phase === "lobby" || this.#behind);
    this.#askAdvice(room);
    const key = JSON.stringify([
      phase,
      room.question,
      this.target,
      this.#peek,
      this.#advice.words,
      this.#questions,
      room.counts,
      room.numbers,
      room.address,
      Boolean(room.here),
      room.door,
    ]);
    if (key === this.#lastKey) return;
    this.#lastKey = key;
    this.#join(room);
    this.stage.lang = room.language;
    this.stage.replaceChildren(
      ...(phase === "lobby" || this.#behind ? [] : this.#questionParts(room)),
    );
    this.#showButtons(room);
  }

  /** How many were right in the vote that has closed: the checkpoint answers, which may take a while. */
  async #askAdvice(room) {
    const step = stepOf(room);
    if (this.#advice.step === step) return;
    this.#advice = { step, words: "" };
    if (!CLOSED.includes(room.phase) || this.role === "screen") return;
    try {
      const { status, answer } = await ask(`class/${this.code}/advice`);
      if (status !== 200 || this.#advice.step !== step || !answer.advice) return;
      this.#advice.words = answer.advice;
      this.#poll();
    } catch {
      this.#advice.step = ""; /* the next poll asks again */
    }
  }

  async #toggleSummary() {
    if (this.#questions) this.#summarise(null);
    else {
      const { status, answer } = await ask(`class/${this.code}/summary`);
      if (status === 200) this.#summarise(answer.questions);
      else this.problem = answer.detail;
    }
    this.#poll();
  }

  #summarise(questions) {
    this.#questions = questions;
    this.channel?.postMessage({ questions });
  }

  #showVotes() {
    this.#peek = stepOf(this.room);
    this.channel?.postMessage({ peek: this.#peek });
    this.#poll();
  }

  /** Show how to join: *large* on the screen, until the class begins. */
  #join({ address, note, here, phase, code, lesson, of, moved }) {
    const isDesk = this.role === "desk";
    const large = !isDesk && (phase === "lobby" || this.#behind);
    const parts = [];
    if (large) {
      const title = this.lessons.find((one) => one.slug === lesson)?.title;
      const questions = of === 1 ? "1 question" : `${of} questions`;
      parts.push(h("p", {}, title ? `${title} · ${questions}` : questions));
    }
    if (large || (moved && !isDesk)) {
      const source = `api/v1/class/${code}/qr.svg?for=${encodeURIComponent(address)}`;
      const look = { class: large ? null : "small", width: 320, height: 320 };
      parts.push(h("img", { ...look, src: source, alt: `QR code of ${address}` }));
    }
    const lines = [
      h("p", { class: "code", translate: "no" }, code),
      h("p", { translate: "no" }, address.replace(/^https?:\/\//, "")),
    ];
    if (large) {
      lines.unshift(h("p", {}, "Point your phone’s camera at this, or open the address below."));
    } else if (moved) {
      lines.push(h("p", {}, "The address has changed. Scan it again; your votes stay."));
    }
    if (note && !here && (large || isDesk)) {
      lines.push(h("p", { class: "message error unreachable" }, note));
    }
    parts.push(h("div", {}, lines));
    this.join.classList.toggle("large", large);
    this.join.replaceChildren(...parts);
  }

  async #setDoor(open) {
    await ask(`class/${this.code}/door`, { body: { open } });
    this.#poll();
  }

  async #changeCode() {
    if (
      !confirm(
        "Give the class another code? Its phones must enter the new one, and an open vote begins anew.",
      )
    )
      return;
    const { status, answer } = await ask(`class/${this.code}/code`, { body: {} });
    if (status !== 200) {
      this.problem = answer.detail;
      return;
    }
    keepClass(answer.code);
    if (this.role) {
      this.#fire(answer.code);
      return;
    }
    this.gone = true;
    location.href = `learn?class=${answer.code}`;
  }

  async #end() {
    if (
      !confirm(
        "End this class and delete its votes? Save the counts as CSV first if you want to keep them.",
      )
    )
      return;
    this.gone = true;
    await ask(`class/${this.code}/end`, { body: {} });
    forgetClass(this.code);
    if (this.role) this.#fire("");
    else location.href = "learn";
  }

  /** The button that goes on: to the next phase, the next question, or the one of this step. */
  #goOn({ phase, question, of, lesson }) {
    const go = (words, to, at) =>
      h("button", { type: "button", class: "go", onclick: () => this.#step(to, at) }, words);
    if (!phase.startsWith("vote")) {
      const asksNothing = this.role && this.target === null; // the screen would show no question to the voters
      if (asksNothing || this.#past) return "";
      if (this.#behind) return go("Start the vote", "next", this.target);
    }
    const [to, words] = STEPS[phase];
    if (phase !== "reveal") return go(words, to);
    if (this.role) return ""; // the lecture goes on
    if (question + 1 < of) return go(words, to);
    return lesson
      ? h("a", { class: "quiet", href: this.link({ lesson }) }, "Back to the lesson")
      : "";
  }

  #showButtons(room) {
    const { phase, of, door } = room;
    const isAsked = !this.#behind && !this.#past; // the class is at the question of this step
    const buttons = [this.#goOn(room)];
    const quiet = (label, onclick) =>
      buttons.push(h("button", { type: "button", class: "quiet", onclick }, label));
    if (phase === "closed1" && isAsked) {
      quiet("Discuss, then vote again", () => this.#step("discuss"));
    }
    if (CLOSED.includes(phase) && isAsked && !this.#peek) {
      const label = this.role ? "Show the votes on the screen" : "Show the votes";
      quiet(label, () => this.#showVotes());
    }
    if (phase === "reveal") quiet("Save the counts as CSV", () => this.#saveCounts());
    if (phase === "reveal" && of > 1) {
      const label = this.#questions ? "Hide the summary" : "Show the summary";
      quiet(label, () => this.#toggleSummary());
    }
    quiet(door ? "Close the door" : "Open the door", () => this.#setDoor(!door));
    quiet("Change the code", () => this.#changeCode());
    quiet("End and delete", () => this.#end());
    this.buttons.replaceChildren(...buttons);
  }

  #saveCounts() {
    const href = `api/v1/class/${this.code}/votes.csv`;
    h("a", { href, download: `class-${this.code}.csv` }).click();
  }

  /** What the stage shows: the question, and as much of the votes and of BERT’s answer as the phase allows. */
  #questionParts(room) {
    const { prompt, choices, phase, question, of, reveal, counts, numbers } = room;
    if (this.#questions) return [this.#summary()];
    if (this.#past)
      return [
        h(
          "p",
          { class: "hint" },
          `This vote is over. The class is at question ${question + 1} of ${of}.`,
        ),
      ];
    const out = [
      h("p", { class: "hint" }, `Question ${question + 1} of ${of}`),
      h("div", { class: "prompt" }, render(prompt)),
    ];
    // its line is kept free
    if (CLOSED.includes(phase) && phase !== "discuss" && this.role !== "screen") {
      out.push(h("p", { class: "after advice" }, this.#advice.words || "\u00a0"));
    }
    if (phase === "discuss") {
      out.push(
        h(
          "p",
          { class: "after" },
          "Find someone who answered differently, and convince them. Then vote again.",
        ),
      );
    }
    if (counts) {
      out.push(this.#bars(room));
    } else if (numbers) {
      out.push(this.#dots(room));
    } else if (choices.length) {
      const options = choices.map((one) => h("li", {}, render(one)));
      out.push(h("ul", { class: "options-asked" }, options));
      return out;
    } else {
      out.push(h("p", { class: "hint" }, "Type a number on your phone."));
      return out;
    }
    if (phase !== "reveal") return out;
    if (reveal.problem) out.push(h("p", { class: "message error" }, reveal.problem));
    if (reveal.after?.length) out.push(h("div", { class: "after" }, render(reveal.after)));
    if (room.moves?.flat().some(Boolean)) out.push(this.#moves(room));
    if (reveal.link && this.role !== "desk")
      out.push(Object.assign(h("bx-view"), { schema: this.schema, link: reveal.link }));
    return out;
  }

  /** Votes for each choice: bars of the first vote, of the second if there was one, and of BERT once it has answered. */
  #bars({ choices, counts, reveal, phase }) {
    const [first, second] = counts;
    const again = second.some(Boolean);
    const shares = reveal?.shares;
    const totals = counts.map((round) => Math.max(1, sum(round)));
    const bar = (share, kind, words) => {
      const element = h("span", { class: `bar ${kind}` });
      element.style.setProperty("--share", share);
      return h("span", { class: "track" }, element, h("span", { class: "value" }, words));
    };
    const cast = (count, round) =>
      bar(
        count / totals[round],
        round ? "second" : "mine",
        again ? `${count} in vote ${round + 1}` : String(count),
      );
    const list = h(
      "ul",
      { class: "shares" },
      choices.map((words, i) =>
        h(
          "li",
          { class: reveal?.right?.includes(i) ? "right" : null },
          h("span", { class: "label" }, render(words)),
          cast(first[i], 0),
          again ? cast(second[i], 1) : "",
          shares ? bar(shares[i], "theirs", `BERT ${Math.round(100 * shares[i])} %`) : "",
        ),
      ),
    );
    const isDistribution = shares && Math.abs(sum(shares) - 1) < 0.005; // over the choices
    if (isDistribution) {
      const last = again ? 1 : 0;
      const common = shares.map((share, i) => Math.min(share, counts[last][i] / totals[last]));
      const words = `The class’s votes and BERT’s probabilities overlap by ${Math.round(100 * sum(common))} %.`;
      return h("div", {}, list, h("p", { class: "after" }, words));
    }
    if (phase === "reveal" || this.role) return list;
    const words = "Everyone who sees this screen sees the counts; phones do not show them yet.";
    return h("div", {}, list, h("p", { class: "hint" }, words));
  }

  /** Answers to a question for a number: a dot for each, and a line for BERT's. */
  #dots({ numbers, reveal, percent }) {
    const all = numbers.flat();
    if (reveal?.number !== undefined) all.push(reveal.number);
    if (percent) all.push(0, 1);
    const low = Math.min(...all);
    const high = Math.max(...all);
    const at = (x) => `${high > low ? (100 * (x - low)) / (high - low) : 50}%`;
    const words = (x) => (percent ? `${Math.round(100 * x)} %` : String(Math.round(100 * x) / 100));
    const place = (mark, x) => {
      mark.style.left = at(x);
      return mark;
    };
    const lines = [];
    numbers.forEach((values, i) => {
      if (!values.length) return;
      lines.push(h("p", { class: "hint" }, numbers[1].length ? `Vote ${i + 1}` : "The class"));
      const marks = values.map((x) => place(h("span", { class: "dot" }), x));
      if (reveal?.number !== undefined) {
        const label = h("span", {}, `BERT ${words(reveal.number)}`);
        marks.push(place(h("span", { class: "line" }, label), reveal.number));
      }
      const label = `Vote ${i + 1}: ${values.map(words).join(", ")}`;
      lines.push(h("div", { class: "dots", role: "img", "aria-label": label }, marks));
      lines.push(h("p", { class: "ends" }, h("span", {}, words(low)), h("span", {}, words(high))));
    });
    return h("div", {}, lines);
  }

  /** The questions so far: how many were right in each vote, and what BERT answers. */
  #summary() {
    const questions = this.#questions ?? [];
    const again = questions.some((one) => one.right[1]);
    const heads = again
      ? ["", "Question", "Right in vote 1", "Right in vote 2", "BERT’s answer"]
      : ["", "Question", "Right", "BERT’s answer"];
    const score = (vote) => {
      if (!vote) return "–";
      const [right, all] = vote;
      return `${right}\u00a0of\u00a0${all} (${Math.round((100 * right) / all)}\u00a0%)`;
    };
    const row = ({ text, right: [first, second], bert }, i) => {
      const cells = [String(i + 1), render(text), score(first)];
      if (again) cells.push(score(second));
      cells.push(bert || "–");
      return h(
        "tr",
        {},
        cells.map((cell) => h("td", {}, cell)),
      );
    };
    const top = heads.map((name) => h("th", { scope: "col" }, name));
    return h(
      "table",
      { class: "summary" },
      h("caption", {}, "The class so far"),
      h("thead", {}, h("tr", {}, top)),
      h("tbody", {}, questions.map(row)),
    );
  }

  /** How many changed their answer, from which to which. *moves*[i][j]: from choice i to choice j. */
  #moves({ choices, moves }) {
    const lines = [];
    moves.forEach((row, i) =>
      row.forEach((count, j) => {
        if (i === j || !count) return;
        const from = render(choices[i]);
        const to = render(choices[j]);
        lines.push(h("li", {}, `${count} moved from “`, from, "” to “", to, "”"));
      }),
    );
    if (!lines.length) return h("p", { class: "hint" }, "Nobody changed their answer.");
    return h("ul", { class: "moves" }, lines);
  }
}
customElements.define("bx-board", Board);
