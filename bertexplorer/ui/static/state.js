// The state of the page: one object, whose text is the address bar. Every change of it is one question to the server; an
// answer that is not to the newest is dropped.
import { post } from "./kit.js";

const TYPING_MS = 100;  // between two questions while a person types or drags
const STOPPED = "Stopped before it was done. Change the text or a setting to ask again.";

/** The *settings* that the query of a link names, as the form shows them until the server has read the link. */
export function named(query, settings) {
  const read = { boolean: (word) => word === "True", number: Number, string: String };
  return Object.fromEntries(settings.filter((one) => query.has(one.name)).map((one) => [one.name, read[typeof one.default](query.get(one.name))]));
}

export class State {
  #views;
  #address;
  now;
  #number = 0;
  #abort = null;
  #written = "";  // what the address bar holds
  #last = 0;  // when something was asked
  #timer = null;  // until what was typed is asked for
  #kept = {};  // view -> its settings as they were left
  counted = { text: "", pair: "" };  // the texts in which the hidden and picked spans count

  /** *views*: the schema of the views; *opening*: what the page opens with; *show*: hears what is to be shown: {busy},
   *  {waits} and {progress} of what is under way, {notice}, {status, answer};
   *  *address*: whether the address bar is its text. */
  constructor(views, opening, show, { address = true } = {}) {
    this.#views = views;
    this.#address = address;
    this.show = show;
    this.now = { ...opening, options: this.defaults(opening.view) };
    if (address) addEventListener("popstate", ({ state }) => {
      this.#written = "";
      if (state?.now) { this.now = state.now; this.counted = state.counted; this.ask(); } else this.open(location.search);
    });
  }

  defaults(view) { return Object.fromEntries(this.#views[view].settings.map((one) => [one.name, one.default])); }

  /** Ask for what a link names. */
  open(link) { return this.#send({ link: link || "?" }, this.now); }

  /** Change what is asked for, and ask; *soon*: with what else is typed within a moment. Another view is a step that Back
   *  undoes. */
  set(change, { soon = false } = {}) {
    const step = "view" in change && change.view !== this.now.view;
    this.#kept[this.now.view] = this.now.options;
    this.now = { ...this.now, ...change };
    if (step && !("options" in change)) this.now.options = this.#kept[change.view] ?? this.defaults(change.view);
    this.#write(step);
    const rest = this.#last + TYPING_MS - Date.now();
    if (!soon || rest <= 0) return this.ask();
    this.#timer ??= setTimeout(() => this.ask(), rest);
    return undefined;
  }

  /** Change what is asked for, without asking yet. */
  keep(change) { this.now = { ...this.now, ...change }; }

  /** Spans that were pressed on the strip, which count in the texts of the answer on the screen. */
  mark(spans, texts) {
    this.counted = texts;
    return this.set(spans);
  }

  ask(more = {}) { return this.#send({ state: this.now, counted_in: this.counted, ...more }, this.now); }

  /** End what is under way. */
  stop() {
    this.#number += 1;
    this.#abort?.abort();
    this.show({ busy: false, notice: STOPPED });
  }

  async #send(body, asked) {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#last = Date.now();
    const mine = ++this.#number, newest = () => mine === this.#number;
    this.#abort?.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    this.show({ busy: true });
    try {
      const { status, answer } = await post("api/v1/view", body, { signal, tell: (line) => newest() && this.show(line.notice ? { waits: line.notice } : { progress: line }) });
      if (!newest()) return;
      if (answer.state) this.#adopt(asked, answer.state);
      this.show({ busy: false, status, answer });
    } catch (error) {
      if (newest()) this.show({ busy: false, status: 0, answer: { detail: `The answer cannot be read (${error.message}). Reload the page.` } });
    }
  }

  /** What the server made of what was asked for; what a person changed since stays. */
  #adopt(asked, given) {
    const { now } = this, stays = (key) => now[key] !== asked[key];
    this.now = Object.fromEntries(Object.keys(given).map((key) => [key, stays(key) ? now[key] : given[key]]));
    if (!stays("hidden") && !stays("picked")) this.counted = { text: given.text, pair: given.pair };
    this.#write(false);
  }

  /** Into the address bar, unless it is there already: that takes a browser milliseconds. */
  #write(step) {
    if (!this.#address) return;
    const { link } = this, written = link + JSON.stringify(this.counted);
    if (written === this.#written && !step) return;
    try {
      history[step ? "pushState" : "replaceState"]({ now: this.now, counted: this.counted }, "", link);
      this.#written = written;
    } catch { /* Safari takes a hundred of them in half a minute; the next change is written */ }
  }

  /** The address that restores the state; settings at their defaults are left out. */
  get link() {
    const { view, text, pair, hidden, picked, against, other, checkpoint, precision, options } = this.now, defaults = this.defaults(view);
    const query = new URLSearchParams({ view, text });
    if (pair) query.set("pair", pair);
    if (hidden) query.set("hidden", hidden);
    if (picked) query.set("picked", picked);
    if (against) { query.set("against", against); query.set("versus", other); }
    query.set("checkpoint", checkpoint);
    if (precision !== "auto") query.set("precision", precision);
    for (const [name, value] of Object.entries(options)) {
      const written = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
      if (value !== defaults[name]) query.set(name, written);
    }
    return `?${query}`;
  }
}
