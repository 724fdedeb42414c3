// <bx-run>: one run: its curves while it learns, its results, and what can be done with it. Fires "changed" with the id of the
// run to show ("" for none) after an action that changes the list of runs.
import "./cases.js";
import "./figure.js";
import { ask, unanswered } from "./backend.js";
import { h, newKey, onEnter, save, unbroken } from "./kit.js";
import { actionButtons, offerActions } from "./run_buttons.js";
import { isLive } from "./runs.js";
import { message, section, table } from "./table.js";

/** @import { Report } from "./types.d.ts" */

const BETWEEN_MS = 1000; // two looks at a run that goes on
const LONGEST_MS = 8000; // between two attempts to follow a run on a server that does not answer
const EXPORT_NOTE =
  "ZIP: the folder that transformers loads, with its model card, settings and metrics. ONNX: the encoder and its head for onnxruntime; of a run that learned vectors, the encoder alone.";
const MAX_SHARES = 10; // labels of an answer
const MAX_ROWS = 50; // of a list in it

class Run extends HTMLElement {
  /** @type {HTMLElement[]} */
  actions;
  /** @type {AbortController | undefined} */
  #abort; // ends the following of a run
  /** @type {number | undefined} */
  #timer; // of the next look
  /** @type {Report | undefined} */
  #report; // on the screen
  #looks = 0;
  #drawn = 0; // the look that is on the screen

