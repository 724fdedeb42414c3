// <bx-cases>: a table of cases with filters and orders; fires "open" with the state of the page that shows a case, and "all"
// to score the cases that were left out. <bx-run-cases run="…">: the cases of a suite that was scored as a run, and a
// choice of another run to compare.
import { ask } from "./backend.js";
import { h } from "./kit.js";

const WHICH = {
  all: ["all", () => true],
  wrong: ["wrong", (one) => !one.right],
  right: ["right", (one) => one.right],
  differ: [
    "on which they differ",
    (one) => one.others.some((other) => other && other.right !== one.right),
  ],
};
const SHOWN = 25; // rows at first, and added with each press on "More"
const ORDERS = {
  file: ["as in the file", (a, b) => a.line - b.line],
  closest: ["closest calls first", (a, b) => Math.abs(a.score) - Math.abs(b.score)],
  lowest: ["lowest score first", (a, b) => a.score - b.score],
};
const COLUMNS = ["Case", "Wanted", "Answer", "Score"];

/** A source of cases from *rows*. A source maps {which, category, order, start, count} to {found, rows}: the number of
 *  matching cases, and *count* of them from *start* on. The category "" means all. */
const rowSource =
  (rows) =>
  ({ which, category, order, start, count }) => {
    const found = rows
      .filter((one) => WHICH[which][1](one) && (!category || one.category === category))
      .sort(ORDERS[order][1]);
    return { found: found.length, rows: found.slice(start, start + count) };
  };

class Cases extends HTMLElement {
  #query;

