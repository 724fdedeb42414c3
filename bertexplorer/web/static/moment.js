// <bx-moment>: a slider through the checkpoints of one training, which also plays; fires "move" with a checkpoint's name, or
// "fetch" if it must be downloaded.
import { h } from "./kit.js";

const PLAY_MS = 700; // that an answer stays before the next step
/** @param {[string, string, number]} saved */
const step = ([, label]) => `Training: ${label.split(", ").at(-1)}`;

class Moment extends HTMLElement {
  #series = [];
  #playing = false;
  /** @type {number | undefined} */
  #timer; // of the next step
  keys = false; // whether a key was the last to move the slider

  connectedCallback() {
    if (this.firstChild) return;
    this.className = "setting";
    this.label = h("label", { for: "moment-at" });
    this.slider = h("input", {
      type: "range",
      id: "moment-at",
      min: 0,
      step: 1,
      oninput: () => this.#move(false),
      onchange: () => {
        if (!this.keys) this.#move(true);
      },
      onpointerdown: () => {
        this.keys = false;
      },
      onkeydown: ({ key, repeat }) => {
        this.keys = true;
        if (key === "Enter" && !repeat) this.#move(true);
      },
    });
    this.button = h(
      "button",
      { type: "button", id: "moment-play", onclick: () => this.#play(!this.#playing) },
      "Play",
    );
    this.append(this.label, this.button, this.slider);
  }

  /** Show the position of *checkpoint* in *series*, a list of [name, label, megabytes to download]; hide if it is not in it.
   *  @param {[string, string, number][]} series
   *  @param {string} checkpoint */
  show(series, checkpoint) {
    const at = series.findIndex(([name]) => name === checkpoint);
    this.#series = series;
    this.hidden = at < 0 || series.length < 2;
    if (this.hidden) this.stop();
    if (this.hidden || document.activeElement === this.slider) return;
    this.slider.max = series.length - 1;
    this.slider.value = at;
    this.label.textContent = step(series[at]);
  }

  /** The answer of a step is on the screen: go on with the next one. */
  answered() {
    if (!this.#playing) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#go(Number(this.slider.value) + 1), PLAY_MS);
  }

  stop() {
    if (this.#playing) this.#play(false);
  }

  /** Play from the position of the slider, at its end from the start. */
  #play(on) {
    clearTimeout(this.#timer);
    this.#playing = on;
    this.button.textContent = on ? "Pause" : "Play";
    if (!on) return;
    const at = Number(this.slider.value);
    this.#go(at < this.#series.length - 1 ? at + 1 : 0);
  }

  /** Move to a checkpoint; stop at the end, and at one that must be downloaded. */
  #go(to) {
    if (to >= this.#series.length || this.#series[to][2]) {
      this.stop();
      return;
    }
    this.slider.value = to;
    this.#move(false);
  }

  /** Download a checkpoint only when the user releases the slider or presses Enter, so that those passed on the way are not
   *  fetched. */
  #move(released) {
    const chosen = this.#series[this.slider.value];
    const [name, , megabytes] = chosen;
    let words = step(chosen);
    if (megabytes) words += `, ${Math.round(megabytes)} MB to download`;
    if (megabytes && this.keys) words += ", with Enter";
    this.label.textContent = words;
    if (released === Boolean(megabytes))
      this.dispatchEvent(new CustomEvent(megabytes ? "fetch" : "move", { detail: name }));
  }
}
customElements.define("bx-moment", Moment);
