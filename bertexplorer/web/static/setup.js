// <bx-setup>: what a new run learns, from what and how. It shows the rows as the server reads them before the run starts. Fires
// "started" with the id of the run. What is set stays in this tab, also after a reload.
import { ask, sendFile, unanswered } from "./backend.js";
import { choosing, fileField, h, newKey } from "./kit.js";
import { message, table } from "./table.js";

/** @import { Setting, Task } from "./types.d.ts" */

const BUILT_IN = "built-in rows",
  UPLOAD = "my file",
  HUB = "the hub",
  SOURCES = [BUILT_IN, UPLOAD, HUB];
const ACCEPTS = ".csv,.tsv,.jsonl,.json,.txt,.conll,.label";
const TEXTS = /\.(csv|tsv|txt)$/i; // files whose texts can be audited
const VISIBLE = 3; // settings of all tasks that stand first
const KEPT = "bx-train"; // in the storage of the tab
const SOON_MS = 400; // after a change, until the rows are read again
const SMALL = 1_000_000; // bytes of a file that is read again after each change
const SHOWN_LABELS = 12;
const OWN = [
  // settings of the request, besides those of tasks
  {
    name: "seeds",
    kind: "int",
    default: 1,
    label: "Seeds",
    help: "repeats with other random numbers, for a mean and its spread",
    low: 1,
    high: 10,
    choices: [],
  },
  {
    name: "skip",
    kind: "bool",
    default: true,
    label: "Skip unusable rows",
    help: "otherwise the run does not start",
    choices: [],
  },
];
const START = {
  task: "classification",
  checkpoint: "",
  source: BUILT_IN,
  file: null,
  dev: null,
  hub: "",
  mapping: {},
  beside: [],
  values: {},
  name: "",
};
const number = (count) => count.toLocaleString("en");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

class Setup extends HTMLElement {
  /** @type {HTMLInputElement[]} */
  sources;
  /** @type {{show: (file: any) => void, field: HTMLElement}} */
  file; // the training rows
  /** @type {{show: (file: any) => void, field: HTMLElement}} */
  dev;
  /** @type {Record<string, Task>} */
  tasks;
  /** @type {Setting[]} */
  settings; // of all tasks
  #now = load();
  /** @type {Map<string, File>} the files that were chosen on this page, by name */
  #sent = new Map();
  #key = newKey(); // of the next run, so that pressing Start twice starts one
  /** @type {number | undefined} */
  #timer;
  /** @type {AbortController | undefined} */
  #abort; // ends the preview on its way

