() => {
  // What concerns the page as a whole: the box that was typed in last, and the drawer that a press elsewhere shuts.
  // Charts name their clip paths by the page's address where there is a <base>, and lose them when the link changes.
  const base = document.querySelector("base"), folder = (url) => new URL(".", url).href;
  if (base && folder(base.href) === folder(location.href)) base.remove();
  document.addEventListener("focusin", (event) => { if (event.target.matches("textarea")) window.lastBox = event.target; });
  const content = () => document.querySelector("#picker > [data-testid=accordion-content]");
  const shut = () => { if (content()?.offsetParent) document.querySelector("#picker > button.label-wrap").click(); };
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") shut(); });
  document.addEventListener("pointerdown", (event) => {
    if (window.innerWidth > 640 && !event.target.closest("#picker, .options, ul[role=listbox]")) shut();
  });
}
