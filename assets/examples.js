// An example chip was pressed: say which.
element.addEventListener("click", (event) => {
  const chip = event.target.closest("button.example");
  if (chip) trigger("click", { example: Number(chip.dataset.example) });
});
