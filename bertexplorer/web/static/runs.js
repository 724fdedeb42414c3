// <bx-runs>: the list of runs, each a button, and the deleted ones; fires "choose" and "restore" with the id of a run.
import { h } from "./kit.js";

/** @import { Run } from "./types.d.ts" */
/** @typedef {Pick<Run, "id" | "name" | "state" | "status" | "progress" | "created">} Entry */

const WORKING = ["starting", "running", "stopping"],
  LIVE = [...WORKING, "queued"];

/** Whether a run has a process, or waits for one.
 *  @param {Pick<Run, "state">} run */
export const isLive = ({ state }) => LIVE.includes(state);

/** How far a run is, as a line at the edge of its entry.
 *  @param {Pick<Run, "state" | "progress">} run */
export function progressBar({ state, progress }) {
  const bar = h("span", { class: "bar", hidden: !WORKING.includes(state) });
  bar.style.setProperty("--done", `${Math.round(100 * progress)}%`);
  return bar;
}

/** @param {Pick<Run, "state" | "status">} run */
export const stateWords = ({ state, status }) => h("span", { class: `state ${state}` }, status);

class Runs extends HTMLElement {
  /** Show *runs*, the newest first, and the *deleted* ones that can be restored.
   *  @param {Entry[]} runs
   *  @param {Entry[]} deleted
   *  @param {string} chosen */
  draw(runs, deleted, chosen) {
    const open = this.querySelector("details")?.open ?? false,
      at = document.activeElement?.dataset.run;
    this.replaceChildren(
      h("h2", {}, "Runs"),
      runs.length
        ? h(
            "ul",
            { class: "runs" },
            runs.map((run) => this.#entry(run, chosen)),
          )
        : h("p", { class: "note" }, "No run yet. Press Start, and it appears here."),
      deleted.length
        ? h(
            "details",
            { class: "gone", open },
            h("summary", {}, `Deleted: ${deleted.length.toLocaleString("en")}, kept for 7 days`),
            h(
              "ul",
              {},
              deleted.map((run) => this.#gone(run)),
            ),
          )
        : "",
    );
    if (at) this.querySelector(`[data-run="${CSS.escape(at)}"]`)?.focus();
  }

  #entry(run, chosen) {
    const created = new Date(1000 * run.created);
    const time = created.toLocaleString("en-GB", {
      day: "2-digit",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
    });
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: `run${run.id === chosen ? " chosen" : ""}`,
          "data-run": run.id,
          "aria-pressed": String(run.id === chosen),
          onclick: () => this.#fire("choose", run.id),
        },
        h("b", { dir: "auto" }, run.name),
        stateWords(run),
        h("time", { datetime: created.toISOString() }, time),
        progressBar(run),
      ),
    );
  }

  #gone(run) {
    return h(
      "li",
      {},
      h("span", { dir: "auto" }, run.name),
      h(
        "button",
        { type: "button", class: "back", onclick: () => this.#fire("restore", run.id) },
        "Restore",
      ),
    );
  }

  #fire(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
customElements.define("bx-runs", Runs);
