// <bx-nav>: the topics, and under the chosen one its views; fires "view" with a view's name.
import { h, roving } from "./kit.js";

class Nav extends HTMLElement {
  #last = {};  // topic -> its last view
  #views = {};

  /** *views*: name -> {topic, title, …}. */
  draw(views) {
    this.#views = views;
    const topics = [...new Set(Object.values(views).map((view) => view.topic))];
    const tab = (kind, title, data) => {
      const button = h("button", { type: "button", class: kind, role: "tab", "aria-selected": "false", tabindex: "-1" }, title);
      Object.assign(button.dataset, data);
      return button;
    };
    this.topics = h("div", { class: "topics", role: "tablist", "aria-label": "Topic" },
      topics.map((topic) => tab("topic", topic, { topic })),
    );
    this.views = h("div", { class: "views", role: "tablist", "aria-label": "View" },
      Object.entries(views).map(([view, { topic, title }]) => tab("view", title, { topic, view })));
    this.replaceChildren(this.topics, this.views);
    for (const row of [this.topics, this.views]) {
      row.addEventListener("click", (event) => { const button = event.target.closest("[role=tab]"); if (button) this.#go(button); });
      roving(row, () => [...row.children].filter((one) => !one.hidden), (button) => this.#go(button));
    }
  }

  /** Mark *view* as the current one. */
  mark(view) {
    const { topic } = this.#views[view];
    this.#last[topic] = view;
    for (const one of this.views.children) {
      one.hidden = one.dataset.topic !== topic;
      this.#select(one, one.dataset.view === view);
    }
    for (const one of this.topics.children) this.#select(one, one.dataset.topic === topic);
    this.views.hidden = [...this.views.children].filter((one) => !one.hidden).length < 2;
    for (const row of [this.topics, this.views]) {
      const at = row.querySelector("[aria-selected=true]");
      row.scrollLeft = Math.max(0, at.offsetLeft - row.offsetLeft - 40);
    }
  }

  #select(button, chosen) {
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }

  #go(button) {
    const { topic, view } = button.dataset;
    const first = Object.keys(this.#views).find((name) => this.#views[name].topic === topic);
    this.dispatchEvent(new CustomEvent("view", { detail: view || this.#last[topic] || first }));
  }
}
customElements.define("bx-nav", Nav);
