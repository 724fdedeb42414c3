() => {
  // What concerns the page as a whole: the box that was typed in last, the drawer that a press elsewhere shuts, and the
  // place in line of an answer that takes a while.
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
  const LATE = 200, AGAIN = 1000;  // ms until the line is asked for, and between two askings
  let since = 0, asked = 0;
  const place = async () => {
    const figure = document.getElementById("figure"), now = Date.now();
    const waits = figure?.querySelector(".wrap.minimal:not(.hide)");
    if (!waits) { since = 0; figure?.removeAttribute("data-line"); return; }
    since ||= now;
    if (document.body.dataset.busy) { figure.dataset.line = document.body.dataset.busy; return; }
    if (now - since < LATE || now - asked < AGAIN) return;
    asked = now;
    const told = await fetch("line").then((answer) => answer.json()).catch(() => ({}));
    if (!since) return;
    if (told.place) figure.dataset.line = `Place ${told.place} in line, about ${told.seconds} s`;
    else figure.removeAttribute("data-line");
  };
  setInterval(place, 50);
}
