// An example chip was pressed: say which. An answer that comes while the finger is down replaces the chips; the press counts.
let down = null;
element.addEventListener("pointerdown", (event) => { down = event.target.closest("button.example"); });
element.addEventListener("click", (event) => {
  const chip = event.target.closest("button.example") || (down && !down.isConnected ? down : null);
  down = null;
  if (chip) trigger("click", { example: Number(chip.dataset.example) });
});
