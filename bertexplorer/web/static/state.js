// The state of the page: one object, which the address bar stores. Every change sends one request to the server; answers to
// outdated requests are dropped.
import { ask } from "./backend.js";
import { defaultsOf } from "./settings.js";

/** @import { Answer, Ask, State as Shown, View, ViewQuestion } from "./types.d.ts" */

const TYPING_MS = 100; // between two requests while the user types or drags
const STOPPED = "Stopped before it was done. Change the text or a setting to ask again.";

export class State {
  /** @type {Record<string, View>} */
  #views;
  #beside;
  #address;
  #backend;
  /** @type {Shown} */
  now;
  #number = 0;
  /** @type {AbortController | undefined} */
  #abort;
  #writtenAddress = ""; // the current content of the address bar
  #lastRequest = 0; // the time of the last request
  /** @type {number | undefined} */
  #timer; // delays the request while the user types
  /** @type {Record<string, Record<string, any>>} */
  #settingsByView = {}; // view -> its last settings
  counted = { text: "", pair: "" }; // the texts in which the hidden and picked spans count

  /** *show* receives updates: {busy}, {waits}, {progress}, {notice}, {status, answer}; *address*: whether to store the state in the
   *  address bar; *backend*: whom to ask; *beside*: what the browser's history keeps beside the state.
   *  @param {Record<string, View>} views
   *  @param {Shown} opening
   *  @param {(news: any) => void} show
   *  @param {{address?: boolean, backend?: Ask, beside?: {kept: any}}} more */
  constructor(
    views,
    opening,
    show,
    { address = true, backend = ask, beside = { kept: null } } = {},
  ) {
    this.#beside = beside;
    this.#views = views;
    this.#backend = backend;
    this.#address = address;
    this.show = show;
    this.now = { ...opening, options: this.defaults(opening.view) };
    if (address)
      window.addEventListener("popstate", ({ state }) => {
        this.#writtenAddress = "";
        this.#beside.kept = state?.kept ?? null;
        if (state?.now) {
          this.now = state.now;
          this.counted = state.counted;
          this.ask();
        } else this.open(location.search);
      });
  }

  /** @param {string} view */
  defaults(view) {
    return defaultsOf(this.#views[view]);
  }

  /** Request the view of a link.
   *  @param {string} link */
  open(link) {
    return this.#send({ link: link || "?" }, this.now);
  }

  /** Change the state and send a request. *soon*: wait briefly for further changes. *step*: Back undoes the change, as it
   *  undoes each change of the view.
   *  @param {Partial<Shown>} change */
  set(change, { soon = false, step = false } = {}) {
    const switches = "view" in change && change.view !== this.now.view;
    this.#settingsByView[this.now.view] = this.now.options;
    this.now = { ...this.now, ...change };
    const { view } = this.now;
    if (switches && !("options" in change))
      this.now.options = this.#settingsByView[view] ?? this.defaults(view);
    this.#write(step || switches);
    const rest = this.#lastRequest + TYPING_MS - Date.now();
    if (!soon || rest <= 0) return this.ask();
    this.#timer ??= setTimeout(() => this.ask(), rest);
    this.show({ busy: true });
    return undefined;
  }

  /** Change *options* of *view*, which may no longer be the one on the screen.
   *  @param {string} view
   *  @param {Record<string, any>} options */
  setOptions(view, options) {
    if (view === this.now.view) return this.set({ options: { ...this.now.options, ...options } });
    this.#settingsByView[view] = {
      ...(this.#settingsByView[view] ?? this.defaults(view)),
      ...options,
    };
    return undefined;
  }

  /** Change the state without a request.
   *  @param {Partial<Shown>} change */
  keep(change) {
    this.now = { ...this.now, ...change };
  }

  /** Set the spans pressed on the strip; they count in the *texts* of the answer on the screen.
   *  @param {Partial<Shown>} spans
   *  @param {{text: string, pair: string}} texts */
  mark(spans, texts) {
    this.counted = texts;
    return this.set(spans);
  }

  ask(more = {}) {
    return this.#send({ state: this.now, counted_in: this.counted, ...more }, this.now);
  }

  /** Cancel the current request. */
  stop() {
    this.#number += 1;
    this.#abort?.abort();
    this.show({ busy: false, notice: STOPPED });
  }

  /** @param {ViewQuestion} body
   *  @param {Shown} requested */
  async #send(body, requested) {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#lastRequest = Date.now();
    const mine = ++this.#number,
      newest = () => mine === this.#number;
    this.#abort?.abort();
    const { signal } = (this.#abort = new AbortController());
    let waiting = true;
    /** @param {number} status
     *  @param {Answer} answer */
    const receive = (status, answer) => {
      waiting = false;
      if (answer.state) {
        this.#adopt(requested, answer.state);
        requested = answer.state;
      }
      this.show({ busy: false, status, answer });
    };
    /** @param {any} line */
    const tell = (line) => {
      if (!newest()) return;
      if (line.answer) receive(200, line.answer);
      else if (waiting) this.show(line.notice ? { waits: line.notice } : { progress: line });
    };
    this.show({ busy: true });
    try {
      const { status, answer } = await this.#backend("view", { body, signal, tell });
      if (newest()) receive(status, answer);
    } catch (error) {
      if (newest()) {
        this.show({
          busy: false,
          status: 0,
          answer: { detail: `The answer cannot be read (${error.message}). Reload the page.` },
        });
      }
    }
  }

  /** Adopt the state of the server's answer, except for fields that the user has changed since the request.
   *  @param {Record<string, any>} requested
   *  @param {Shown} given */
  #adopt(requested, given) {
    /** @type {Record<string, any>} */
    const now = this.now;
    const stays = (/** @type {string} */ key) => now[key] !== requested[key];
    const changed = Object.keys(given).filter(stays);
    this.now = { ...given, ...Object.fromEntries(changed.map((key) => [key, now[key]])) };
    if (!stays("hidden") && !stays("picked")) this.counted = { text: given.text, pair: given.pair };
    this.#write(false);
  }

  /** Write the address bar unless it is up to date: writing takes a browser milliseconds.
   *  @param {boolean} step */
  #write(step) {
    if (!this.#address) return;
    const { link } = this,
      { kept } = this.#beside,
      written = link + JSON.stringify([this.counted, kept]);
    if (written === this.#writtenAddress && !step) return;
    try {
      history[step ? "pushState" : "replaceState"](
        { now: this.now, counted: this.counted, kept },
        "",
        link,
      );
      this.#writtenAddress = written;
    } catch {
      /* Safari allows a hundred writes in 30 s; the next change writes again */
    }
  }

  /** The address that restores the state, without settings at their defaults. */
  get link() {
    const { view, text, pair, hidden, picked, against, other, checkpoint, precision, options } =
        this.now,
      defaults = this.defaults(view);
    const query = new URLSearchParams({ view, text });
    if (pair) query.set("pair", pair);
    if (hidden) query.set("hidden", hidden);
    if (picked) query.set("picked", picked);
    if (against) {
      query.set("against", against);
      query.set("versus", other);
    }
    query.set("checkpoint", checkpoint);
    if (precision !== "auto") query.set("precision", precision);
    for (const [name, value] of Object.entries(options)) {
      const written = typeof value === "boolean" ? (value ? "True" : "False") : String(value);
      if (value !== defaults[name]) query.set(name, written);
    }
    return `?${query}`;
  }
}
