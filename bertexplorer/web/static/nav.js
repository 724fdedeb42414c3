// <bx-nav>: the doors, for what most people come for; under them the views that belong together; all views behind one press.
// Fires "view" with a view's name, and "door" if it was opened through its door.
import { h, roving } from "./kit.js";

/** @import { View } from "./types.d.ts" */

class Nav extends HTMLElement {
  /** @type {Record<string, View>} */
  #views = {};
  /** @type {Record<string, string>} */
  #groups = {}; // view -> the door that it stands behind, else its topic
  #last = {}; // group -> its last view

  /** *views*: name -> {topic, title, …}; *doors*: title -> {about, views}; *more*: doors to other pages. */
  draw(views, doors, more = []) {
    this.#views = views;
    for (const name of Object.keys(views)) {
      const door = Object.keys(doors).find((title) => doors[title].views.includes(name));
      this.#groups[name] = door ?? views[name].topic;
    }
    this.doors = h(
      "div",
      { class: "doors", role: "group", "aria-label": "Start here" },
      Object.keys(doors).map((title) =>
        h(
          "button",
          {
            type: "button",
            class: "door",
            "data-group": title,
            onclick: () => this.#go(this.#last[title] ?? this.#of(title)[0], "door"),
          },
          h("strong", {}, title),
          h("small", {}, doors[title].about),
        ),
      ),
      more,
    );
    this.group = h("span", { class: "group" });
    this.views = h(
      "div",
      { class: "views", role: "tablist", "aria-label": "View" },
      Object.keys(views)
        .sort((a, b) => this.#place(a, doors) - this.#place(b, doors))
        .map((name) =>
          h(
            "button",
            {
              type: "button",
              class: "view",
              role: "tab",
              "data-view": name,
              onclick: () => this.#go(name),
            },
            views[name].title,
          ),
        ),
    );
    roving(
      this.views,
      () => [...this.views.children].filter((one) => !one.hidden),
      (tab) => this.#go(tab.dataset.view),
    );
    this.all = h(
      "button",
      {
        type: "button",
        class: "quiet all",
        "aria-haspopup": "dialog",
        onclick: () => this.#openAll(),
      },
      "All views",
    );
    this.replaceChildren(
      this.doors,
      h("div", { class: "related" }, this.group, this.views, this.all),
    );
  }

  /** Mark *view* as the current one. */
  mark(view) {
    const group = this.#groups[view];
    this.#last[group] = view;
    for (const door of this.doors.querySelectorAll("[data-group]")) {
      if (door.dataset.group === group) door.setAttribute("aria-current", "true");
      else door.removeAttribute("aria-current");
    }
    this.group.textContent = this.doors.querySelector("[aria-current]") ? "" : group;
    for (const tab of this.views.children) {
      const chosen = tab.dataset.view === view;
      tab.hidden = this.#groups[tab.dataset.view] !== group;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    const chosen = this.views.querySelector("[aria-selected=true]");
    this.views.scrollLeft = Math.max(0, chosen.offsetLeft - this.views.offsetLeft - 40);
  }

  /** The place of *view* behind its door, -1 for a view without one. */
  #place(view, doors) {
    return (doors[this.#groups[view]]?.views ?? []).indexOf(view);
  }

  #of(group) {
    return [...this.views.children]
      .map((tab) => tab.dataset.view)
      .filter((name) => this.#groups[name] === group);
  }

  #go(view, way = "view") {
    this.dispatchEvent(new CustomEvent(way, { detail: view }));
  }

  /** All views by topic, each with the name that the command line, Python and HTTP have for it. */
  #openAll() {
    const current = this.views.querySelector("[aria-selected=true]")?.dataset.view;
    const topics = [...new Set(Object.values(this.#views).map((view) => view.topic))];
    const entry = (name) =>
      h(
        "button",
        {
          type: "button",
          "data-view": name,
          "aria-current": name === current && "true",
          autofocus: name === current,
          onclick: () => {
            dialog.close();
            this.#go(name);
          },
        },
        h("strong", {}, this.#views[name].title),
        " ",
        h("code", {}, name),
        h("small", {}, this.#views[name].question),
      );
    const section = (topic) =>
      h(
        "section",
        {},
        h("h3", {}, topic),
        Object.keys(this.#views)
          .filter((name) => this.#views[name].topic === topic)
          .map(entry),
      );
    const dialog = h(
      "dialog",
      { class: "all-views", "aria-labelledby": "all-views", onclose: () => dialog.remove() },
      h(
        "header",
        {},
        h("h2", { id: "all-views" }, "All views"),
        h("p", {}, "In grey: the name on the command line, in links and, with _ for -, in Python."),
        h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close"),
      ),
      h("div", { class: "topics" }, topics.map(section)),
    );
    this.append(dialog);
    dialog.showModal();
  }
}
customElements.define("bx-nav", Nav);
