// <bx-picker>: the checkpoint and its facts, in a drawer; fires "use" with a checkpoint's name and "precision".
import { ask } from "./backend.js";
import { choosing, h } from "./kit.js";

class Picker extends HTMLElement {
  /** *only*: the page has this checkpoint alone, so there is nothing to choose; *listed*: it has those of the list alone. */
  draw(precisions, only = false, listed = false) {
    this.named = h("span", {}, "Checkpoint");
    this.summary = h("summary", {}, this.named);
    this.list = h("select", { id: "checkpoint-list" });
    choosing(this.list, (name) => this.#fire("use", name));
    this.box = h("input", {
      id: "checkpoint-name",
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": "checkpoint-help",
      onkeydown: (event) => {
        if (event.key === "Enter" && this.box.value.trim())
          this.#fire("use", this.box.value.trim());
      },
    });
    this.box.hidden = listed;
    this.precisions = precisions.map((one) =>
      h("input", {
        type: "radio",
        name: "precision",
        value: one,
        onchange: () => this.#fire("precision", one),
      }),
    );
    this.facts = h("dl", { class: "facts" });
    this.table = h("tbody");
    const titles = ["checkpoint", "parameters", "MB", "heads", "licence", "here"].map((title) =>
      h("th", { scope: "col" }, title),
    );
    this.drawer = h(
      "details",
      {
        id: "picker",
        ontoggle: () => {
          if (this.drawer.open) this.refresh();
        },
      },
      this.summary,
      h(
        "div",
        { class: "drawer" },
        h(
          "div",
          { class: "setting", id: "checkpoint", hidden: only },
          h("label", { for: "checkpoint-list" }, "Checkpoint"),
          this.list,
          h("label", { for: "checkpoint-name", hidden: listed }, "Another one"),
          this.box,
          h(
            "small",
            { id: "checkpoint-help", hidden: listed },
            "A hub name, or a folder of the models folder. Press Enter.",
          ),
        ),
        h(
          "fieldset",
          { class: "setting", id: "precision", hidden: only || listed },
          h("legend", {}, "Precision"),
          h(
            "div",
            { class: "choices" },
            this.precisions.map((one) => h("label", {}, one, " ", one.value)),
          ),
        ),
        this.facts,
        h(
          "details",
          { class: "catalogue", hidden: only || listed },
          h("summary", {}, "All checkpoints and their facts"),
          h(
            "div",
            { class: "scroll", tabindex: "0" },
            h("table", {}, h("thead", {}, h("tr", {}, titles)), this.table),
          ),
        ),
      ),
    );
    this.append(this.drawer);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.drawer.open) {
        this.drawer.open = false;
        this.summary.focus();
      }
    });
    document.addEventListener("pointerdown", (event) => {
      if (window.innerWidth > 640 && !this.contains(/** @type {Node} */ (event.target)))
        this.drawer.open = false;
    });
  }

  /** Update the list from the server. */
  async refresh() {
    const checkpoints = await ask("checkpoints")
      .then(({ answer }) => answer)
      .catch(() => null);
    if (!Array.isArray(checkpoints)) return;
    this.list.replaceChildren(
      ...checkpoints.map(({ name, label }) => h("option", { value: name }, label)),
    );
    this.#choose(this.name);
    const cells = (one) => [
      one.name,
      `${one.parameters_m} M`,
      one.megabytes.toLocaleString("en"),
      one.heads.join(", "),
      one.licence,
      one.here ? "yes" : "no",
    ];
    this.table.replaceChildren(
      ...checkpoints
        .filter((one) => one.about)
        .map((one) =>
          h(
            "tr",
            { title: one.about },
            cells(one).map((cell) => h("td", {}, cell)),
          ),
        ),
    );
  }

  /** Show the checkpoint in use, and its facts. */
  show(state, checkpoint) {
    this.#choose(state.checkpoint);
    for (const one of this.precisions) one.checked = one.value === state.precision;
    const label = checkpoint?.label || state.checkpoint;
    if (this.named.dataset.label === label) return;
    this.named.dataset.label = label;
    this.named.replaceChildren(h("span", { class: "prefix" }, "Checkpoint: "), label);
    if (checkpoint)
      this.facts.replaceChildren(
        ...checkpoint.facts.flatMap(([name, words]) => [h("dt", {}, name), h("dd", {}, words)]),
      );
  }

  #choose(name) {
    this.name = name;
    if (![...this.list.options].some((one) => one.value === name))
      this.list.prepend(h("option", { value: name }, name));
    this.list.value = name;
  }

  #fire(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
customElements.define("bx-picker", Picker);