  /** Draw the form for *tasks*, as GET tasks lists them. */
  open({ tasks, settings }, checkpoint) {
    this.tasks = Object.fromEntries(tasks.map((task) => [task.name, task]));
    this.settings = settings;
    this.#now.checkpoint ||= checkpoint;
    if (!(this.#now.task in this.tasks)) this.#now = { ...START, checkpoint };
    this.append(...this.#rows(), this.#columns(), this.#form(), this.#buttons(), this.looked);
    this.#fill();
    this.#offer();
    this.#preview({ soon: true });
  }

  #rows() {
    const field = (label, control, help) =>
      h(
        "div",
        { class: "setting" },
        h("label", { for: control.id }, label),
        control,
        help ? h("small", {}, help) : "",
      );
    this.task = h(
      "select",
      { id: "task" },
      Object.values(this.tasks).map(({ name, title }) => h("option", { value: name }, title)),
    );
    choosing(this.task, (task) => this.#set({ task, mapping: {}, beside: [], values: {} }));
    this.from = h("select", { id: "start-from" });
    choosing(this.from, (name) => this.#set({ checkpoint: name }));
    this.about = h("p", { class: "note" });
    this.sources = SOURCES.map((one) =>
      h("input", {
        type: "radio",
        name: "source",
        value: one,
        onchange: () => this.#set({ source: one, mapping: {}, beside: [] }),
      }),
    );
    const source = h(
      "fieldset",
      { class: "setting", id: "source" },
      h("legend", {}, "Rows"),
      h(
        "div",
        { class: "choices" },
        this.sources.map((one) => h("label", {}, one, " ", one.value)),
      ),
    );
    this.file = this.#upload("file", "Training rows", "rows-file");
    this.dev = this.#upload(
      "dev",
      "Validation rows (otherwise a tenth of the training rows)",
      "dev-file",
    );
    this.files = h("div", {}, this.file.field, this.dev.field);
    this.hub = h("input", {
      id: "hub",
      type: "text",
      placeholder: "nyu-mll/glue:sst2",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#set({ hub: this.hub.value, mapping: {} }),
    });
    this.hubField = field(
      "Data set on the hub",
      this.hub,
      "NAME, NAME:CONFIGURATION or NAME:CONFIGURATION@SPLIT; press Preview rows",
    );
    return [
      h("div", { class: "options" }, field("Task", this.task), field("Start from", this.from)),
      this.about,
      source,
      this.files,
      this.hubField,
    ];
  }

  /** A field for a file, which is sent at once. */
  #upload(name, label, id) {
    const named = h("span", { class: "named", dir: "auto" });
    const remove = h(
      "button",
      {
        type: "button",
        class: "back",
        hidden: true,
        onclick: () => this.#set({ [name]: null, mapping: {}, beside: [] }),
      },
      "Remove",
    );
    const audit = h(
      "button",
      { type: "button", class: "back", hidden: true, onclick: () => this.#audit(name) },
      "Can it read them?",
    );
    const use = (file) => this.#send(name, file);
    const field = fileField({ id, label, accept: ACCEPTS, use }, named, " ", remove, " ", audit);
    return {
      field,
      show: (file) => {
        named.textContent = file?.name ?? "";
        remove.hidden = !file;
        audit.hidden = !file || !this.#sent.has(name);
      },
    };
  }

  /** Show what the checkpoint makes of the texts of the file called *name*. */
  async #audit(name) {
    const file = this.#sent.get(name);
    if (!file) return;
    this.#tell("Reading the texts…", "busy");
    const { status, answer } = await sendFile("lines", file);
    if (status !== 200) {
      this.#tell(answer.detail);
      return;
    }
    const query = { view: "audit", lines: answer.lines, checkpoint: this.#now.checkpoint };
    location.assign(`./?${new URLSearchParams(query)}`);
  }

  /** Take *file* as the training rows of a new run of *task*. */
  async take(file, task) {
    this.#set({ task, source: UPLOAD, dev: null, mapping: {}, beside: [], values: {} });
    await this.#send("file", file);
    this.task.focus();
  }

  /** Upload *chosen* as the file called *name*. */
  async #send(name, chosen) {
    this.#tell(`Uploading ${chosen.name}…`, "busy");
    const tell = ({ notice }) => notice && this.#tell(notice, "busy");
    const { status, answer } = await sendFile("files", chosen, tell);
    if (status !== 200) {
      this.#tell(answer.detail);
      return;
    }
    this.#tell("");
    if (TEXTS.test(chosen.name)) this.#sent.set(name, chosen);
    else this.#sent.delete(name);
    this.#set({
      [name]: { ...answer, size: chosen.size },
      ...(name === "file" && { mapping: {}, beside: [] }),
    });
  }

