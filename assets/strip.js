// The strip's behaviour: press, arrow keys, focus kept across answers, and the link in the address bar.
let focused = -1, keep = false, opened = "", first = "", down = null;
let presses = 0, wanted = null;  // presses sent so far, and the spans that the last one wants hidden, or picked
const chips = () => [...element.querySelectorAll("button.chip")];
const strip = () => element.querySelector(".strip");
const picks = () => strip()?.dataset.picks === "1";
const on = (chip) => chip.getAttribute("aria-pressed") === "true";
const settle = () => {
  const all = chips();
  if (!all.length) return;
  const chip = all[Math.max(0, Math.min(focused, all.length - 1))];
  chip.tabIndex = 0;
  if (keep) chip.focus({ preventScroll: true });
  keep = false;
};
// The address bar: another view is a step that Back undoes, all else changes the address in place.
const viewOf = (link) => new URLSearchParams(link).get("view") || "";
const publish = () => {
  if (!strip()) return;
  const link = strip().dataset.link, step = opened && viewOf(link) !== opened;
  if (opened) history[step ? "pushState" : "replaceState"](null, "", link);
  opened = viewOf(link);
  first ||= opened;
};
addEventListener("popstate", () => { opened = viewOf(location.search) || first; });
const show = () => {
  // Until the answer is here, the chips show what the last press wants.
  for (const chip of chips()) {
    const pressed = (!picks() && chip.dataset.typed === "1") || wanted.has(chip.dataset.span);
    if (pressed !== on(chip)) { chip.setAttribute("aria-pressed", String(pressed)); chip.classList.add("pending"); }
  }
};
const catchUp = () => {
  const answered = strip()?.dataset.press;
  if (!wanted || !answered || Number(answered) >= presses) { wanted = null; return; }
  show();
};
const press = (chip, several) => {
  focused = chips().indexOf(chip);
  keep = true;
  const span = chip.dataset.span, before = chips().filter((c) => on(c) && (picks() || c.dataset.typed === "0"));
  const fill = !picks() && chip.dataset.typed === "1" ? span : "";
  const others = picks() && !several ? [] : before.map((c) => c.dataset.span).filter((s) => s !== span);
  wanted = new Set(on(chip) ? others : [...others, span]);
  if (fill) wanted.delete(span);
  show();
  presses += 1;
  trigger("click", { [picks() ? "picked" : "hidden"]: [...wanted].join(","), fill, press: presses });
};
element.addEventListener("pointerdown", (event) => { down = event.target.closest("button.chip"); });
element.addEventListener("click", (event) => {
  // An answer that comes while the finger is down replaces the chips: then the press is that of the new chip.
  const replaced = down && !down.isConnected ? chips().find((c) => c.dataset.span === down.dataset.span) : null;
  const chip = replaced || event.target.closest("button.chip");
  down = null;
  if (chip) press(chip, event.shiftKey || event.ctrlKey || event.metaKey);
});
element.addEventListener("keydown", (event) => {
  const all = chips();
  const at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  focused = Math.max(0, Math.min(to, all.length - 1));
  all[at].tabIndex = -1;
  all[focused].tabIndex = 0;
  all[focused].focus();
});
watch("value", () => { catchUp(); settle(); publish(); });
