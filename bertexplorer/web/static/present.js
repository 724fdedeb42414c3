// Present: the question, the text, the figure and its sentence fill the screen in larger type, and nothing else is seen. Arrow keys
// go through the examples (left, right; also the keys of a presenter's remote) and the views (up, down). Escape ends it.
import { grow, h } from "./kit.js";

const OFF = "bx-present-key"; // in the browser's storage, if the key P is switched off
const KEY = "p";
const LARGEST_TYPE = 2.6; // times the usual size of the words
const HINT_MS = 4000;
export const FIELDS =
  "input, textarea, select, [contenteditable], [role=tab], .chip, .part, iframe"; // which use keys of their own

/** Leave the full screen; resolves once the window has its size again. */
export const leave = () =>
  document.fullscreenElement ? document.exitFullscreen().catch(() => {}) : Promise.resolve();

/** How much larger than usual words are on this screen. */
export const typeSize = () =>
  Math.min(LARGEST_TYPE, Math.max(1, Math.min(innerWidth / 1250, innerHeight / 760)));

/** Let nothing be reached but *page*; returns what undoes this. */
export function alone(page) {
  const others = outside(page);
  for (const one of others) one.inert = true;
  return () => {
    for (const one of others) one.inert = false;
  };
}

/** All that is beside *page* and the elements around it. */
function outside(page) {
  const others = [];
  for (let one = page; one.parentElement && one !== document.body; one = one.parentElement) {
    others.push(
      ...[...one.parentElement.children].filter(
        (other) =>
          other !== one && !other.inert && !["SCRIPT", "STYLE", "LINK"].includes(other.tagName),
      ),
    );
  }
  return others;
}

export class Presentation {
  #full = false; // whether the browser shows the page alone on the screen
  #timer = 0;

  /** *page*: the element to present; *example* and *view* are called with -1 or 1; *redraw*, when sizes have changed. */
  constructor(page, { example, view, redraw }) {
    this.page = page;
    this.example = example;
    this.view = view;
    this.redraw = redraw;
    this.button = h(
      "button",
      { type: "button", id: "do-present", onclick: () => this.begin() },
      "Present",
    );
    this.allowed = h("input", { type: "checkbox", onchange: () => this.#allow() });
    this.hint = h(
      "p",
      { id: "presenting" },
      "← → examples · ↑ ↓ views · Esc ends",
      h("label", {}, this.allowed, " Key P starts it"),
      h("button", { type: "button", onclick: () => this.end() }, "End"),
    );
    try {
      this.allowed.checked = !localStorage.getItem(OFF);
    } catch {
      this.allowed.checked = true;
    }
    document.addEventListener("keydown", (event) => this.#press(event));
    document.addEventListener("fullscreenchange", () => {
      if (this.#full && !document.fullscreenElement) this.end();
    });
    addEventListener("resize", () => {
      if (this.on) {
        this.#fit();
        this.redraw();
      }
    });
    page.addEventListener("pointermove", () => {
      if (this.on) this.#tell();
    });
  }

  get on() {
    return this.page.classList.contains("presenting");
  }

  begin() {
    if (this.on) return;
    this.before = document.activeElement;
    this.page.classList.add("presenting");
    this.page.append(this.hint);
    this.release = alone(this.page);
    this.#fit();
    this.#tell();
    this.redraw();
    this.page.querySelector("#question h2").focus();
    // without it, the page fills the window
    document.documentElement.requestFullscreen?.().then(
      () => {
        if (this.on) this.#full = true;
        else leave();
      },
      () => {},
    );
  }

  end() {
    if (!this.on) return;
    this.page.classList.remove("presenting");
    this.hint.remove();
    this.release?.();
    this.#full = false;
    this.#grow();
    leave().then(() => this.redraw());
    (this.before?.isConnected && this.before !== document.body ? this.before : this.button).focus({
      preventScroll: true,
    });
  }

  #press(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (key === "Escape" && this.on) {
      this.end();
      return;
    }
    if (target.closest?.(FIELDS)) return;
    if (key.toLowerCase() === KEY && this.allowed.checked && this.page.isConnected) {
      event.preventDefault();
      if (this.on) this.end();
      else this.begin();
      return;
    }
    const steps = {
      ArrowRight: [this.example, 1],
      PageDown: [this.example, 1],
      ArrowLeft: [this.example, -1],
      PageUp: [this.example, -1],
      ArrowDown: [this.view, 1],
      ArrowUp: [this.view, -1],
    };
    if (!this.on || !steps[key]) return;
    event.preventDefault();
    const [go, by] = steps[key];
    go(by);
  }

  /** The size of the words, from that of the screen. */
  #fit() {
    this.page.style.setProperty("--type", typeSize().toFixed(2));
    this.#grow();
  }

  #grow() {
    this.page.querySelectorAll("#workbench textarea").forEach(grow);
  }

  /** Show the keys for some seconds. */
  #tell() {
    this.hint.classList.add("seen");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.hint.classList.remove("seen"), HINT_MS);
  }

  #allow() {
    try {
      if (this.allowed.checked) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, "1");
    } catch {
      /* until the page is closed */
    }
  }
}
