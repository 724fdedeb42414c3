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
    const chips = this.#chips(),
      chip = chips[Math.min(this.#focused, chips.length - 1)];
    if (chip) chip.tabIndex = 0;
    if (had) chip?.focus({ preventScroll: true });
    if (!chips.length && this.box.scrollHeight > this.box.clientHeight)
      this.box.tabIndex = 0; // so that keys can scroll it
    else this.box.removeAttribute("tabindex");
    this.below.replaceChildren(
      ...(strip.hint ? [h("p", { class: "hint" }, strip.hint)] : []),
      ...strip.notes.map((note) => h("p", { class: "note" }, note)),
    );
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
    const words = texts.map((text, side) =>
      (text.match(/\[MASK\]|[\p{L}\p{M}\p{N}]+|[^\s]/gu) ?? []).map((word) => chip(word, side)),
    );
    const chips = [
      chip("[CLS]", 0, true),
      ...words.flatMap((some, side) => [...some, chip("[SEP]", side, true)]),
    ];
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
    const { press, chips } = this.#strip,
      labels = (which) =>
        chips
          .filter(which)
          .map((chip) => chip.label)
          .join(" ");
    const hides = press === "hide" && chips.some((chip) => chip.masked && !chip.typed);
    const picked = press === "pick" ? labels((chip) => chip.on) : "";
    return [hides && `Read as: ${labels(() => true)}`, picked && `Picked: ${picked}`].filter(
      Boolean,
    );
  }

  #chips() {
    return [...this.querySelectorAll("button.chip")];
  }

  #words(chips) {
    const out = [];
    chips.forEach((chip, i) => {
      const element = this.#chip(chip);
      const joins =
        chip.word >= 0 &&
        i > 0 &&
        chips[i - 1].word === chip.word &&
        chips[i - 1].side === chip.side;
      if (joins) out.at(-1).append(element);
      else
        out.push(
          chip.word >= 0 ? h("span", { class: `word side-${chip.side}` }, element) : element,
        );
      if (chip.cut)
        out.push(
          h("span", { class: "cut" }, `cut here: ${chip.cut.toLocaleString("en")} tokens left out`),
        );
    });
    return out;
  }

  #chip(chip) {
    return this.#dress(h(chip.span ? "button" : "span", chip.span ? { type: "button" } : {}), chip);
  }

  #dress(element, chip) {
    const picks = this.#strip.press === "pick",
      size = Math.abs(chip.colour || 0),
      tinted = chip.colour !== null;
    const classes = {
      special: chip.special,
      more: chip.more,
      masked: chip.masked,
      picked: picks && chip.on,
      tinted,
      against: chip.colour < 0,
    };
    const className = [
      "chip",
      `side-${chip.side}`,
      ...Object.keys(classes).filter((name) => classes[name]),
    ].join(" ");
    if (element.className !== className) element.className = className;
    if (element.title !== chip.title) element.title = chip.title;
    if (element.textContent !== chip.label) element.textContent = chip.label;
    if (tinted) element.style.setProperty("--p", size);
    if (chip.span) {
      element.tabIndex = -1;
      element.setAttribute("aria-pressed", String(chip.on));
      Object.assign(element.dataset, { span: chip.span, typed: chip.typed ? "1" : "0" });
    }
    return element;
  }

  #press(chip, several) {
    const on = (one) => one.getAttribute("aria-pressed") === "true",
      span = chip.dataset.span;
    if (this.#strip.press === "hide" && chip.dataset.typed === "1") {
      this.#fire({ fill: span });
      return;
    }
    const pressed = this.#chips().filter(
      (one) => (on(one) && one.dataset.typed === "0") || (on(one) && this.#strip.press === "pick"),
    );
    const others =
      this.#strip.press === "pick" && !several
        ? []
        : pressed.map((one) => one.dataset.span).filter((one) => one !== span);
    const spans = on(chip) ? others : [...others, span];
    for (const one of this.#chips()) {
      // until the answer arrives, the chips show the requested state
      const pressed =
        spans.includes(one.dataset.span) ||
        (one.dataset.typed === "1" && this.#strip.press === "hide");
      if (pressed !== on(one)) {
        one.setAttribute("aria-pressed", String(pressed));
        one.classList.add("pending");
      }
    }
    this.#fire({ [this.#strip.press === "pick" ? "picked" : "hidden"]: spans.join(",") });
  }

  #fire(detail) {
    this.dispatchEvent(new CustomEvent("press", { detail }));
  }
}
customElements.define("bx-strip", TokenStrip);
