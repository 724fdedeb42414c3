// <bx-moment>: a slider through the checkpoints of one training; fires "move" with a checkpoint's name, or "fetch" if it must
// be downloaded.
import { h } from "./kit.js";

const step = ([, label]) => `Training: ${label.split(", ").at(-1)}`;

class Moment extends HTMLElement {
  #series = [];
  keys = false;  // whether a key was the last to move the slider

  connectedCallback() {
    if (this.firstChild) return;
    this.className = "setting";
    this.label = h("label", { for: "moment-at" });
    this.slider = h("input", {
      type: "range", id: "moment-at", min: 0, step: 1,
      oninput: () => this.#move(false),
      onchange: () => { if (!this.keys) this.#move(true); },
      onpointerdown: () => { this.keys = false; },
      onkeydown: ({ key, repeat }) => { this.keys = true; if (key === "Enter" && !repeat) this.#move(true); },
    });
    this.append(this.label, this.slider);
  }

  /** Show the position of *checkpoint* in *series*, a list of [name, label, megabytes to download]; hide if it is not in it. */
  show(series, checkpoint) {
    const at = series.findIndex(([name]) => name === checkpoint);
    this.#series = series;
    this.hidden = at < 0 || series.length < 2;
    if (this.hidden || document.activeElement === this.slider) return;
    this.slider.max = series.length - 1;
    this.slider.value = at;
    this.label.textContent = step(series[at]);
  }

  /** Download a checkpoint only when the user releases the slider or presses Enter, so that those passed on the way are not
   *  fetched. */
  #move(released) {
    const chosen = this.#series[this.slider.value], size = chosen[2];
    this.label.textContent = step(chosen) + (size ? `, ${Math.round(size)} MB to download${this.keys ? ", with Enter" : ""}` : "");
    if (released === Boolean(size)) this.dispatchEvent(new CustomEvent(size ? "fetch" : "move", { detail: chosen[0] }));
  }
}
customElements.define("bx-moment", Moment);
