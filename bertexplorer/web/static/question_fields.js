// The fields in which a learner answers a question of a lesson: on the page, and in a lesson that was saved as a file.
import { en, h, render } from "./kit.js";

/** The *inputs* of a question, one for each choice or one in all, and the *element* that shows them; no inputs and null for a
 *  question that is answered in its view. */
export function fieldsOf({ kind, id, choices = [] }) {
  const inputs = inputsOf(kind, id, choices.length);
  if (!inputs.length) return { inputs, element: null };
  if (!choices.length) return { inputs, element: h("div", { class: "answers" }, inputs) };
  const labelled = choices.map((words, i) =>
    h("label", {}, inputs[i], h("span", {}, render(words))),
  );
  return { inputs, element: h("div", { class: `answers ${kind}` }, labelled) };
}

function inputsOf(kind, id, count) {
  const each = (make) => Array.from({ length: count }, (_, i) => h("input", make(i)));
  if (kind === "predict" || kind === "choice")
    return each((i) => ({ type: "radio", name: id, value: i }));
  if (kind === "share") {
    const even = Math.floor(100 / count);
    const first = 100 - even * (count - 1); // all points are shared out
    return each((i) => ({ type: "number", min: 0, max: 100, step: 1, value: i ? even : first }));
  }
  const estimate = { type: "text", inputmode: "decimal", autocomplete: "off" };
  if (kind === "number") return [en("input", { ...estimate, "aria-label": "Your estimate" })];
  if (kind === "say") return [en("textarea", { rows: 3, "aria-label": "In your words" })];
  return [];
}
