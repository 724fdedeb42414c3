// The strip's behaviour: press, arrow keys, focus kept across answers, and the link in the address bar.
let focused = -1, keep = false, opened = false;
let presses = 0, wanted = null;  // presses sent so far, and the spans that the last one wants hidden
const chips = () => [...element.querySelectorAll("button.chip")];
const on = (chip) => chip.getAttribute("aria-pressed") === "true";
const settle = () => {
  const all = chips();
  if (!all.length) return;
  const chip = all[Math.max(0, Math.min(focused, all.length - 1))];
  chip.tabIndex = 0;
  if (keep) chip.focus({ preventScroll: true });
  keep = false;
};
const publish = () => {
  const strip = element.querySelector(".strip");
  if (!strip) return;
  if (opened) history.replaceState(null, "", strip.dataset.link);
  opened = true;
};
const catchUp = () => {
  // An answer to an earlier press has come: show what the last press wants until its own answer is here.
  const answered = element.querySelector(".strip")?.dataset.press;
  if (!wanted || !answered || Number(answered) >= presses) { wanted = null; return; }
  for (const chip of chips()) {
    const pressed = chip.dataset.typed === "1" || wanted.has(chip.dataset.span);
    if (pressed !== on(chip)) { chip.setAttribute("aria-pressed", String(pressed)); chip.classList.add("pending"); }
  }
};
element.addEventListener("click", (event) => {
  const chip = event.target.closest("button.chip");
  if (!chip) return;
  focused = chips().indexOf(chip);
  keep = true;
  const fill = chip.dataset.typed === "1" ? chip.dataset.span : "";
  const to = String(!on(chip));
  for (const same of chips().filter((c) => c.dataset.span === chip.dataset.span)) {  // pieces of one character
    same.setAttribute("aria-pressed", to);
    same.classList.add("pending");
  }
  wanted = new Set(chips().filter((c) => on(c) && c.dataset.typed === "0").map((c) => c.dataset.span));
  presses += 1;
  trigger("click", { hidden: [...wanted].join(","), fill, press: presses });
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
