// <bx-train>: the page on which a checkpoint is fine-tuned: what one sets on the left, the runs and one of them on the right.
import "./form.js";
import "./run.js";
import "./setup.js";
import { ask } from "./backend.js";
import { h } from "./kit.js";
import { about } from "./masthead.js";
import { isLive } from "./runs.js";

const POLL_MS = 2000;  // between two looks at the list while a run is live
const PRETRAINING = "pretraining";  // the kind of runs that belong to the page Pretrain

class Train extends HTMLElement {
  #chosen = new URLSearchParams(location.search).get("run") ?? "";
  #timer = null;

  async open() {
    this.setup = h("bx-setup", { onstarted: ({ detail }) => this.#show(detail, { scroll: true }) });
    this.list = h("bx-runs", {
      id: "runs",
      onchoose: ({ detail }) => this.#show(detail, { scroll: true }),
      onrestore: ({ detail }) => this.#restore(detail),
    });
    this.run = h("bx-run", { id: "detail", hidden: true, onchanged: ({ detail }) => this.#show(detail) });
    this.append(
      h("header", { class: "masthead" },
        h("h1", {}, "Train"),
        h("p", {}, "Fine-tune a checkpoint on your rows. Watch it learn, try it, look inside it."),
      ),
      h("div", { class: "halves" },
        h("section", { id: "wish", "aria-label": "A new run" }, this.setup),
        h("section", { "aria-label": "Runs" }, this.list, this.run),
      ),
    );
    addEventListener("popstate", () => this.#show(new URLSearchParams(location.search).get("run") ?? "", { write: false }));
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.#refresh(); });
    const [{ answer: page }, { answer: tasks }] = await Promise.all([
      ask("page"),
      ask("tasks"),
      this.#show(this.#chosen, { write: false }),
    ]);
    this.setup.open(tasks, page.opening.checkpoint);
    this.append(about(page.about));
  }

  /** Show the run *id*, "" for none. */
  async #show(id, { scroll = false, write = true } = {}) {
    this.#chosen = id;
    if (write) history.pushState(null, "", location.pathname + (id && `?run=${encodeURIComponent(id)}`));
    await Promise.all([this.#refresh(), this.run.show(id)]);
    if (scroll && innerWidth < 1000) this.run.scrollIntoView();
  }

  /** Read the list again, and once more later while a run is live. */
  async #refresh() {
    clearTimeout(this.#timer);
    const lists = await Promise.all(["runs", "runs?deleted=true"].map((path) => ask(path))).catch(() => []);
    const [runs, deleted] = lists.map(({ status, answer }) => (status === 200 ? answer.filter(({ kind }) => kind !== PRETRAINING) : []));
    if (runs) {
      this.list.draw(runs, deleted, this.#chosen);
      this.setup.offer(runs);
    }
    if ((!runs || runs.some(isLive)) && !document.hidden) this.#timer = setTimeout(() => this.#refresh(), POLL_MS);
  }

  async #restore(id) {
    await ask(`runs/${id}/restore`, { body: {} });
    this.#show(id);
  }
}
customElements.define("bx-train", Train);

const page = h("bx-train", { class: "bx" });
document.getElementById("train").append(page);
page.open();
