// A lesson as one file that needs no server: its views as pictures, its answers computed ahead, its questions alive.
import { drawn, h } from "./kit.js";
import { saveAsFile, still } from "./hand_in.js";

const PATIENCE_MS = 30_000;  // for a view to answer

/** Save *lesson*; *keys*: its answers; *reveal*: gives the live view of a link; *tell* hears how far it is. */
export async function saveLesson(lesson, keys, reveal, tell) {
  const parts = [h("h1", {}, lesson.title), h("p", {}, drawn(lesson.question)), h("p", { class: "hint" }, `${lesson.minutes} min · `, drawn(lesson.can))];
  for (const [i, part] of lesson.parts.entries()) {
    tell(`Part ${i + 1} of ${lesson.parts.length}…`);
    if (part.kind === "prose") parts.push(h("div", {}, drawn(part.text)));
    else parts.push(h("section", { id: part.id, "data-kind": part.kind, "data-key": JSON.stringify(keys[part.id] ?? {}) }, drawn(part.prompt ?? []),
      inputs(part, keys[part.id] ?? {}), h("div", { class: "said" }), part.link && h("div", { class: "view" }, await frozen(reveal(part.link)))));
  }
  parts.push(h("div", { class: "guards" }, h("h2", {}, "How not to misread this"), h("p", {}, "It is easy to think: ", h("q", {}, drawn(lesson.misreading)), " ", drawn(lesson.instead))),
    h("p", { class: "hint" }, `Sources: ${lesson.sources.join("; ")}`));
  const player = await fetch(new URL("offline_player.js", import.meta.url)).then((reply) => reply.text());
  saveAsFile(`lesson-${lesson.slug}`, lesson.title, parts, player);
}

/** What a question asks to be filled in. */
function inputs({ kind, id, choices = [] }, key) {
  if (kind === "predict" || kind === "choice") return h("div", {}, choices.map((words, i) => h("label", {}, h("input", { type: "radio", name: id, value: i }), " ", drawn(words))));
  if (kind === "share") return h("div", {}, choices.map((words) => h("label", {}, h("input", { type: "number", min: 0, max: 100, value: 0 }), " ", drawn(words))));
  if (kind === "number") return h("input", { type: "text", "aria-label": "Your estimate" });
  if (kind === "say") return h("textarea", { rows: 3, "aria-label": "In your words" });
  if (kind === "click") return h("p", { translate: "no" }, (key.tokens ?? []).map((token) => h("button", { type: "button", "data-token": token }, token)));
  return null;
}

/** A live view or run, once it has answered, as a picture. */
async function frozen(view) {
  const aside = h("div", { class: "aside" }, view);
  document.querySelector("bx-learn").append(aside);
  await new Promise((done) => { view.addEventListener("answered", done, { once: true }); setTimeout(done, PATIENCE_MS); });
  const made = await still(view);
  aside.remove();
  return made;
}