  connectedCallback() {
    if (this.firstChild) return;
    const button = (words, id, onclick) => h("button", { type: "button", id, onclick }, words);
    this.head = h("div", { id: "headline" });
    this.message = h("div", { class: "notices" });
    this.actions = actionButtons((name) => this.#act(name));
    this.rename = h("input", {
      id: "rename",
      type: "text",
      maxlength: 80,
      placeholder: "New name, then Enter",
      "aria-label": "New name",
      onkeydown: onEnter(() => this.#rename()),
    });
    this.figure = h("bx-figure", { id: "figure" });
    this.said = h("p", { class: "said", role: "status", dir: "auto" });
    this.advice = h("div");
    this.sharing = h("div", { id: "sharing" });
    this.others = h("div", { class: "choices" });
    this.over = h(
      "details",
      { id: "over", hidden: true },
      h("summary", {}, "Compare with other runs"),
      this.others,
    );
    this.compared = h("div", { id: "compared" });
    this.row = h("form", {
      id: "playground",
      class: "playground",
      onsubmit: (event) => {
        event.preventDefault();
        this.#try();
      },
    });
    this.answer = h("div", { id: "answer", "aria-live": "polite" });
    this.why = button("Which rows taught it this?", "why", () =>
      this.#trace("influence", { row: this.#typed }),
    );
    this.suspects = button("Find wrong labels", "suspects", () => this.#trace("suspects", {}));
    this.taught = h("div", { id: "taught", "aria-live": "polite" });
    this.results = h("div", { id: "results" });
    this.confusion = h("bx-figure", {
      id: "difference",
      onjump: ({ detail }) => this.#cell(detail.set),
    });
    this.rows = h("div", { id: "rows" });
    this.append(
      this.head,
      h(
        "div",
        { id: "run-actions", class: "row" },
        this.actions,
        (this.sharer = button("Share", "share", () => this.#share())),
        this.rename,
      ),
      this.message,
      this.sharing,
      this.figure,
      h("div", { id: "caption" }, this.said),
      this.advice,
      this.over,
      this.compared,
      this.row,
      this.answer,
      h("div", { id: "tracing", class: "row" }, this.why, this.suspects),
      this.taught,
      this.results,
      this.confusion,
      this.rows,
      this.#exports(),
    );
  }

  #exports() {
    this.withRows = h("input", { type: "checkbox", id: "with-rows" });
    this.repository = h("input", {
      type: "text",
      id: "repository",
      placeholder: "OWNER/NAME",
      autocomplete: "off",
    });
    this.token = h("input", { type: "password", id: "token", autocomplete: "off" });
    this.exported = h("p", { class: "note", role: "status" });
    const kinds = ["ZIP", "ONNX"].map((kind) =>
      h("button", { type: "button", onclick: () => this.#export(kind) }, kind),
    );
    const field = (label, control) =>
      h("div", { class: "setting" }, h("label", { for: control.id }, label), control);
    this.export = h(
      "details",
      { id: "along" },
      h("summary", {}, "Export"),
      h("p", { class: "note" }, EXPORT_NOTE),
      h(
        "div",
        { class: "setting check" },
        h("label", {}, this.withRows, " With validation rows"),
        h("small", {}, "three in the model card, all with their answers in a file"),
      ),
      h("div", { id: "kinds", class: "row" }, kinds),
      this.exported,
      h(
        "div",
        { class: "options" },
        field("Or upload to the hub", this.repository),
        field("Hugging Face access token", this.token),
      ),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", onclick: () => this.#upload() }, "Upload"),
      ),
    );
    return this.export;
  }

  /** Show the run *id*, and follow it until it ends; "" shows none. */
  async show(id) {
    const same = id === this.dataset.run;
    this.dataset.run = id;
    this.hidden = !id;
    this.#abort?.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!id) return;
    if (!same) this.#empty();
    await this.#look();
    if (this.#report && isLive(this.#report.run)) this.#follow(id);
  }

  #empty() {
    this.#report = undefined;
    this.figure.clear();
    this.confusion.clear();
    this.rename.value = this.said.textContent = this.exported.textContent = "";
    this.over.open = this.export.open = false;
    for (const part of [
      this.head,
      this.message,
      this.sharing,
      this.advice,
      this.others,
      this.compared,
      this.row,
      this.answer,
      this.taught,
      this.results,
      this.rows,
    ]) {
      part.replaceChildren();
    }
  }

  async #follow(id) {
    const { signal } = (this.#abort = new AbortController());
    for (let pause = BETWEEN_MS; !signal.aborted; pause = Math.min(LONGEST_MS, 2 * pause)) {
      try {
        await ask(`runs/${id}/events`, {
          signal,
          tell: () => {
            this.#timer ??= setTimeout(() => this.#look(), BETWEEN_MS);
          },
        });
        break;
      } catch {
        // the server is restarting, or another run is shown
        if (!signal.aborted) await new Promise((done) => setTimeout(done, pause));
      }
    }
    if (!signal.aborted) {
      await this.#look();
      this.#fire(id);
    }
  }

  /** Ask what the run has learned, and show it. */
  async #look() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const look = (this.#looks += 1);
    const id = this.dataset.run,
      beside = [...this.others.querySelectorAll("input:checked")].map((one) => one.value).join();
    const found = await ask(`runs/${id}/report?${new URLSearchParams({ beside })}`).catch(
      () => null,
    );
    if (!found || id !== this.dataset.run) return; // the next event asks again; or another run was chosen
    if (look < this.#drawn) return; // it was asked before what is on the screen
    this.#drawn = look;
    this.classList.toggle("absent", found.status === 404); // nothing to stop, resume or delete
    if (found.status === 404) this.#empty();
    if (found.status === 200) this.#draw(found.answer);
    else if (!this.#report) this.message.replaceChildren(...message(found.answer.detail));
  }

  /** @param {Report} report */
  #draw(report) {
    const before = this.#report,
      { run, can } = report;
    this.#report = report;
    if (!before) this.message.replaceChildren();
    this.head.replaceChildren(
      h("h2", { dir: "auto" }, run.name),
      h("p", { class: `state ${run.state}`, role: "status" }, run.status),
      report.pace ? h("p", { class: "pace" }, report.pace) : "",
      ...report.warnings.flatMap((words) => message(words, "busy")),
      h(
        "p",
        { class: "links" },
        (report.links ?? []).flatMap(({ title, href }, i) => [
          i ? " · " : "",
          h("a", { class: "open", href }, title),
        ]),
      ),
    );
    offerActions(this.actions, can);
    if (document.activeElement !== this.rename) this.rename.placeholder = "New name, then Enter";
    this.#chart(this.figure, report.chart, report.said);
    this.said.textContent = unbroken(report.said ?? "");
    this.sharer.hidden = !can.includes("share");
    this.#showLink(report.shared);
    this.#advise(report.advice);
    this.#compare(report);
    this.#playground(report);
    this.why.hidden = !can.includes("influence");
    this.suspects.hidden = !can.includes("suspects");
    this.export.hidden = !can.includes("export");
    if (before && isLive(before.run) === isLive(run)) return; // what follows changes at the end; the rows of a cell stay
    this.results.replaceChildren(...this.#results(report.best));
    this.#chart(
      this.confusion,
      report.confusion,
      "The confusion matrix: press a cell to see its rows.",
    );
    this.rows.replaceChildren(
      ...(report.cases ? [h("bx-run-cases", { run: run.id })] : section(report.rows)),
    );
  }

  #chart(place, figure, said) {
    place.hidden = !figure;
    if (figure) place.show(figure, said ?? "").catch(() => {}); // it says itself that it could not be drawn
  }

  #advise(advice) {
    if (!advice) {
      this.advice.replaceChildren();
      return;
    }
    const { said, settings } = advice;
    const onclick = () => this.#act("again", { settings });
    const label = `Run again with ${settings.epochs} epochs`;
    const button = h("button", { type: "button", onclick }, label);
    const look = { class: "message busy", role: "status" };
    this.advice.replaceChildren(h("p", look, said, " ", button));
  }

  /** The other seeds, the runs to draw over this one, and what differs.
   *  @param {Report} report */
  #compare({ comparable = [], seeds, compared }) {
    const chosen = new Set(
      [...this.others.querySelectorAll("input:checked")].map((one) => one.value),
    );
    const known = [...this.others.querySelectorAll("input")].map((one) => one.value);
    this.over.hidden = !comparable.length;
    if (comparable.map(({ id }) => id).join() !== known.join()) {
      this.others.replaceChildren(
        ...comparable.map(({ id, name }) =>
          h(
            "label",
            {},
            h("input", {
              type: "checkbox",
              value: id,
              checked: chosen.has(id),
              onchange: () => this.#look(),
            }),
            ` ${name} (${id.slice(0, 6)})`,
          ),
        ),
      );
    }
    this.compared.replaceChildren(...section(seeds), ...section(compared));
  }

  /** A field for each text of a new row; what is typed stays.
   *  @param {Report} report */
  #playground({ texts = [], can }) {
    const names = texts.map(({ name }) => name).join();
    this.row.hidden = !can.includes("try") || !texts.length;
    if (this.row.dataset.names === names && this.row.firstChild) return;
    this.row.dataset.names = names;
    this.row.replaceChildren(
      ...texts.map(({ name, label }) =>
        h(
          "div",
          { class: "setting" },
          h("label", { for: `try-${name}` }, label),
          h("textarea", {
            id: `try-${name}`,
            name,
            rows: 1,
            dir: "auto",
            onkeydown: onEnter(() => this.#try()),
          }),
        ),
      ),
      h("button", { id: "try" }, "Try it"),
    );
  }

  get #typed() {
    return Object.fromEntries(
      [...this.row.querySelectorAll("textarea")].map((field) => [field.name, field.value]),
    );
  }

  #results(best) {
    if (!best) return [];
    const tables = Object.entries(best.tables).map(([title, rows]) =>
      h("details", {}, h("summary", {}, title), table(rows) ?? ""),
    );
    return [
      h("h3", {}, `Best, at step ${best.step.toLocaleString("en")}`),
      table(best.metrics) ?? "",
      best.said ? h("p", { class: "summary" }, best.said) : "",
      ...tables,
      h("details", {}, h("summary", {}, "The same as a command"), h("pre", {}, best.command)),
    ];
  }

