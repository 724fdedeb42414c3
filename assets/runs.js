// The list of runs: a press chooses one, or does what the button says.
element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-run], button[data-restore]");
  if (button) trigger("click", { ...button.dataset });
});
