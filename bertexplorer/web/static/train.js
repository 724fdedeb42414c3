// <bx-train>: the page on which a checkpoint is fine-tuned: what one sets on the left, the runs and one of them on the right.
import "./form.js";
import "./run.js";
import "./setup.js";
import "./teach.js";
import { ask } from "./backend.js";
import { h } from "./kit.js";
import { about } from "./masthead.js";
import { RunsPage } from "./runs_page.js";

const PRETRAINING = "pretraining"; // the kind of runs that belong to the page Pretrain

class Train extends RunsPage {
  async open() {
    this.teach = h("bx-teach", {
      onfinetune: ({ detail }) => this.setup.take(detail, "classification"),
    });
    this.setup = h("bx-setup", { onstarted: ({ detail }) => this.show(detail, { scroll: true }) });
    this.list = h("bx-runs", {
      id: "runs",
      onchoose: ({ detail }) => this.show(detail, { scroll: true }),
      onrestore: ({ detail }) => this.#restore(detail),
    });
    this.run = h("bx-run", {
      id: "detail",
      hidden: true,
      onchanged: ({ detail }) => this.show(detail),
    });
    this.append(
      h(
        "header",
        { class: "masthead" },
        h("h1", {}, "Train"),
        h(
          "p",
          {},
          "Teach it with a handful of sentences, in seconds. Or fine-tune it on your rows, and watch it learn.",
        ),
      ),
      h(
        "details",
        { class: "teaching", open: !new URLSearchParams(location.search).has("run") },
        h("summary", {}, h("h2", {}, "Teach")),
        this.teach,
      ),
      h("h2", { class: "part" }, "Fine-tune"),
      h(
        "div",
        { class: "halves" },
        h("section", { id: "wish", "aria-label": "A new run" }, this.setup),
        h("section", { "aria-label": "Runs" }, this.list, this.run),
      ),
    );
    this.details = this.run;
    this.begin("runs", "run");
    const [{ answer: page }, { answer: tasks }] = await Promise.all([
      ask("page"),
      ask("tasks"),
      this.show(this.chosen, { write: false }),
    ]);
    const part = this.querySelector(".teaching"),
      teach = () => this.teach.open(page.opening, { finetunes: true });
    if (part.open) teach();
    else part.addEventListener("toggle", teach, { once: true });
    this.setup.open(tasks, page.opening.checkpoint);
    this.append(about(page.about));
  }

  listed(runs) {
    return runs.filter(({ kind }) => kind !== PRETRAINING);
  }

  async draw(runs, deleted) {
    this.list.draw(runs, deleted, this.chosen);
    this.setup.offer(runs);
  }

  follow(id) {
    return this.run.show(id);
  }

  async #restore(id) {
    await ask(`runs/${id}/restore`, { body: {} });
    this.show(id);
  }
}
customElements.define("bx-train", Train);

const page = h("bx-train", { class: "bx" });
document.querySelector("#train").append(page);
page.open();
