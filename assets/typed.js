// Typing, told by the boxes themselves: gradio's `input` hears key presses alone (no paste, no backspace, no phone
// keyboard), and its `change` cannot tell a person from an answer that fills a box.
const WAIT = 100;  // ms between two tellings
let typed = {}, timer = null, told = 0, newest = 0;
const tell = () => {
  clearTimeout(timer);
  timer = null;
  if (!Object.keys(typed).length) return;
  told = Date.now();
  trigger("click", { typed });
  typed = {};
};
document.addEventListener("input", (event) => {
  const box = event.target.closest("#text, #pair, [id^='typed-']");
  if (!box || !event.target.matches("textarea, input")) return;
  typed[box.id.replace("typed-", "")] = event.target.value;
  const rest = WAIT - (Date.now() - told);
  if (rest <= 0) tell();
  else timer ??= setTimeout(tell, rest);
});
// what a person does next must not overtake it
for (const kind of ["pointerdown", "focusout", "keydown"])
  document.addEventListener(kind, (event) => { if (kind !== "keydown" || event.key === "Enter") tell(); }, true);
// An answer may reach the page after a newer one: then the newest is asked for again.
watch("value", () => {
  const turn = Number(element.querySelector("[data-turn]")?.dataset.turn || 0);
  if (turn < newest) trigger("click", { typed: {} });
  newest = Math.max(newest, turn);
});
