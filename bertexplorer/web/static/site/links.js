// A link of a view, as `restore_state` of the server reads it.
import { readSpans, writeSpans } from "../spans.js";

/** @import { Page } from "../types.d.ts" */

const COMPARISONS = [
  "random weights",
  "another checkpoint",
  "another text",
  "other settings",
  "its training",
];

/** What the query *link* says beside settings. *known*: whether it names a view that there is; *options*: those of the example that
 *  fills in for a text, if the link has none.
 *  @param {string} link
 *  @param {Pick<Page, "views" | "opening">} page */
export function readLink(link, { views, opening }) {
  const query = new URLSearchParams(link),
    named = query.get("view") ?? opening.view,
    known = Object.hasOwn(views, named);
  const view = known ? named : opening.view,
    bare = !query.has("text");
  const example = view === opening.view ? opening : { hidden: "", ...views[view].examples[0] };
  /** @type {(name: string, otherwise: string) => string} */
  const given = (name, otherwise) => query.get(name) ?? ((bare && otherwise) || "");
  /** @type {(name: string, otherwise: string) => string} */
  const spans = (name, otherwise) => writeSpans(readSpans(given(name, otherwise)));
  return {
    query,
    named,
    known,
    options: bare ? (example.options ?? {}) : {},
    state: {
      view,
      text: given("text", example.text),
      pair: given("pair", example.pair),
      hidden: spans("hidden", example.hidden),
      picked: spans("picked", example.picked),
      against: COMPARISONS.find((one) => one === query.get("against")) ?? "",
      other: query.get("versus") ?? "",
    },
  };
}
