() => {
  // What concerns the page as a whole: the box that was typed in last, and the drawer that a press elsewhere shuts.
  document.addEventListener("focusin", (event) => { if (event.target.matches("textarea")) window.lastBox = event.target; });
  const content = () => document.querySelector("#picker > [data-testid=accordion-content]");
  const shut = () => { if (content()?.offsetParent) document.querySelector("#picker > button.label-wrap").click(); };
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") shut(); });
  document.addEventListener("pointerdown", (event) => {
    if (window.innerWidth > 640 && !event.target.closest("#picker, .options, ul[role=listbox]")) shut();
  });
}
