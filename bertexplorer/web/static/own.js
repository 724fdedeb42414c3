// What is a person's own while a view shows something else: their text, while an example of the view stands in for it, and their
// checkpoint, while a view borrows another. Both come back in the next view.

import { defaultsOf } from "./settings.js";

/** @import { Answer, Page, State } from "./types.d.ts" */
/** @typedef {Pick<State, "text" | "pair" | "hidden" | "picked">} Text */

const HOLE = /\[MASK\]|<mask>/;

export class Own {
  /** @type {Text | null} */
  text = null; // {text, pair, hidden, picked}, while an example stands in for it
  #options = {}; // of the view, with that text
  #why = ""; // the example is shown
  #standsIn = ""; // the view whose example it is
  #opened = ""; // the view that was opened last, until it has answered or the person has changed something

  /** *checkpoint*: the person's.
   *  @param {Pick<Page, "views" | "opening" | "site">} schema
   *  @param {string} checkpoint */
  constructor({ views, opening, site }, checkpoint) {
    this.views = views;
    this.opening = opening;
    this.site = site;
    this.checkpoint = checkpoint;
  }

  /** What the browser's history keeps, so that Back and a reload find it again. */
  get kept() {
    return {
      text: this.text,
      options: this.#options,
      standsIn: this.#standsIn,
      why: this.#why,
      checkpoint: this.checkpoint,
    };
  }

  set kept(kept) {
    this.changed();
    if (!kept) return;
    this.text = kept.text;
    this.#options = kept.options;
    this.#standsIn = kept.standsIn;
    this.#why = kept.why;
    this.checkpoint = kept.checkpoint;
  }

  /** The checkpoint with which *view* opens: the person's, or the one that it borrows as nobody has picked one.
   *  @param {string} view */
  checkpointFor(view) {
    const borrowed = this.views[view].checkpoint;
    return borrowed && this.checkpoint === this.opening.checkpoint ? borrowed : this.checkpoint;
  }

  /** Whether the state *now* shows an example that stands in for the person's text.
   *  @param {Pick<State, "view">} now */
  isAway(now) {
    return this.text !== null && this.#standsIn === now.view;
  }

  /** The person's text, and what they hid and picked in it.
   *  @param {State} now */
  of(now) {
    const { text, pair, hidden, picked } = (this.isAway(now) && this.text) || now;
    return { text, pair, hidden, picked };
  }

  /** The change of the state *now* that opens *view*, with the person's own text. If it is refused, see `instead`.
   *  @param {string} view
   *  @param {State} now
   *  @returns {Text & Pick<State, "view" | "checkpoint"> & Partial<State>} */
  open(view, now) {
    const checkpoint = this.checkpointFor(view),
      own = this.of(now);
    this.changed();
    this.#opened = view;
    const borrowed = checkpoint !== this.checkpoint;
    if (borrowed && this.views[view].text && (own.hidden || HOLE.test(own.text))) {
      return {
        view,
        checkpoint,
        ...this.#example(view, own, defaultsOf(this.views[view]), "your text has a hidden word"),
      };
    }
    return { ...own, view, checkpoint };
  }

  /** A press on a figure opens *view* with what is on the screen.
   *  @param {string} view */
  opens(view) {
    this.changed();
    this.#opened = view;
  }

  /** What to ask instead, as the view that was just opened refuses the state *now*: with another checkpoint, then with the view's
   *  first example. Null if a person has changed something since, or if nothing is left to try.
   *  @param {State} now
   *  @param {Answer} answer
   *  @returns {Partial<State> | null} */
  instead(now, { detail = "", missing = "" }) {
    const { views, opening } = this,
      view = views[now.view];
    if (this.#opened !== now.view) return null;
    let checkpoint;
    if (missing === "head") ({ checkpoint } = opening);
    if (missing === "tuned") checkpoint = views.answer?.checkpoint;
    if (checkpoint && checkpoint !== now.checkpoint) return { checkpoint };
    if (this.isAway(now)) return this.back();
    if (!view.text) return null;
    return this.#example(now.view, this.of(now), now.options, firstClause(detail));
  }

  /** The change to the first example of *view*. It keeps *text*, the person's own, with the *options* that it had, and says *why*.
   *  @param {string} view
   *  @param {Text} text
   *  @param {Record<string, any>} options
   *  @param {string} why */
  #example(view, text, options, why) {
    const [example] = this.views[view].examples;
    this.text = text;
    this.#standsIn = view;
    this.#options = options;
    this.#why = why;
    return {
      text: example.text,
      pair: example.pair,
      hidden: "",
      picked: example.picked,
      options: { ...defaultsOf(this.views[view]), ...example.options },
    };
  }

  /** The change that brings the person's text back, null if it is on the screen. */
  back() {
    const { text } = this;
    this.changed();
    return text ? { ...text, options: this.#options } : null;
  }

  /** The person has changed something: what is on the screen is theirs. */
  changed() {
    this.text = null;
    this.#opened = "";
  }

  /** The person has pressed another example. */
  chosen() {
    this.answered();
    this.#why = "";
  }

  /** The opened view has answered. */
  answered() {
    this.#opened = "";
  }

  /** What the page says about an answer to the state *now*: [words, [label, what a press does] …], or null. *back*, *use*: the actions.
   *  @param {State} now
   *  @param {{back: () => void, use: (checkpoint: string) => void}} actions
   *  @returns {[string, [string, () => void][]] | null} */
  note(now, { back, use }) {
    const { views, checkpoint } = this,
      view = views[now.view],
      words = [];
    /** @type {[string, () => void][]} */
    const buttons = [];
    if (now.checkpoint !== checkpoint) {
      const borrows = view.checkpoint === now.checkpoint;
      words.push(
        borrows
          ? `This view needs a fine-tuned checkpoint, and shows ${now.checkpoint}. The other views stay with ${checkpoint}.`
          : `This is ${now.checkpoint}, for this view alone. The other views stay with ${checkpoint}.`,
      );
      if (!this.site) buttons.push([`Use ${now.checkpoint} everywhere`, () => use(now.checkpoint)]); // a site has one alone
      if (!borrows) buttons.push([`Back to ${checkpoint}`, () => use(checkpoint)]);
    }
    if (this.isAway(now)) {
      words.push(`This is an example, not your text${this.#why && `: ${this.#why}`}.`);
      buttons.push(["Back to my text", back]);
    }
    return words.length ? [words.join(" "), buttons] : null;
  }
}

/** The first sentence of an error, as a part of another one.
 *  @param {string} error */
const firstClause = (error) => {
  const [sentence] = error.split(/\.(?= [A-Z]|$)/);
  const isPlain = /^(A|Besides|Each|In|No|Nothing|One|Only|The|There|This) /.test(sentence); // else it may begin with a name
  return isPlain ? sentence[0].toLowerCase() + sentence.slice(1) : sentence;
};
