() => {
  // What concerns the page as a whole: the box that was typed in last, the drawer, the figure's words for those who listen.
  document.addEventListener("focusin", (event) => { if (event.target.matches("textarea")) window.lastBox = event.target; });
  const content = () => document.querySelector("#picker > [data-testid=accordion-content]");
  const shut = () => { if (content()?.offsetParent) document.querySelector("#picker > button.label-wrap").click(); };
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") shut(); });
  document.addEventListener("pointerdown", (event) => {
    if (window.innerWidth > 640 && !event.target.closest("#picker, .options, ul[role=listbox]")) shut();
  });
  const name = () => {
    const figure = document.querySelector("#figure"), said = document.querySelector("#caption .said");
    if (figure && said) { figure.setAttribute("role", "img"); figure.setAttribute("aria-label", said.textContent); }
    document.querySelector("#views label.selected")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const caption = document.querySelector("#caption");
  if (caption) new MutationObserver(name).observe(caption, { childList: true, subtree: true });
  name();
}
