// <bx-strip>: the text as token chips. A press hides or picks a token; fires "press" with {hidden} or {picked}, spans as in a
// link, or {fill}, a typed mask to replace by its answer.
import { h, roving } from "./kit.js";

/** @import { Strip } from "./types.d.ts" */

class TokenStrip extends HTMLElement {
  /** @type {Pick<Strip, "press" | "chips">} */
  #strip = { press: "", chips: [] };
  #shape = "";
  #focused = 0;

  connectedCallback() {
    if (this.firstChild) return;
    this.box = h("div", { class: "strip", role: "group", dir: "auto", translate: "no" });
    this.below = h("div");
    this.append(this.box, this.below);
    this.addEventListener("click", (event) => {
      const chip = /** @type {Element} */ (event.target).closest("button.chip");
      if (chip) this.#press(chip, event.shiftKey || event.ctrlKey || event.metaKey);
    });
    this.addEventListener("focusin", (event) => {
      this.#focused = Math.max(0, this.#chips().indexOf(event.target));
    });
    roving(this, () => this.#chips());
  }

  /** Show *strip* from the server. The chips of an unchanged text stay in place: a finger may be on one.
   *  @param {Strip} strip */
  show(strip) {
    this.#strip = strip;
    this.box.dataset.picks = strip.press === "pick" ? "1" : "0";
    this.box.setAttribute("aria-label", strip.label);
    const had = this.contains(document.activeElement);
    const shape = strip.chips
      .map((chip) => [chip.side, chip.word, chip.span && 1, chip.cut])
      .join("|");
    if (shape === this.#shape)
      [...this.querySelectorAll(".chip")].forEach((one, i) => this.#dress(one, strip.chips[i]));
    else this.box.replaceChildren(...this.#words(strip.chips));
    this.#shape = shape;
    const chips = this.#chips();
    const chip = chips[Math.min(this.#focused, chips.length - 1)];
    if (chip) chip.tabIndex = 0;
    if (had) chip?.focus({ preventScroll: true });
    const onlyScrolls = !chips.length && this.box.scrollHeight > this.box.clientHeight;
    if (onlyScrolls)
      this.box.tabIndex = 0; // so that keys can do that
    else this.box.removeAttribute("tabindex");
    const lines = strip.notes.map((note) => h("p", { class: "note" }, note));
    if (strip.hint) lines.unshift(h("p", { class: "hint" }, strip.hint));
    this.below.replaceChildren(...lines);
  }

  /** The words of *texts* until the answer has their tokens, so that what stands below does not move then. */
  expect(texts, press) {
    const chip = (label, side, special = false) => ({
      label,
      title: "",
      side,
      word: -1,
      special,
      span: "",
      colour: null,
    });
    /** @type {any[]} */
    const chips = [chip("[CLS]", 0, true)];
    texts.forEach((text, side) => {
      const words = text.match(/\[MASK\]|[\p{L}\p{M}\p{N}]+|[^\s]/gu) ?? [];
      for (const word of words) chips.push(chip(word, side));
      chips.push(chip("[SEP]", side, true));
    });
    this.show({ press: "", label: "Tokens", hint: press && "\u00a0", notes: [], chips });
  }

  /** Take the colours off, which another view gave. */
  fade() {
    const chips = this.#strip.chips.map((chip) => ({ ...chip, colour: null }));
    this.show({ label: "Tokens", hint: "", notes: [], ...this.#strip, chips });
  }

  clear() {
    this.show({ press: "", label: "Tokens", hint: "", notes: [], chips: [] });
  }

  /** The lines above a saved figure: the text with its hidden words, or the picked words. */
  get words() {
    const { press, chips } = this.#strip;
    const labels = (some) => some.map((chip) => chip.label).join(" ");
    const isHidden = (chip) => chip.masked && !chip.typed;
    if (press === "hide" && chips.some(isHidden)) return [`Read as: ${labels(chips)}`];
    const picked = chips.filter((chip) => chip.on);
    if (press === "pick" && labels(picked)) return [`Picked: ${labels(picked)}`];
    return [];
  }

  #chips() {
    return [...this.querySelectorAll("button.chip")];
  }

  #words(chips) {
    const out = [];
    chips.forEach((chip, i) => {
      const element = this.#dress(chip.span ? h("button", { type: "button" }) : h("span"), chip);
      const before = chips[i - 1];
      const isInWord = chip.word >= 0;
      const continues = isInWord && before?.word === chip.word && before.side === chip.side;
      if (continues) out.at(-1).append(element);
      else if (isInWord) out.push(h("span", { class: `word side-${chip.side}` }, element));
      else out.push(element);
      if (chip.cut) {
        const words = `cut here: ${chip.cut.toLocaleString("en")} tokens left out`;
        out.push(h("span", { class: "cut" }, words));
      }
    });
    return out;
  }

  /** *element* as *chip* looks: only what differs is set. */
  #dress(element, chip) {
    const tinted = chip.colour !== null;
    const classes = {
      special: chip.special,
      more: chip.more,
      masked: chip.masked,
      picked: chip.on && this.#strip.press === "pick",
      tinted,
      against: chip.colour < 0,
    };
    const names = Object.keys(classes).filter((name) => classes[name]);
    const className = ["chip", `side-${chip.side}`, ...names].join(" ");
    if (element.className !== className) element.className = className;
    if (element.title !== chip.title) element.title = chip.title;
    if (element.textContent !== chip.label) element.textContent = chip.label;
    if (tinted) element.style.setProperty("--p", Math.abs(chip.colour || 0));
    if (chip.span) {
      element.tabIndex = -1;
      element.setAttribute("aria-pressed", String(chip.on));
      Object.assign(element.dataset, { span: chip.span, typed: chip.typed ? "1" : "0" });
    }
    return element;
  }

  #press(chip, several) {
    const picking = this.#strip.press === "pick";
    const isOn = (one) => one.getAttribute("aria-pressed") === "true";
    const isTyped = (one) => one.dataset.typed === "1"; // a [MASK] of the text, which no press has hidden
    const { span } = chip.dataset;
    if (isTyped(chip) && this.#strip.press === "hide") {
      this.#fire({ fill: span });
      return;
    }
    // 1. The spans after this press. One that is picked takes the place of the others, unless several are.
    const pressed = this.#chips().filter((one) => isOn(one) && (picking || !isTyped(one)));
    let spans = pressed.map((one) => one.dataset.span).filter((one) => one !== span);
    if (picking && !several) spans = [];
    if (!isOn(chip)) spans.push(span);
    // 2. Until the answer arrives, the chips show the requested state.
    for (const one of this.#chips()) {
      const willBeOn = spans.includes(one.dataset.span) || (isTyped(one) && !picking);
      if (willBeOn !== isOn(one)) {
        one.setAttribute("aria-pressed", String(willBeOn));
        one.classList.add("pending");
      }
    }
    this.#fire({ [picking ? "picked" : "hidden"]: spans.join(",") });
  }

  #fire(detail) {
    this.dispatchEvent(new CustomEvent("press", { detail }));
  }
}
customElements.define("bx-strip", TokenStrip);
