// The figure's words for those who listen, and the chosen view in sight where the row of views scrolls.
watch("value", () => {
  const figure = document.querySelector("#figure"), said = element.querySelector(".said");
  if (!figure || !said) return;
  figure.setAttribute("role", "img");
  figure.setAttribute("aria-label", said.textContent);
  const row = document.querySelector("#views .wrap"), chosen = row?.querySelector("label.selected");
  if (chosen) row.scrollLeft = Math.max(0, chosen.offsetLeft - row.offsetLeft - 40);
});
