// A page with a list of runs and one of them, which the address names: Train and Pretrain.
import { ask } from "./backend.js";
import { isLive } from "./runs.js";

const POLL_MS = 2000; // between two looks at the list while a run is live
const NARROW = 1000; // pixels of a window in which a run stands below the list

export class RunsPage extends HTMLElement {
  /** @type {number | undefined} */
  #timer;
  path = ""; // of the list, in the API
  parameter = ""; // of the address
  chosen = ""; // the id of the run that is shown, "" for none
  details; // the element of a run

  /** Show the runs at *path*, and the one that *parameter* of the address names. */
  begin(path, parameter) {
    this.path = path;
    this.parameter = parameter;
    this.chosen = this.#named;
    addEventListener("popstate", () => this.show(this.#named, { write: false }));
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.refresh();
    });
  }

  /** Show the run *id* from the next look on. */
  select(id) {
    this.chosen = id;
  }

  get #named() {
    return new URLSearchParams(location.search).get(this.parameter) ?? "";
  }

  /** Show the run *id*, "" for none. */
  async show(id, { scroll = false, write = true } = {}) {
    this.chosen = id;
    if (write)
      history.pushState(
        null,
        "",
        location.pathname + (id && `?${this.parameter}=${encodeURIComponent(id)}`),
      );
    await Promise.all([this.refresh(), this.follow(id)]);
    if (scroll && innerWidth < NARROW) this.details.scrollIntoView();
  }

  /** Read the list again, and once more later while a run is live. */
  async refresh() {
    clearTimeout(this.#timer);
    const lists = await Promise.all(
      [this.path, `${this.path}?deleted=true`].map((path) => ask(path)),
    ).catch(() => []);
    const [runs, deleted] = lists.map(({ status, answer }) =>
      status === 200 ? this.listed(answer) : [],
    );
    if (runs) await this.draw(runs, deleted);
    if ((!runs || runs.some(isLive)) && !document.hidden)
      this.#timer = setTimeout(() => this.refresh(), POLL_MS);
  }

  /** Those of *runs* that belong to this page. */
  listed(runs) {
    return runs;
  }

  /** Draw the list of *runs* and of *deleted* ones. */
  async draw(_runs, _deleted) {}

  /** Show the run *id* as it goes on. */
  async follow(_id) {}
}
