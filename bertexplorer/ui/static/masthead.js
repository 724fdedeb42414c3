// The parts above and below the workbench: title, instruction, a link to the first lesson for new users, limits and promises.
import { h } from "./kit.js";

const SEEN = "bx-welcome";  // in the browser's storage, once the link was opened or dismissed

export function masthead() {
  const todo = h("p", {}, "Type a sentence. See how BERT reads it.");
  if (isNewUser()) todo.append(" ", welcome());
  return h("header", { class: "masthead" }, h("h1", {}, "BERT Explorer"), todo);
}

/** The link to the first lesson, until it is opened or dismissed. */
function welcome() {
  const dismiss = () => { try { localStorage.setItem(SEEN, "1"); } catch { /* without storage, it appears again */ } };
  const element = h("span", { class: "welcome" }, h("a", { href: "learn?lesson=welcome", onclick: dismiss }, "New here? Three things to try"),
    h("button", { type: "button", "aria-label": "Do not show this again", onclick: () => { dismiss(); element.remove(); } }, "✕"));
  return element;
}

function isNewUser() {
  try { return !localStorage.getItem(SEEN); } catch { return false; }
}

export function about(parts) {
  const lists = parts.map(([title, lines]) => [h("h3", {}, title), h("ul", {}, lines.map((line) => h("li", {}, line)))]);
  return h("details", { class: "about" }, h("summary", {}, "About: limits and promises"), lists.flat());
}
