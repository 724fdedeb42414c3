// The strip's behaviour: press, arrow keys, focus kept across answers, and the link in the address bar.
let focused = -1;
const chips = () => [...element.querySelectorAll("button.chip")];
const settle = () => {
  const all = chips();
  if (!all.length) return;
  const at = Math.max(0, Math.min(focused, all.length - 1));
  all[at].tabIndex = 0;
  if (focused >= 0 && element.dataset.keep === "1") all[at].focus();
  element.dataset.keep = "";
};
const publish = () => {
  const strip = element.querySelector(".strip");
  if (strip && strip.dataset.link && element.dataset.ready === "1") history.replaceState(null, "", strip.dataset.link);
  if (strip) element.dataset.ready = "1";
};
element.addEventListener("click", (event) => {
  const chip = event.target.closest("button.chip");
  if (!chip) return;
  focused = chips().indexOf(chip);
  element.dataset.keep = "1";
  const pressed = chip.getAttribute("aria-pressed") === "true";
  chip.setAttribute("aria-pressed", String(!pressed));
  chip.classList.add("pending");
  trigger("click", { span: chip.dataset.span, typed: chip.dataset.typed });
});
element.addEventListener("keydown", (event) => {
  const all = chips();
  const at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  const next = all[Math.max(0, Math.min(to, all.length - 1))];
  all[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  focused = all.indexOf(next);
});
watch("value", () => { settle(); publish(); });
settle();
