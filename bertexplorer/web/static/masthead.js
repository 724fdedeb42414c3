// The parts above and below the workbench: title, instruction, the first lesson for new users, lessons, limits and promises.
import { askClass } from "./ask.js";
import { h } from "./kit.js";

export const WELCOME = "welcome"; // the first lesson
const SEEN = "bx-welcome"; // in the browser's storage, once the first lesson was opened or the link dismissed

export function masthead() {
  const todo = h("p", {}, "Type a sentence. See how BERT reads it.");
  if (isNewUser()) todo.append(" ", welcome());
  return h("header", { class: "masthead" }, h("h1", {}, "BERT Explorer"), todo);
}

/** The link to the first lesson, until it is opened or dismissed. */
function welcome() {
  const element = h(
    "span",
    { class: "welcome" },
    h("a", { href: `learn?lesson=${WELCOME}`, onclick: welcomed }, "New here? Three things to try"),
    h(
      "button",
      {
        type: "button",
        "aria-label": "Do not show this again",
        onclick: () => {
          welcomed();
          element.remove();
          document.querySelector("#text-box")?.focus();
        },
      },
      "✕",
    ),
  );
  return element;
}

const door = (href, title, about) =>
  h("a", { class: "door", href }, h("strong", {}, title), h("small", {}, about));

/** The door to lectures and lessons, beside those that lead to views. */
export const classDoor = (site) =>
  door("learn", "Learn in class", site ? "lectures and lessons" : "lectures, lessons and votes");

/** The door to Teach. */
export const teachDoor = () => door("train", "Teach BERT", "with sentences of your own");

/** Do not offer the first lesson again. */
export function welcomed() {
  try {
    localStorage.setItem(SEEN, "1");
  } catch {
    /* without storage, it appears again */
  }
}

function isNewUser() {
  try {
    return !localStorage.getItem(SEEN);
  } catch {
    return false;
  }
}

const LESSONS = 3;

/** Fill *place* with the lessons on the view of *state*, answered by its checkpoint, and with the class. */
export function teach(place, { lessons, opening, site }, state) {
  const { view, checkpoint } = state.now,
    shown = `${view} ${checkpoint}`;
  if (place.dataset.shown === shown) return;
  place.dataset.shown = shown;
  const query = (lesson) =>
    new URLSearchParams({ lesson, ...(checkpoint !== opening.checkpoint && { checkpoint }) });
  const links = (lessons[view] ?? [])
    .slice(0, LESSONS)
    .map(({ slug, title }) => h("a", { href: `learn?${query(slug)}` }, title));
  place.replaceChildren(
    ...(links.length
      ? ["Lessons on this view: ", ...links.flatMap((one, i) => (i ? [" · ", one] : [one]))]
      : []),
    site
      ? ""
      : h(
          "span",
          { id: "ask-class" },
          links.length ? " · " : "",
          h(
            "button",
            {
              type: "button",
              id: "do-ask",
              onclick: () => askClass(location.search || state.link),
            },
            "Ask the class…",
          ),
        ),
  );
}

/** Limits and promises; and, unless this is a site, the ways in which programs ask. */
export function about(parts, site) {
  const lists = parts.map(([title, lines]) => [
    h("h3", {}, title),
    h(
      "ul",
      {},
      lines.map((line) => h("li", {}, line)),
    ),
  ]);
  const ways = h(
    "p",
    { class: "ways" },
    "From a program: ",
    h("a", { href: "gradio" }, "Gradio’s clients"),
    " · ",
    h("a", { href: "api/v1/docs" }, "HTTP"),
  );
  return h(
    "footer",
    { class: "about" },
    h("details", {}, h("summary", {}, "About: limits and promises"), lists.flat()),
    site ? "" : ways,
  );
}
