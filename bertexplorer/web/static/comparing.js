// <bx-comparing>: what the answer is compared with, and the checkpoint, text or settings that this needs. Fires "against" with the
// comparison that is chosen, "other" with what is typed beside it, and "ask" when that is whole.
import { grow, h, onEnter } from "./kit.js";
import { joinNames } from "./site/wording.js";

/** @import { View } from "./types.d.ts" */
/** @typedef {{ against: string, other: string }} Compared */

/** @type {Record<string, { label: string, hint: string }>} */
const OTHER = {
  "another checkpoint": {
    label: "Name of the checkpoint",
    hint: "Type the name of the other checkpoint, such as tiny, and press Enter.",
  },
  "another text": { label: "The other text", hint: "Type the other text, and press Enter." },
  "other settings": {
    label: "Settings that differ",
    hint: "Type what differs, such as precision=fp32, and press Enter.",
  },
};
const SEVERAL = "Several may be given, with commas between them.";

/** What to type beside the comparison of *compared*; "" if it needs nothing more.
 *  @param {Compared} compared
 *  @param {View} view */
export function hint({ against, other }, view) {
  if (!(against in OTHER) || other.trim()) return "";
  const { hint } = OTHER[against];
  if (against === "another checkpoint" && view.several) return `${hint} ${SEVERAL}`;
  if (against === "other settings") {
    const names = view.settings.filter((one) => !one.by_page).map((one) => one.name);
    return `${hint} This view has ${joinNames([...names, "precision"])}.`;
  }
  return hint;
}

/** The names of the checkpoints of *compared*.
 *  @param {Compared} compared */
export const checkpointsOf = ({ against, other }) =>
  against === "another checkpoint" ? other.split(",").map((name) => name.trim()) : [];

class Comparing extends HTMLElement {
  /** @type {any[]} */
  choices; // a radio button each

  /** Draw a choice for each of *comparisons*, of which "" is none.
   *  @param {string[]} comparisons */
  draw(comparisons) {
    this.choices = comparisons.map((one) =>
      h("input", {
        type: "radio",
        name: "against",
        value: one,
        onchange: (/** @type {Event} */ event) => this.#choose(one, event),
      }),
    );
    this.box = h("textarea", {
      id: "other-box",
      rows: 1,
      spellcheck: "false",
      dir: "auto",
      translate: "no",
      oninput: () => this.#fire("other", this.box.value),
      onchange: () => this.#fire("ask"),
      onkeydown: onEnter((field) => field.blur()),
    });
    this.label = h("label", { for: "other-box" });
    this.other = h("div", { id: "other" }, this.label, this.box);
    const labels = this.choices.map((one) => h("label", {}, one, " ", one.value || "nothing"));
    const choices = h("div", { class: "choices" }, labels);
    this.append(
      h("fieldset", { id: "against" }, h("legend", {}, "Compare with"), choices),
      this.other,
    );
  }

  /** Open it, for who pressed Compare. */
  open() {
    this.hidden = false;
    this.querySelector("input")?.focus();
  }

  /** Show what *compared* says, as far as *view* and a training of *moments* checkpoints allow it.
   *  @param {Compared} compared
   *  @param {View} view
   *  @param {number} moments */
  show({ against, other }, view, moments) {
    this.hidden = !against && !this.contains(document.activeElement);
    this.other.hidden = !(against in OTHER);
    this.label.textContent = OTHER[against]?.label ?? "";
    if (this.box.value !== other) {
      this.box.value = other;
      grow(this.box);
    }
    for (const one of this.choices) {
      one.checked = one.value === against;
      const lacksText = one.value === "another text" && !view.text;
      const lacksTraining = one.value === "its training" && !(view.several && moments > 1);
      one.parentElement.hidden = lacksText || lacksTraining;
    }
  }

  /** @param {string} comparison
   *  @param {Event} event */
  #choose(comparison, { target }) {
    this.#fire("against", comparison);
    // who walks through the choices with arrow keys stays among them
    const walks = /** @type {Element} */ (target).matches(":focus-visible");
    if (comparison in OTHER && !walks) this.box.focus();
  }

  /** @param {string} name
   *  @param {string} [detail] */
  #fire(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
customElements.define("bx-comparing", Comparing);
