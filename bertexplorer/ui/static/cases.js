// <bx-cases>: the table of a view's cases, filtered and sorted; fires "open" with the state of the page that shows one,
// and "all" where a person wants those scored that were left out.
import { h } from "./kit.js";

const WHICH = { all: () => true, wrong: (one) => !one.right, right: (one) => one.right, "one of the two is right": (one) => one.other && one.right !== one.other.right };
const SHOWN = 25;  // rows at first, and with each press on "More"
const ORDERS = {
  "as in the file": (a, b) => a.line - b.line,
  "closest calls first": (a, b) => Math.abs(a.score) - Math.abs(b.score),
  "lowest score first": (a, b) => a.score - b.score,
};
const COLUMNS = ["Case", "Wanted", "Answer", "Score"];

class Cases extends HTMLElement {
  #cases = [];
  #shown = SHOWN;

  connectedCallback() {
    if (this.firstChild) return;
    const again = () => { this.#shown = SHOWN; this.#draw(); };
    const choice = (label, made) => h("label", {}, label, " ", made);
    this.which = h("select", { onchange: again }, Object.keys(WHICH).map((one) => h("option", {}, one)));
    this.category = h("select", { onchange: again });
    this.order = h("select", { onchange: again }, Object.keys(ORDERS).map((one) => h("option", {}, one)));
    this.count = h("p", { class: "hint", role: "status" });
    this.rows = h("tbody", {});
    this.more = h("button", { type: "button", onclick: () => { this.#shown += SHOWN; this.#draw(); } }, "More cases");
    this.head = h("tr", {});
    this.categories = choice("Category", this.category);
    this.heading = h("h3", {});
    this.filters = h("div", { class: "row" }, choice("Show", this.which), this.categories, choice("Order", this.order));
    this.table = h("div", { class: "wide", tabindex: 0, role: "region" }, h("table", {}, h("thead", {}, this.head), this.rows));
    this.all = h("button", { type: "button", id: "score-all", onclick: () => this.dispatchEvent(new CustomEvent("all")) });
    this.aside = h("details", { class: "aside" });
    this.append(this.heading, this.filters, this.count, this.all, this.table, this.more, this.aside);
  }

  /** Show the *rows* of a table, with the answers of the checkpoint *name* beside them if it is compared. *score*: what
   *  the scores are. The filters stay as they are where they still apply; rows that are neither right nor wrong have none. */
  show({ rows: cases, score, title = "Cases", columns = COLUMNS, left_out: rest = 0, aside = [] } = { rows: [] }, name = "") {
    this.all.hidden = !rest;
    this.all.textContent = `Score the other ${rest.toLocaleString("en")} too, as a run`;
    this.aside.hidden = !aside.length;
    const rows = aside.length === 1 ? "1 row" : `${aside.length.toLocaleString("en")} rows`;
    this.aside.replaceChildren(h("summary", {}, `${rows} left aside`), h("ul", {}, aside.map((line) => h("li", { dir: "auto" }, line))));
    this.#cases = cases;
    this.scores = score;
    this.heading.textContent = title;
    this.table.setAttribute("aria-label", title);
    this.filters.hidden = cases.every((one) => one.right === null);
    if (this.filters.hidden) this.which.selectedIndex = this.order.selectedIndex = 0;
    const compared = cases.some((one) => one.other);
    this.which.lastChild.hidden = !compared;
    if (!compared && this.which.selectedIndex === this.which.length - 1) this.which.selectedIndex = 0;
    this.head.replaceChildren(...["", ...columns, ...(compared ? [`Answer of ${name}`] : [])].map((one) => h("th", { scope: "col" }, one)));
    this.#shown = SHOWN;
    const names = ["all", ...new Set(cases.map((one) => one.category))], kept = this.category.value;
    this.category.replaceChildren(...names.map((one) => h("option", {}, one)));
    this.category.value = names.includes(kept) ? kept : "all";
    this.categories.hidden = names.length < 3;
    this.hidden = !cases.length;
    this.#draw();
  }

  #draw() {
    const fits = (one) => WHICH[this.which.value](one) && (this.category.value === "all" || one.category === this.category.value);
    const found = this.#cases.filter(fits).sort(ORDERS[this.order.value]);
    this.count.textContent = `${found.length} of ${this.#cases.length} ${this.heading.textContent.toLowerCase()}. Press one to open it in a view. ${this.head.children[4].textContent}: ${this.scores}.`;
    this.rows.replaceChildren(...found.slice(0, this.#shown).map((one) => this.#row(one)));
    this.more.hidden = found.length <= this.#shown;
  }

  #row(one) {
    const open = h("button", { type: "button", class: "case", translate: "no", onclick: () => this.dispatchEvent(new CustomEvent("open", { detail: one.state })) }, one.texts.map((text) => h("span", {}, text)));
    const mark = (right) => right !== null && h("span", { class: right ? "right" : "wrong", title: right ? "right" : "wrong", "aria-label": right ? "right" : "wrong", role: "img" }, right ? "✓" : "✗");
    const score = `${one.score < 0 ? "−" : ""}${Math.abs(one.score).toFixed(2)}${one.rank ? ` (rank ${one.rank})` : ""}`;
    const other = one.other && h("td", { translate: "no" }, mark(one.other.right), " ", one.texts.includes(one.other.answer) ? ["the first", "the second"][one.texts.indexOf(one.other.answer)] : one.other.answer);
    return h("tr", {}, h("td", {}, mark(one.right)), h("td", {}, open), h("td", { translate: "no" }, one.wanted), h("td", { translate: "no" }, one.answer), h("td", { class: "number" }, score), other);
  }
}
customElements.define("bx-cases", Cases);
