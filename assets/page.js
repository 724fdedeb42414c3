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
  // Whoever comes while too many wait is not turned away: the same is asked again when it may be answered.
  const plain = window.fetch;
  let busy = "";
  window.fetch = async (...given) => {
    let answer = await plain(...given);
    while (answer.status === 503 && String(given[0].url ?? given[0]).includes("/queue/join") && answer.headers.has("retry-after")) {
      const rest = Number(answer.headers.get("retry-after"));
      busy = `Many are asking. Yours is asked again in ${rest} s`;
      await new Promise((done) => setTimeout(done, 1000 * rest));
      busy = "";
      answer = await plain(...given);
    }
    return answer;
  };
  const LATE = 200, AGAIN = 1000;  // ms until the line is asked for, and between two askings
  let since = 0, asked = 0;
  const place = async () => {
    const figure = document.getElementById("figure"), now = Date.now();
    const waits = figure?.querySelector(".wrap.minimal:not(.hide)");
    if (!waits) { since = 0; figure?.removeAttribute("data-line"); return; }
    since ||= now;
    if (busy) { figure.dataset.line = busy; return; }
    if (now - since < LATE || now - asked < AGAIN) return;
    asked = now;
    const told = await fetch("line").then((answer) => answer.json()).catch(() => ({}));
    if (!since) return;
    if (told.place) figure.dataset.line = `Place ${told.place} in line, about ${told.seconds} s`;
    else figure.removeAttribute("data-line");
  };
  setInterval(place, 50);
}
