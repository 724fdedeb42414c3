// <bx-pretrain>: the page on which the papers' experiments are repeated: an experiment on the left, the started ones and one of
// them on the right.
import "./runs.js";
import "./figure.js";
import { ask, sendFile, unanswered } from "./backend.js";
import { fileField, h, unbroken } from "./kit.js";
import { about } from "./masthead.js";
import { actionButtons, offerActions } from "./run_buttons.js";
import { progressBar, stateWords } from "./runs.js";
import { RunsPage } from "./runs_page.js";
import { message, section, table } from "./table.js";

/** @import { TrialReport } from "./types.d.ts" */

const FAIRY_TALES = "fairy tales",
  UPLOAD = "my text";
const MAX_MINUTES = 60;
const PARK =
  "The park opens at eight. Dogs must be kept on a lead. There is a small lake behind the trees.";
const TEXT_NOTE =
  "The fairy tales come with this app: 278 stories, three megabytes of English (FairytaleQA, Xu et al., 2022). Your own text must be plain text (.txt or .txt.xz, up to 25 MB, 100 MB unpacked), one paragraph per line, a blank line between documents.";
/** A *share* in per cent, "" for none. */
function percent(share) {
  if (share === null || share === undefined) return "";
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${(100 * share).toPrecision(share < 0.1 ? 2 : 3)} %`;
}

class Pretrain extends RunsPage {
  /** @type {Record<string, any>} */
  experiments;
  /** @type {HTMLElement[]} */
  actions;
  /** @type {{file: string, name: string} | undefined} */
  #file; // the uploaded text
  #busy = false; // a start is on its way

  async open() {
    this.list = h("bx-runs", {
      id: "runs",
      onchoose: ({ detail }) => this.show(detail, { scroll: true }),
      onrestore: ({ detail }) => this.#act("restore", detail),
    });
    const [{ answer: experiments }, { answer: page }] = await Promise.all(
      ["experiments", "page"].map((path) => ask(path)),
    );
    this.experiments = Object.fromEntries(experiments.map((one) => [one.name, one]));
    this.append(
      h(
        "header",
        { class: "masthead" },
        h("h1", {}, "Pretrain"),
        h(
          "p",
          {},
          "How BERT is pretrained: see it, then repeat the papers’ experiments in minutes.",
        ),
      ),
      doors(page.watch),
      h(
        "div",
        { class: "halves" },
        h("section", { id: "wish", "aria-label": "A new experiment" }, this.#setup()),
        h("section", { "aria-label": "Experiments" }, this.list, this.#detail()),
      ),
      about(page.about),
    );
    this.#choose(experiments[0].name);
    this.details = this.summary;
    this.begin("trials", "trial");
    await this.refresh();
  }

  #setup() {
    const radio = (name, value, words, onchange) =>
      h("label", {}, h("input", { type: "radio", name, value, onchange }), " ", words);
    this.experiment = h(
      "fieldset",
      { class: "setting", id: "experiment" },
      h("legend", {}, "Experiment"),
      h(
        "div",
        { class: "list" },
        Object.values(this.experiments).map(({ name, title }) =>
          radio("experiment", name, title, () => this.#choose(name)),
        ),
      ),
    );
    this.about = h("div", { id: "about" });
    this.source = h(
      "fieldset",
      { class: "setting", id: "text-source" },
      h("legend", {}, "Text to learn from"),
      h(
        "div",
        { class: "choices" },
        [FAIRY_TALES, UPLOAD].map((one) => radio("text", one, one, () => this.#draw())),
      ),
    );
    this.source.querySelector("input").checked = true;
    this.named = h("span", { class: "named", dir: "auto" });
    const use = (file) => this.#send(file);
    this.file = fileField({ id: "text-file", label: "Text", accept: ".txt,.xz", use }, this.named);
    this.file.hidden = true;
    this.minutes = h("input", {
      type: "number",
      id: "minutes",
      min: 0.5,
      max: MAX_MINUTES,
      step: 0.5,
    });
    this.message = h("div", { id: "message" });
    this.start = h(
      "button",
      { type: "button", id: "start", class: "go", onclick: () => this.#start() },
      "Start",
    );
    return [
      this.experiment,
      this.about,
      this.source,
      this.file,
      h("p", { class: "note" }, TEXT_NOTE),
      h(
        "div",
        { class: "setting" },
        h("label", { for: "minutes" }, "Minutes per run"),
        this.minutes,
      ),
      h("div", { class: "row" }, this.start),
      this.message,
    ];
  }

  #detail() {
    this.actions = actionButtons((name) => this.#act(name, this.chosen));
    this.summary = h("div", { id: "summary" });
    this.figure = h("bx-figure", { id: "figure", hidden: true });
    this.said = h("p", { class: "said", role: "status" });
    this.note = h("p");
    this.caption = h(
      "div",
      { id: "caption", hidden: true },
      this.said,
      h("details", { class: "misread" }, h("summary", {}, "How not to misread this"), this.note),
    );
    return h(
      "div",
      { id: "detail" },
      h("div", { id: "run-actions", class: "row" }, this.actions),
      this.summary,
      this.figure,
      this.caption,
    );
  }

  /** Show what an experiment runs and measures, and what the papers found. */
  #choose(name) {
    const { question, arms, measure, note, published, source, minutes } = this.experiments[name];
    this.experiment.querySelector(`[value="${name}"]`).checked = true;
    this.minutes.value = minutes;
    this.about.replaceChildren(
      h("p", { class: "summary" }, question),
      h(
        "p",
        { class: "note" },
        `${arms.length} runs: ${arms.join(", ")}. Measured: ${measure.toLowerCase()}. ${note}`,
      ),
      ...section({
        title: "Published, on other data and far larger models",
        rows: published.map(plain),
      }),
      h("p", { class: "note" }, `${source}.`),
    );
  }

  #draw() {
    this.file.hidden = this.#chosenOf("text") !== UPLOAD;
  }
  #chosenOf(name) {
    return this.querySelector(`input[name=${name}]:checked`).value;
  }

  async #send(chosen) {
    this.#tell(`Uploading ${chosen.name}…`, "busy");
    const { status, answer } = await sendFile("files", chosen);
    this.#tell(status === 200 ? "" : answer.detail);
    if (status !== 200) return;
    this.#file = answer;
    this.named.textContent = answer.name;
  }

  async #start() {
    const own = this.#chosenOf("text") === UPLOAD;
    if (this.#busy) return;
    if (own && !this.#file) {
      this.#tell("No text has been uploaded yet. Upload one, or choose the fairy tales.");
      return;
    }
    const minutes = this.minutes.valueAsNumber;
    if (!(minutes > 0 && minutes <= MAX_MINUTES)) {
      this.#tell(`Minutes per run: type a number above 0, at most ${MAX_MINUTES}.`);
      return;
    }
    this.#busy = true;
    this.#tell("Reading the text…", "busy");
    const body = {
      experiment: this.#chosenOf("experiment"),
      minutes,
      file: this.#file && own ? this.#file.file : "",
    };
    setTimeout(() => this.refresh(), 300); // it is listed while its text is read
    const { status, answer } = await ask("trials", {
      body,
      tell: ({ notice }) => notice && this.#tell(notice, "busy"),
    }).catch(unanswered);
    this.#busy = false;
    this.#tell(status === 202 ? "" : answer.detail);
    if (status === 202) this.show(answer.trial.id, { scroll: true });
  }

  async #act(action, id) {
    const { status, answer } = await ask(`trials/${id}/${action}`, { body: {} }).catch(unanswered);
    this.#tell(status === 200 ? "" : answer.detail);
    this.show(action === "delete" && status === 200 ? "" : id);
  }

  /** Draw the list, and the chosen experiment: the newest if there is none, or no longer. */
  async draw(trials, deleted) {
    if (!trials.some(({ id }) => id && id === this.chosen))
      this.select(trials.find(({ id }) => id)?.id ?? "");
    this.list.draw(trials, deleted, this.chosen);
    if (!this.chosen) {
      this.#report(null);
      return;
    }
    const reply = await ask(`trials/${this.chosen}`).catch(() => null); // it is asked for again
    if (reply?.status === 200) this.#report(reply.answer);
  }

  /** Show an experiment: its runs, what was measured, and its curves; null for none.
   *  @param {Partial<TrialReport> | null} report */
  #report(report) {
    const { can = [], arms = [], verdicts = [], chart = null, said = "", note = "" } = report ?? {};
    offerActions(this.actions, can);
    /** @type {Record<string, any>[]} */
    const measured = [];
    for (const {
      name,
      run,
      measured: { tokens, ...shares },
    } of arms) {
      if (tokens === undefined) continue;
      /** @type {Record<string, any>} */
      const row = { run: name };
      for (const [what, share] of Object.entries(shares)) row[what] = unbroken(percent(share));
      row.step = run.step;
      row.tokens = `${((tokens ?? 0) / 1e6).toFixed(1)} M`;
      measured.push(row);
    }
    const parts = [];
    if (arms.length) parts.push(h("ul", { class: "runs arms" }, arms.map(armEntry)));
    if (verdicts.length)
      parts.push(h("p", { class: "summary", role: "status" }, unbroken(verdicts.join(" "))));
    this.summary.replaceChildren(...parts, table(measured) ?? "");
    this.figure.hidden = !chart;
    if (chart) this.figure.show(chart, said).catch(() => {});
    this.caption.hidden = !said;
    this.said.textContent = unbroken(said);
    this.note.textContent = note;
  }

  #tell(words, kind = "error") {
    this.message.replaceChildren(...message(words, kind));
  }
}
customElements.define("bx-pretrain", Pretrain);

/** @param {TrialReport["arms"][number]} arm */
function armEntry({ name, run }) {
  const query = new URLSearchParams({
    view: "fill-mask",
    text: "The king had a beautiful [MASK].",
    checkpoint: `run:${run.id}`,
  });
  return h(
    "li",
    { class: "arm" },
    h("b", {}, name),
    stateWords(run),
    run.state === "finished"
      ? h("a", { class: "open", href: `./?${query}` }, "Open in Explore")
      : "",
    progressBar(run),
  );
}

/** Links to the views about pretraining. *snapshot*: of a training to watch, if one is at hand. */
function doors(snapshot) {
  const list = h("ul", { class: "doors" });
  const add = (title, what, query) => {
    const href = `./?${new URLSearchParams(query)}`;
    list.append(h("li", {}, h("a", { href }, h("b", {}, title), h("span", {}, what))));
  };
  add("Masking", "Which words are hidden, and what replaces them", {
    view: "masking",
    text: PARK,
  });
  add("Pairs", "True and random next sentences, as they are drawn", {
    view: "sentence-pairs",
    text: PARK,
  });
  if (snapshot) {
    add("Watch it learn", "A small BERT from random weights to its end, with a slider", {
      view: "fill-mask",
      text: "They live in the United [MASK] of America.",
      checkpoint: snapshot,
    });
  }
  return list;
}

/** A row of published numbers as it is printed. */
const plain = (row) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === "number" ? String(value) : value,
    ]),
  );

const page = h("bx-pretrain", { class: "bx" });
document.querySelector("#pretrain").append(page);
page.open();
