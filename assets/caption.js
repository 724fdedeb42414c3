// The figure's words for those who listen.
watch("value", () => {
  const figure = document.querySelector("#figure"), said = element.querySelector(".said");
  if (!figure || !said) return;
  figure.setAttribute("role", "img");
  figure.setAttribute("aria-label", said.textContent);
});
