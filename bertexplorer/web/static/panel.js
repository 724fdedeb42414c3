// What the page and a live view of a lesson share: they show one state with its text, strip, stage and settings.

import { shownOptions } from "./settings.js";

/** @import { Card, View, ViewAnswer } from "./types.d.ts" */
/** @import { State } from "./state.js" */

export class Panel extends HTMLElement {
  #texts = { text: "", pair: "" }; // of the answer on the screen
  /** @type {State} */
  state;
  strip;
  stage;
  form;

  /** Change a setting, as a form fires it. */
  setting({ name, value, soon }) {
    this.state.set({ options: { ...this.state.now.options, [name]: value } }, { soon });
  }

  /** Take a press on the strip: the spans that it hides or picks, or the mask that it fills. */
  press(detail) {
    if (detail.fill) this.state.ask({ fill: detail.fill });
    else this.state.mark(detail, this.#texts);
  }

  /** Show that an answer is on its way, or that it is not. */
  hear(news) {
    if (news.busy !== undefined) this.setAttribute("aria-busy", String(news.busy));
    this.stage.hear(news);
  }

  /** Show the text of an *answer* as chips.
   *  @param {ViewAnswer} answer */
  showText({ state, strip }) {
    this.#texts = { text: state.text, pair: state.pair };
    if (strip) this.strip.show(strip);
    else this.strip.clear();
  }

  /** Show the settings of the state, of *view*, as far as the *checkpoint* has them.
   *  @param {View} view
   *  @param {Card} [checkpoint] */
  showSettings(view, checkpoint) {
    const { now } = this.state,
      { layers, heads } = checkpoint ?? {};
    this.form.draw(now.view, view.settings);
    this.form.fill(shownOptions(view, now.options), layers ? { layers, heads } : {});
  }
}
