// The figure's caption for screen readers.
const tell = () => {
  const figure = document.querySelector("#figure"), said = element.querySelector(".said");
  if (!figure || !said) return;
  figure.setAttribute("role", "img");
  figure.setAttribute("aria-label", said.textContent);
};
new MutationObserver(tell).observe(element, { childList: true, subtree: true, characterData: true });
tell();
