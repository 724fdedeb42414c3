// The file that a view reads in place of what is built in: the buttons that upload it, ask what can be read of it, and
// stop using it.
import { sendFile } from "./backend.js";
import { h } from "./kit.js";

/** @import { View } from "./types.d.ts" */
/** @typedef {import("./state.js").State} State */
/** @typedef {{ tell: (words: string, kind?: string) => void, message: Element }} Stage */

/** @type {Record<string, string>} */
const ACCEPTS = {
  lines: ".txt,.csv,.tsv,.jsonl,.ndjson",
  rows: ".csv,.tsv,.jsonl,.json,.txt,.zip",
  vectors: ".jsonl,.ndjson",
};

export class FileInUse {
  /** @type {Map<string, string>} */
  #names = new Map(); // of what was uploaded since the page was loaded: its key -> the name of the file
  #kind = ""; // of what the view takes: "lines", "rows" or "vectors"; "": nothing

  /** *page*: whose state it changes; *audit* opens the view that says what can be read of a file, null where there is none.
   *  @param {{ state: State, stage: Stage }} page
   *  @param {(() => void) | null} audit */
  constructor(page, audit) {
    this.page = page;
    this.canAudit = Boolean(audit);
    this.file = h("input", {
      type: "file",
      id: "lines",
      hidden: true,
      onchange: () => this.#send(),
    });
    this.upload = button("", "do-upload", () => this.file.click());
    this.audit = button("Can it read them?", "do-audit", () => {
      const { lines, rows } = this.page.state.now.options;
      this.page.state.setOptions("audit", { lines: lines || rows });
      audit?.();
    });
    this.buttons = [this.upload, this.audit, this.file];
    this.words = h("span", { dir: "auto" });
    const stop = button("Stop using it", "do-built-in", () =>
      this.page.state.setOptions(this.page.state.now.view, { [this.#kind]: "" }),
    );
    this.line = h("p", { id: "uploaded", class: "hint", hidden: true }, this.words, " ", stop);
  }

  /** Show what *view* takes, and the file that it reads now.
   *  @param {View} view */
  show(view) {
    const { now } = this.page.state;
    this.#kind = view.upload;
    this.upload.hidden = !view.upload;
    this.upload.textContent = `Upload ${view.upload}`;
    this.file.accept = ACCEPTS[view.upload] ?? "";
    const key = view.upload && now.options[view.upload];
    this.line.hidden = !key;
    const name = this.#names.get(key);
    this.words.textContent = name ? `Your file ${name} is in use.` : "Your file is in use.";
    const hasTexts = now.options.lines || now.options.rows;
    this.audit.hidden = !(this.canAudit && hasTexts && now.view !== "audit");
  }

  async #send() {
    const [file] = this.file.files;
    this.file.value = "";
    const kind = this.#kind;
    const { view } = this.page.state.now;
    this.page.stage.tell(`Reading the ${kind}…`, "busy");
    const { status, answer } = await sendFile(kind, file);
    if (status !== 200) {
      this.page.stage.tell(`${answer.detail} ${file.name} is not in use.`);
      return;
    }
    this.#names.set(answer[kind], file.name);
    await this.page.state.setOptions(view, { [kind]: answer[kind] });
    if (!this.page.stage.message.firstChild) this.page.stage.tell(answer.notice, "busy");
  }
}

/** @param {string} label
 *  @param {string} id
 *  @param {() => void} onclick */
const button = (label, id, onclick) => h("button", { type: "button", id, onclick }, label);
