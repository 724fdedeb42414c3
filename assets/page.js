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
  let busy = "", asking = 0, reading = 0;
  const patient = async (...given) => {
    let answer = await plain(...given);
    while (answer.status === 503 && answer.headers.has("retry-after")) {
      const rest = Number(answer.headers.get("retry-after"));
      busy = `Many are asking. Yours is asked again in ${rest} s`;
      await new Promise((done) => setTimeout(done, 1000 * rest));
      busy = "";
      answer = await plain(...given);
    }
    return answer;
  };
  window.fetch = async (...given) => {
    const to = String(given[0].url ?? given[0]);
    if (to.includes("/queue/data")) {
      reading += 1;
      given[0].signal?.addEventListener("abort", () => { reading -= 1; });  // how gradio leaves a stream
    }
    if (!to.includes("/queue/join")) return plain(...given);
    asking += 1;
    try { return await patient(...given); } finally { asking -= 1; }
  };
  const LATE = 200, AGAIN = 1000;  // ms until the line is asked for, and between two askings
  let since = 0, asked = 0, unread = 0;
  const place = async () => {
    const figure = document.getElementById("figure"), now = Date.now();
    const waits = figure?.querySelector(".wrap.minimal:not(.hide)");
    if (!waits) { since = unread = 0; figure?.removeAttribute("data-line"); return; }
    since ||= now;
    // What is asked while the server closes the stream of answers is never read: the next question opens it again.
    if (asking || reading) unread = 0;
    else if (now - (unread ||= now) > AGAIN) { unread = 0; document.dispatchEvent(new Event("unread")); }
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