  // Actions of the user. The answer belongs to the run that was shown when they began.

  /** POST *body* to *path* of this run; undefined, after showing why, if that fails. */
  async #post(path, body, tell) {
    const id = this.dataset.run;
    const { status, answer } = await ask(`runs/${id}/${path}`, { body, tell }).catch(unanswered);
    if (id !== this.dataset.run) return undefined;
    const isGood = status >= 200 && status <= 299;
    this.message.replaceChildren(...(isGood ? [] : message(answer.detail)));
    return isGood ? answer : undefined;
  }

  async #act(name, more = {}) {
    const run = await this.#post(name, name === "again" ? { key: newKey(), ...more } : {});
    if (run) this.#fire(name === "delete" ? "" : run.id);
  }

  async #rename() {
    const run = await this.#post("rename", { name: this.rename.value });
    if (!run) return;
    this.rename.value = "";
    this.#fire(run.id);
  }

  /** Make a link with which others watch the curve. */
  async #share() {
    this.sharer.disabled = true;
    const shared = await this.#post("share", {});
    this.sharer.disabled = false;
    if (shared) this.#showLink(shared);
  }

  /** Show the link of the run, if it is *shared*. */
  #showLink(shared) {
    if (!shared) {
      this.sharing.replaceChildren();
      return;
    }
    if (this.sharing.querySelector(`[data-key="${shared.key}"]`)) return;
    const end = async () => {
      if (await this.#post("unshare", {})) this.#showLink(null);
    };
    this.sharing.replaceChildren(
      h(
        "div",
        { class: "shared", "data-key": shared.key },
        h("img", {
          src: `api/v1/shared/${shared.key}/qr.svg?for=${encodeURIComponent(shared.address)}`,
          alt: `QR code of ${shared.address}`,
          width: 160,
          height: 160,
        }),
        h(
          "div",
          {},
          h(
            "p",
            {},
            "Whoever has this address watches the curve of this run, and sees nothing else of it.",
          ),
          h(
            "p",
            {},
            h(
              "a",
              { class: "open", href: shared.address, target: "_blank", translate: "no" },
              shared.address,
            ),
          ),
          shared.note ? h("p", { class: "message error" }, shared.note) : "",
          h("button", { type: "button", onclick: end }, "Stop sharing"),
        ),
      ),
    );
  }

  async #try() {
    const answer = await this.#post("try", { row: this.#typed });
    if (answer) this.answer.replaceChildren(...answered(answer));
  }

  /** Which training rows are behind an answer, or look wrong. */
  async #trace(what, body) {
    const say = (words) => this.taught.replaceChildren(...message(words, "busy"));
    const tell = ({ done, place }) => {
      if (done === undefined) say(`Waiting: number ${place} in line…`);
      else say(`Reading the training rows: ${Math.round(100 * done)} %…`);
    };
    say("Reading the training rows…");
    const traced = await this.#post(what, body, tell);
    if (!traced) {
      this.taught.replaceChildren();
      return;
    }
    const { title, note, said, tables } = traced;
    const parts = [h("h3", { dir: "auto" }, title), h("p", { class: "note", dir: "auto" }, note)];
    if (said) parts.push(h("p", { class: "summary" }, said));
    parts.push(...tables.flatMap((one) => section(one, "h4")));
    this.taught.replaceChildren(...parts);
  }

  /** The rows of a cell of the confusion matrix. */
  async #cell({ gold, predicted }) {
    const { labels = [] } = this.#report ?? {},
      query = new URLSearchParams({ gold: labels[gold], predicted: labels[predicted] });
    const { status, answer } = await ask(`runs/${this.dataset.run}/rows?${query}`);
    this.rows.replaceChildren(...(status === 200 ? section(answer) : message(answer.detail)));
  }

  async #export(kind) {
    this.exported.textContent = `Making the ${kind} file…`;
    const file = await this.#post("export", {
      kind: kind.toLowerCase(),
      with_rows: this.withRows.checked,
    });
    this.exported.textContent = "";
    if (!file) return;
    const href = `api/v1/files/${file.file}`;
    this.exported.append(
      "Ready: ",
      h("a", { class: "open", href, download: file.name }, file.name),
    );
    save(file.name, href);
  }

  async #upload() {
    const sent = await this.#post("upload", {
      repository: this.repository.value,
      token: this.token.value,
      with_rows: this.withRows.checked,
    });
    if (!sent) return;
    this.token.value = "";
    this.exported.textContent = `Uploaded to ${sent.address}. It is private.`;
  }

  #fire(detail) {
    this.dispatchEvent(new CustomEvent("changed", { detail }));
  }
}
customElements.define("bx-run", Run);

/** The answer of a checkpoint to a new row: labels as shares, anything else as tables. */
function answered(answer) {
  if (Array.isArray(answer.labels)) {
    const bars = answer.labels.slice(0, MAX_SHARES).map(({ label, probability }) => {
      const share = (100 * probability).toFixed(1);
      const bar = h("span", { class: "share" });
      bar.style.setProperty("--p", `${share}%`);
      return h("li", {}, bar, h("b", { dir: "auto" }, label), h("span", {}, `${share} %`));
    });
    return [h("ul", { class: "shares" }, bars)];
  }
  /** @type {Record<string, any>} */
  const single = {}; // what is no list
  const parts = [];
  for (const [name, value] of Object.entries(answer)) {
    if (!Array.isArray(value)) {
      single[name] = value;
      continue;
    }
    if (!value.length) continue;
    const rows = value
      .slice(0, MAX_ROWS)
      .map((one) => (typeof one === "object" ? one : { answer: one }));
    parts.push(h("h3", {}, name.replaceAll("_", " ")), table(rows) ?? "");
  }
  if (Object.keys(single).length) parts.unshift(table([single]));
  return parts;
}
