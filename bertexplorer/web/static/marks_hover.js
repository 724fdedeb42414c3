// What a pointer and a keyboard do to a drawing of marks: they read what a mark says, and press it.
import { h } from "./kit.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Let people read and press the *marks* of *svg*, which lies in *host* and is called *said*. *open* gets the door of one that is
 *  pressed, and its place among them. The drawing is one stop of the tab key; arrow keys go from mark to mark. Returns {end, now}:
 *  *end* ends it, and *now* says what is shown, which *before*, that of the drawing that this one replaces, goes on with. */
export function attend(host, svg, marks, said, open, before = {}) {
  const tip = h("div", { class: "tip", hidden: true });
  host.append(tip);
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", said);
  /** @type {Element | null} */
  let shown = null; // the mark that is read
  /** @type {any} */
  let inside = null; // the part of it, of an image
  /** @type {PointerEvent | null} */
  let pointer = null; // the last event of a pointer over the drawing

  const show = (element) => {
    const mark = element && marks[element.dataset.at];
    if (element === shown && !mark?.at) return;
    shown?.classList.remove("pointed");
    shown = element;
    inside = null;
    tip.hidden = !element;
    if (!element) return;
    element.classList.add("pointed");
    const box = element.firstElementChild.getBoundingClientRect(); // lines that belong to it lead elsewhere
    const share = (at, from, to) => Math.max(0, Math.min(1 - 1e-9, (at - from) / (to - from)));
    inside =
      pointer && // a cell or a point of an image
      mark.at?.(
        share(pointer.clientX, box.left, box.right),
        share(pointer.clientY, box.top, box.bottom),
      );
    tip.textContent = (inside || mark).hover;
    tip.hidden = !tip.textContent;
    const { clientX: x = 0, clientY: y = 0 } = pointer ?? {};
    place(
      tip,
      host,
      inside
        ? {
            left: x,
            right: x,
            top: Math.max(box.top, y - 12),
            bottom: Math.min(box.bottom, y + 12),
          }
        : box,
    );
  };
  const press = (element) => {
    const { at } = element.dataset,
      { door } = inside ?? marks[at];
    if (door) open(door, Number(at));
  };
  const go = (element) => {
    element.setAttribute("tabindex", "-1");
    element.setAttribute("role", element.classList.contains("door") ? "button" : "img");
    element.setAttribute("aria-label", marks[element.dataset.at].hover);
    element.focus();
  };

  svg.addEventListener("pointermove", (event) => {
    pointer = event;
    show(event.target.closest(".mark"));
  });
  svg.addEventListener("pointerleave", () => {
    pointer = null;
    show(null);
  });
  svg.addEventListener("click", (event) => {
    const element = event.target.closest(".mark");
    if (!element) return;
    pointer = event; // a finger does not hover
    show(element);
    press(element);
  });
  svg.addEventListener("focusin", ({ target }) => {
    pointer = null;
    show(target.closest(".mark"));
  });
  svg.addEventListener("focusout", () => show(null));
  svg.addEventListener("keydown", (event) => {
    const all = [...svg.querySelectorAll(".mark")],
      at = all.indexOf(document.activeElement),
      step = STEPS[event.key];
    if (!all.length) return;
    if (step) go(all[Math.max(0, Math.min(all.length - 1, at + step))]);
    else if (event.key === "Home") go(all[0]);
    else if (event.key === "End") go(all.at(-1));
    else if ((event.key === "Enter" || event.key === " ") && at >= 0) press(all[at]);
    else if (event.key === "Escape" && shown) show(null);
    else return;
    event.preventDefault();
  });

  // A drawing that replaces another goes on where that was: with the mark in focus, and with the pointer over it.
  const name = (element) => {
    const { called, hover } = marks[element.dataset.at];
    return called ?? hover;
  };
  const focused =
    before.focused &&
    [...svg.querySelectorAll(".mark")].find((one) => name(one) === before.focused);
  if (focused) go(focused);
  if (before.pointer) {
    ({ pointer } = before);
    const element = host
      .getRootNode()
      .elementFromPoint(before.pointer.clientX, before.pointer.clientY)
      ?.closest(".mark");
    if (svg.contains(element)) show(element);
  }
  const now = () => {
    const active = svg.contains(document.activeElement) && document.activeElement?.closest(".mark");
    return { pointer, focused: active && name(active) };
  };
  return { end: () => tip.remove(), now };
}

/** Put *tip* above a box of the screen, or below it at the top of the screen, within *host*. */
function place(tip, host, { left, right, top, bottom }) {
  const around = host.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const middle = (left + right) / 2 - around.left - width / 2;
  tip.style.left = `${Math.max(0, Math.min(around.width - width, middle))}px`;
  tip.style.top = `${(top > height + 8 ? top - height - 6 : bottom + 6) - around.top}px`;
}
