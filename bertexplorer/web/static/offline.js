// A lesson as one file that needs no server: views as pictures, answers computed in advance, interactive questions.
import { en, h, render } from "./kit.js";
import { saveAsFile, still } from "./hand_in.js";
import { fieldsOf } from "./question_fields.js";
import { oneScript } from "./sources.js";

const PATIENCE_MS = 30_000; // the longest wait for a view's answer
const SCRIPTS = ["number.js", "grading.js", "offline_player.js"]; // of the file, each after those that it imports

/** What a lesson is easily taken to say, and what it says instead. */
export const misreading = (lesson) => [
  en("h2", {}, "How not to misread this"),
  h(
    "p",
    {},
    en("span", {}, "It is easy to think: "),
    h("q", {}, render(lesson.misreading)),
    " ",
    render(lesson.instead),
  ),
];

/** Save *lesson*; *keys*: its answers; *about*: its duration and aim; *reveal* returns the live view of a link; *tell* receives
 *  the progress. */
export async function saveLesson(lesson, keys, about, reveal, tell) {
  const parts = [
    h("h1", {}, lesson.title),
    h("p", {}, render(lesson.question)),
    h("p", { class: "hint" }, about),
  ];
  for (const [i, part] of lesson.parts.entries()) {
    tell(`Part ${i + 1} of ${lesson.parts.length}…`);
    if (part.kind === "prose") {
      parts.push(h("div", {}, render(part.text)));
    } else {
      parts.push(
        h(
          "section",
          { id: part.id, "data-kind": part.kind, "data-key": JSON.stringify(keyOf(part, keys)) },
          render(part.prompt ?? []),
          fields(part, keyOf(part, keys)),
          h("div", { class: "said" }),
          part.link && h("div", { class: "view" }, await snapshot(reveal(part.link))),
        ),
      );
    }
  }
  parts.push(
    h("div", { class: "guards" }, ...misreading(lesson)),
    en("p", { class: "hint" }, `Sources: ${lesson.sources.join("; ")}`),
  );
  const sources = await Promise.all(
    SCRIPTS.map((name) => fetch(new URL(name, import.meta.url)).then((reply) => reply.text())),
  );
  saveAsFile(`lesson-${lesson.slug}`, lesson.title, parts, {
    script: oneScript(sources),
    language: lesson.language,
  });
}

/** What `judge` wants to know of a question. */
const keyOf = ({ id, kind, choices = [] }, keys) => ({ kind, choices, ...keys[id] });

/** The fields of a question. A click on a token has no view in a file, so the tokens are buttons. */
function fields(part, key) {
  if (part.kind !== "click") return fieldsOf(part).element;
  const tokens = (key.tokens ?? []).map((token) =>
    h("button", { type: "button", "data-token": token }, token),
  );
  return h("p", { translate: "no" }, tokens);
}

/** A picture of a live view or run, once it has its answer. */
async function snapshot(view) {
  const holder = h("div", { class: "aside" }, view);
  document.querySelector("bx-learn").append(holder);
  await new Promise((done) => {
    view.addEventListener("answered", done, { once: true });
    setTimeout(done, PATIENCE_MS);
  });
  const picture = await still(view);
  holder.remove();
  return picture;
}