  #columns() {
    this.columns = h("div", { class: "options", id: "columns" });
    return this.columns;
  }

  #form() {
    this.form = h("bx-form", {
      id: "train-form",
      "data-plain": true,
      onset: ({ detail: { name, value } }) =>
        this.#set({ values: { ...this.#now.values, [name]: value } }),
    });
    return this.form;
  }

  #buttons() {
    this.named = h("input", {
      id: "run-name",
      type: "text",
      maxlength: 80,
      oninput: () => {
        this.#now.name = this.named.value;
        this.#save();
      },
    });
    this.check = h(
      "button",
      { type: "button", id: "check", onclick: () => this.#preview({ timed: true }) },
      "Preview rows",
    );
    this.begin = h(
      "button",
      { type: "button", id: "start", class: "go", onclick: () => this.#start() },
      "Start",
    );
    this.message = h("div", { id: "message" });
    this.looked = h("div", { id: "looked" });
    return h(
      "div",
      { class: "begin" },
      h(
        "div",
        { class: "setting" },
        h("label", { for: "run-name" }, "Name of the run"),
        this.named,
      ),
      h("div", { class: "row" }, this.begin, this.check),
      this.message,
    );
  }

  /** List the checkpoints to start from again once *runs* have other ones. */
  offer(runs) {
    const saved = runs
      .filter(({ best }) => best)
      .map(({ best, name }) => best + name)
      .join();
    if (saved === this.dataset.saved || !this.from) return;
    this.dataset.saved = saved;
    this.#offer();
  }

  async #offer() {
    const { status, answer } = await ask("checkpoints").catch(() => ({ status: 0, answer: null }));
    if (status !== 200) return;
    this.from.replaceChildren(
      ...answer
        .filter(({ here }) => here)
        .map(({ name, label }) => h("option", { value: name }, label)),
    );
    if (![...this.from.options].some(({ value }) => value === this.#now.checkpoint)) {
      this.from.prepend(h("option", { value: this.#now.checkpoint }, this.#now.checkpoint));
    }
    this.from.value = this.#now.checkpoint;
  }

  /** Change what the run learns, and read the rows again. */
  #set(change) {
    this.#now = { ...this.#now, ...change };
    this.#key = newKey();
    this.#save();
    this.#fill();
    this.#preview({ soon: true });
  }

  #save() {
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(this.#now));
    } catch {
      /* it works without storage */
    }
  }

  /** Fill in the fields of the state. *chosen*: settings that the server chose where a person has not. */
  #fill(chosen = {}) {
    const { task, source, file, dev, hub, values, name, checkpoint } = this.#now,
      { about, settings, defaults } = this.tasks[task];
    this.task.value = task;
    this.from.value = checkpoint;
    this.about.textContent = about;
    for (const one of this.sources) one.checked = one.value === source;
    this.files.hidden = source !== UPLOAD;
    this.hubField.hidden = source !== HUB;
    if (this.hub.value !== hub) this.hub.value = hub;
    this.file.show(file);
    this.dev.show(dev);
    const all = [
      ...this.settings.slice(0, VISIBLE),
      ...settings,
      ...this.settings.slice(VISIBLE),
      ...OWN,
    ];
    this.form.draw(task, all);
    this.form.fill({
      ...Object.fromEntries(all.map((one) => [one.name, one.default])),
      ...defaults,
      ...chosen,
      ...values,
    });
    if (this.named.value !== name) this.named.value = name;
  }

  /** The run as a body for the API; undefined, after saying what is missing. */
  #request() {
    const { task, checkpoint, source, file, dev, hub, mapping, beside, values, name } = this.#now;
    const { seeds = 1, skip = true, ...settings } = values;
    if (source === UPLOAD && !file) {
      this.#tell("No file has been uploaded yet. Upload your rows, or use the built-in ones.");
      return undefined;
    }
    if (source === HUB && !hub.trim()) {
      this.#tell("No data set is named yet. Type its name, such as nyu-mll/glue:sst2.");
      return undefined;
    }
    /** @type {Record<string, any>} */
    const request = { task, checkpoint, settings, seeds, skip, name };
    if (source === UPLOAD) Object.assign(request, { file: file.file, dev_file: dev?.file ?? "" });
    if (source === HUB) request.hub = hub;
    if (source !== BUILT_IN) {
      request.mapping = mapping;
      request.beside = Object.keys(mapping).length ? beside : [];
    }
    return request;
  }

  /** Show what the run would learn from. *soon*: after a pause, if nothing is to be fetched or large to be read. *timed*: then
   *  time three steps. */
  async #preview({ soon = false, timed = false }) {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.looked.classList.add("late");
    if (soon) {
      const { source, file } = this.#now;
      this.check.disabled = false;
      if (source === BUILT_IN || (source === UPLOAD && file && file.size < SMALL)) {
        this.#timer = setTimeout(() => this.#preview({}), SOON_MS);
      } else {
        this.#show(null);
      }
      return;
    }
    const body = this.#request();
    if (!body) {
      this.#show(null);
      return;
    }
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    if (timed)
      this.#tell(body.hub ? `Fetching ${body.hub} from the hub…` : "Reading the rows…", "busy");
    try {
      const preview = await this.#ask("runs/preview", body, signal);
      if (!preview || !timed) return;
      const wouldStart = !preview.stops.length && (!preview.unusable || body.skip);
      if (wouldStart) await this.#ask("runs/preview", { ...body, timed: true }, signal);
    } catch (error) {
      if (!signal.aborted) this.#tell(error.message);
    }
  }

  /** Ask for a preview and show it; undefined if there is none, or if it is no longer wanted. */
  async #ask(path, body, signal) {
    const { status, answer } = await ask(path, {
      body,
      signal,
      tell: ({ notice }) => notice && this.#tell(notice, "busy"),
    });
    if (signal.aborted) return undefined;
    if (status !== 200) {
      this.#tell(answer.detail);
      this.#show(null);
      return undefined;
    }
    this.#tell("");
    this.#show(answer);
    return answer;
  }

  /** Show a *preview*; null: there is none. */
  #show(preview) {
    this.looked.classList.remove("late");
    this.looked.replaceChildren(...(preview ? this.#seen(preview) : []));
    this.#drawColumns(preview);
    if (preview) this.#fill({ epochs: preview.epochs });
  }

  /** The rows as they were read, what is wrong with them, and what the run would take. */
  #seen(preview) {
    const { stops, summary, rows, train, dev, unusable, notes, steps, epochs, seconds } = preview;
    const parts = stops.flatMap((words) => message(words));
    // 1. The rows.
    parts.push(h("p", { class: "summary", dir: "auto" }, summary));
    parts.push(table(rows) ?? "");
    const counts = `${plural(train, "training row")}, ${plural(dev, "validation row")}`;
    parts.push(h("p", {}, `${counts}${labelsSaid(preview)}.`));
    if (unusable) {
      const { problems, unit } = preview;
      const lines = problems.map(({ line, what }) =>
        h("li", { dir: "auto" }, `${unit} ${number(line)}: ${what}`),
      );
      const more = unusable - problems.length;
      if (more > 0) lines.push(h("li", {}, `and ${number(more)} more`));
      const title = h("p", {}, `${plural(unusable, "row")} cannot be used:`);
      parts.push(h("div", { class: "problems" }, title, h("ul", {}, lines)));
    }
    parts.push(...notes.flatMap((words) => message(words, "busy")));
    // 2. The steps, and the time and memory that they take.
    const { enough_epochs: enough, memory_mb: megabytes } = preview;
    let estimate = "";
    if (enough > epochs) {
      const onclick = () => this.#set({ values: { ...this.#now.values, epochs: enough } });
      const look = { type: "button", class: "back", onclick };
      parts.push(h("button", look, `Use ${enough} epochs`));
    } else {
      estimate = `${epochs} epochs are ${plural(steps, "step")}.`;
    }
    if (seconds) {
      const memory = `${number(Math.round(megabytes))} MB`;
      estimate = `Three steps were timed: ${plural(steps, "step")} take ${duration(seconds)} and ${memory}.`;
    }
    parts.push(h("p", { class: "estimate", role: "status" }, estimate));
    return parts;
  }

  /** Menus that say which column of the file is which, with the reason for each guess. Without a *preview* those that a person has
   *  set stay. */
  #drawColumns(preview) {
    const { task, source, mapping, beside } = this.#now;
    const { columns, features } = this.tasks[task];
    if (source === BUILT_IN) {
      this.columns.replaceChildren();
      return;
    }
    if (!preview) {
      if (!Object.keys(mapping).length) this.columns.replaceChildren();
      return;
    }
    const mapped = own(preview.mapping, columns);
    // 1. A menu for each column of the task.
    const fields = columns.map(({ name, label, optional }) => {
      const options = ["", ...preview.columns].map((one) => h("option", { value: one }, one));
      const list = h("select", { id: `column-${name}` }, options);
      list.value = preview.mapping[name] ?? "";
      choosing(list, (chosen) => this.#set({ mapping: { ...mapped, [name]: chosen } }));
      const words = `Column: ${label}${optional ? " (optional)" : ""}`;
      const field = h("div", { class: "setting" }, h("label", { for: list.id }, words), list);
      const reason = preview.reasons[name];
      if (reason) field.append(h("small", {}, `chosen: ${reason}`));
      return field;
    });
    // 2. A box for each of the other columns, where the task can learn from them as well.
    const used = Object.values(mapped);
    const free = features ? preview.columns.filter((name) => !used.includes(name)) : [];
    if (free.length) {
      const onchange = ({ target: { checked, value } }) =>
        this.#set({
          mapping: mapped,
          beside: checked ? [...beside, value] : beside.filter((name) => name !== value),
        });
      const boxes = free.map((name) => {
        const checked = beside.includes(name);
        const box = h("input", { type: "checkbox", value: name, checked, onchange });
        return h("label", {}, box, ` ${name}`);
      });
      fields.push(
        h(
          "fieldset",
          { class: "setting", id: "beside" },
          h("legend", {}, "Further columns"),
          h("div", { class: "choices" }, boxes),
          h("small", {}, "numbers or categories to train on as well"),
        ),
      );
    }
    this.columns.replaceChildren(...fields);
  }

  async #start() {
    const body = this.#request();
    if (!body) return;
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#tell("Starting…", "busy");
    const tell = ({ notice }) => notice && this.#tell(notice, "busy");
    const { status, answer } = await ask("runs", { body: { ...body, key: this.#key }, tell }).catch(
      unanswered,
    );
    this.#tell(status === 202 ? "" : answer.detail);
    const interrupted = this.looked.classList.contains("late");
    this.looked.classList.remove("late");
    if (status !== 202) return;
    this.#key = newKey();
    this.#now.name = this.named.value = "";
    this.#save();
    if (interrupted) this.#preview({});
    this.dispatchEvent(new CustomEvent("started", { detail: answer.id }));
  }

  #tell(words, kind = "error") {
    this.message.replaceChildren(...message(words, kind));
  }
}
customElements.define("bx-setup", Setup);

/** The labels of the training rows, as the end of a sentence; "" if they have none. */
function labelsSaid({ labels, label_count: count }) {
  const names = Object.entries(labels).map(([name, rows]) => `“${name}”: ${plural(rows, "row")}`);
  if (!names.length) return "";
  const listed = names.slice(0, SHOWN_LABELS).join(", ");
  const more = count - SHOWN_LABELS;
  const others = more > 0 ? ` and ${number(more)} more labels` : "";
  return `. Training labels: ${listed}${others}`;
}

const duration = (seconds) =>
  seconds >= 90 ? `${Math.round(seconds / 60)} min` : `${Math.max(1, Math.round(seconds))} s`;

/** The part of *mapping* for the task's own *columns*. */
const own = (mapping, columns) =>
  Object.fromEntries(
    Object.entries(mapping).filter(([name]) => columns.some((column) => column.name === name)),
  );

function load() {
  try {
    return { ...START, ...JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") };
  } catch {
    return { ...START };
  }
}
