// What stands above and below the workbench: the name, what to do, the first lesson for those who are new, limits and promises.
import { h } from "./kit.js";

const SEEN = "bx-welcome";  // in the browser's storage, once the first lesson was opened or put away

export function masthead() {
  const todo = h("p", {}, "Type a sentence. See how BERT reads it.");
  if (fresh()) todo.append(" ", welcome());
  return h("header", { class: "masthead" }, h("h1", {}, "BERT Explorer"), todo);
}

/** The way to the first lesson; never shown twice. */
function welcome() {
  const away = () => { try { localStorage.setItem(SEEN, "1"); } catch { /* shown again, then */ } };
  const made = h("span", { class: "welcome" }, h("a", { href: "learn?lesson=welcome", onclick: away }, "New here? Three things to try"),
    h("button", { type: "button", "aria-label": "Do not show this again", onclick: () => { away(); made.remove(); } }, "✕"));
  return made;
}

function fresh() {
  try { return !localStorage.getItem(SEEN); } catch { return false; }
}

export function about(parts) {
  const lists = parts.map(([title, lines]) => [h("h3", {}, title), h("ul", {}, lines.map((line) => h("li", {}, line)))]);
  return h("details", { class: "about" }, h("summary", {}, "About: limits and promises"), lists.flat());
}