  connectedCallback() {
    if (this.firstChild) return;
    const again = () => this.#draw();
    const choice = (label, control) => h("label", {}, label, " ", control);
    this.which = h(
      "select",
      { onchange: again },
      Object.entries(WHICH).map(([value, [label]]) => h("option", { value }, label)),
    );
    this.category = h("select", { onchange: again });
    this.order = h(
      "select",
      { onchange: again },
      Object.entries(ORDERS).map(([value, [label]]) => h("option", { value }, label)),
    );
    this.count = h("p", { class: "hint", role: "status" });
    this.rows = h("tbody", {});
    this.more = h(
      "button",
      { type: "button", onclick: () => this.#draw(this.rows.children.length) },
      "More cases",
    );
    this.head = h("tr", {});
    this.categories = choice("Category", this.category);
    this.heading = h("h3", {});
    this.shows = choice("Show", this.which);
    this.orders = choice("Order", this.order);
    this.filters = h("div", { class: "row" }, this.shows, this.categories, this.orders);
    this.table = h(
      "div",
      { class: "wide", tabindex: 0, role: "region" },
      h("table", {}, h("thead", {}, this.head), this.rows),
    );
    this.all = h("button", {
      type: "button",
      id: "score-all",
      hidden: true,
      onclick: () => this.dispatchEvent(new CustomEvent("all")),
    });
    this.aside = h("details", { class: "aside", hidden: true });
    this.append(
      this.heading,
      this.filters,
      this.count,
      this.all,
      this.table,
      this.more,
      this.aside,
    );
  }

  /** Show the *rows* of a table, with the answers of the *sides*, the names of the checkpoints that are compared. *score*: the
   *  meaning of the scores. The filters keep their values where they still apply. Rows that are all right, all wrong or
   *  neither are not filtered by that.
   *  @param {Record<string, any>} table */
  show(
    {
      rows: cases,
      score,
      title = "Cases",
      columns = COLUMNS,
      left_out: rest = 0,
      aside = [],
      sides = [],
    } = { rows: [] },
  ) {
    this.all.hidden = !rest;
    this.all.textContent = `Score the other ${rest.toLocaleString("en")} too, as a run`;
    this.aside.hidden = !aside.length;
    const rows = aside.length === 1 ? "1 row" : `${aside.length.toLocaleString("en")} rows`;
    this.aside.replaceChildren(
      h("summary", {}, `${rows} skipped`),
      h(
        "ul",
        {},
        aside.map((line) => h("li", { dir: "auto" }, line)),
      ),
    );
    const judged = cases.some((one) => one.right !== null);
    const mixed = cases.some((one) => one.right) && cases.some((one) => one.right === false);
    const categories = [...new Set(cases.map((one) => one.category))];
    this.from(rowSource(cases), {
      total: cases.length,
      categories,
      score,
      title,
      columns,
      sides,
      judged,
      mixed,
    });
  }

  /** Show the cases of a *source*, *total* in all. */
  from(
    source,
    { total, categories, score, title, columns = COLUMNS, sides = [], judged = true, mixed = true },
  ) {
    this.source = source;
    this.total = total;
    this.score = score;
    this.heading.textContent = title;
    this.table.setAttribute("aria-label", title);
    this.shows.hidden = !mixed;
    this.orders.hidden = !judged;
    if (!mixed) this.which.selectedIndex = 0;
    if (!judged) this.order.selectedIndex = 0;
    this.which.lastChild.hidden = !sides.length;
    if (!sides.length && this.which.value === "differ") this.which.selectedIndex = 0;
    const heads = ["", ...columns, ...sides]; // beside the answer, those of the others under their names
    this.head.replaceChildren(...heads.map((one) => h("th", { scope: "col" }, one)));
    const previous = this.category.value;
    this.category.replaceChildren(
      h("option", { value: "" }, "all"),
      ...categories.map((one) => h("option", {}, one)),
    );
    this.category.value = categories.includes(previous) ? previous : "";
    this.categories.hidden = categories.length < 2;
    this.filters.hidden = [this.shows, this.orders, this.categories].every((one) => one.hidden);
    this.hidden = !total && this.aside.hidden;
    this.#draw();
  }

  /** Show the matching cases from *start* on. Drop outdated answers. */
  async #draw(start = 0) {
    const query = (this.#query = {
      which: this.which.value,
      category: this.category.value,
      order: this.order.value,
      start,
      count: SHOWN,
    });
    try {
      const { found, rows } = await this.source(query);
      if (query !== this.#query) return;
      const numbers = `${found.toLocaleString("en")} of ${this.total.toLocaleString("en")}`;
      this.count.textContent = `${numbers} ${this.heading.textContent.toLowerCase()}. Press one to open it in a view. ${this.head.children[4].textContent}: ${this.score}.`;
      if (!start) this.rows.replaceChildren();
      this.rows.append(...rows.map((one) => this.#row(one)));
      this.more.hidden = found <= this.rows.children.length;
    } catch (error) {
      if (query === this.#query) this.count.textContent = error.message;
    }
  }

  #row(one) {
    // 1. The texts, which open the case in a view.
    const texts = one.texts.map((text) => h("span", { dir: "auto" }, text));
    const look = { class: "case", translate: "no" };
    const fire = () => this.dispatchEvent(new CustomEvent("open", { detail: one.state }));
    const open = one.link
      ? h("a", { ...look, href: one.link }, texts)
      : h("button", { ...look, type: "button", onclick: fire }, texts);
    // 2. The score: the minus of a number, not a hyphen.
    const size = Math.abs(one.score);
    let score = size.toFixed(Number.isInteger(size) ? 0 : 2);
    if (one.score < 0) score = `−${score}`;
    if (one.rank) score = `${score} (rank ${one.rank})`;
    // 3. What the others answered. A text of the case is named by its place.
    const places = ["the first", "the second"];
    const others = one.others.map((other) => {
      if (!other) return h("td", { title: "not scored" }, "–");
      const place = one.texts.indexOf(other.answer);
      const answer = place >= 0 ? places[place] : other.answer;
      return h("td", { translate: "no" }, mark(other.right), " ", answer);
    });
    const row = h(
      "tr",
      {},
      h("td", { class: "line" }, mark(one.right), " ", h("small", { title: "line" }, one.line)),
      h("td", {}, open),
      h("td", { translate: "no" }, one.wanted),
      h("td", { translate: "no" }, one.answer),
      h("td", { class: "number" }, score),
      others,
    );
    // where the table is narrow, each cell stands under its own head
    [...row.children].forEach((cell, i) => {
      cell.dataset.head = this.head.children[i].textContent;
    });
    return row;
  }
}
customElements.define("bx-cases", Cases);

/** The sign of an answer that is *right* or wrong; null for one that is neither. */
function mark(right) {
  if (right === null) return null;
  const name = right ? "right" : "wrong";
  const look = { class: name, title: name, "aria-label": name, role: "img" };
  return h("span", look, right ? "✓" : "✗");
}

class RunCases extends HTMLElement {
  static observedAttributes = ["run"];

  attributeChangedCallback() {
    this.#draw();
  }

  async #draw() {
    const place = `suites/${encodeURIComponent(this.getAttribute("run") ?? "")}/table`;
    const cases = h("bx-cases", { hidden: true });
    const beside = h("select", { onchange: () => show() });
    const choice = h("label", { hidden: true }, "Compare with ", beside);
    const said = h("p", { "aria-live": "polite" });
    const source = async (query) => {
      const { status, answer: found } = await ask(
        `${place}?${new URLSearchParams({ ...query, beside: beside.value })}`,
      );
      if (status >= 400) throw new Error(found.detail);
      return found;
    };
    const show = async () => {
      try {
        const found = await source({ count: 0 });
        said.textContent = found.said ?? "";
        cases.from(source, found);
        return found;
      } catch (error) {
        said.textContent = error.message;
      }
    };
    this.replaceChildren(choice, said, cases);
    const { comparable = [] } = (await show()) ?? {};
    choice.hidden = !comparable.length;
    beside.replaceChildren(
      h("option", { value: "" }, "no other run"),
      ...comparable.map(({ id, name }) => h("option", { value: id }, name)),
    );
  }
}
customElements.define("bx-run-cases", RunCases);
