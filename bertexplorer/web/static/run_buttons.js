// The buttons of a run: what can be done with it, as far as its report says so.
import { h } from "./kit.js";

const WORDS = { stop: "Stop", resume: "Resume", again: "Run again", delete: "Delete" };

/** A button for each action; *act* hears the name of the one that is pressed. They are hidden until they are offered.
 *  @param {(action: string) => void} act */
export const actionButtons = (act) =>
  Object.entries(WORDS).map(([action, words]) =>
    h(
      "button",
      { type: "button", hidden: true, "data-action": action, onclick: () => act(action) },
      words,
    ),
  );

/** Show those of *buttons* whose action *can* be taken.
 *  @param {HTMLElement[]} buttons
 *  @param {string[]} can */
export function offerActions(buttons, can) {
  for (const button of buttons) button.hidden = !can.includes(button.dataset.action ?? "");
}
