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
  // The button in a message that adds what is missing.
  document.addEventListener("click", (event) => {
    const adds = event.target.closest("[data-adds]")?.dataset.adds;
    if (!adds) return;
    document.getElementById({ mask: "do-insert", pair: "do-second" }[adds]).click();
    if (adds === "pair") setTimeout(() => document.querySelector("#pair textarea")?.focus(), 300);
  });
  // How far long work has come, with a button that ends it.
  const bar = document.createElement("div");
  bar.id = "under-way";
  bar.hidden = true;
  bar.setAttribute("role", "status");
  bar.innerHTML = '<progress max="1" aria-label="Progress"></progress><span></span><button type="button">Stop</button>';
  const ask = (method) => fetch(`line?session_hash=${document.body.dataset.page || ""}`, { method }).then((answer) => answer.json()).catch(() => ({}));
  let stopping = false;
  bar.querySelector("button").addEventListener("click", () => { stopping = true; bar.querySelector("span").textContent = "Stopping…"; ask("POST"); });
  const LATE = 200, AGAIN = 1000;  // ms until the line is asked for, and between two askings
  let since = 0, asked = 0;
  const place = async () => {
    const figure = document.getElementById("figure"), now = Date.now();
    const waits = document.querySelector("#points .wrap.minimal:not(.hide)");
    const clear = () => { figure?.removeAttribute("data-line"); bar.hidden = true; };
    if (!waits) { since = 0; stopping = false; clear(); return; }
    since ||= now;
    if (document.body.dataset.busy) { figure.dataset.line = document.body.dataset.busy; return; }
    if (now - since < LATE || now - asked < AGAIN) return;
    asked = now;
    const told = await ask("GET");
    if (!since) return;
    clear();
    if (told.place) figure.dataset.line = `Place ${told.place} in line, about ${told.seconds} s`;
    if (told.done === undefined) return;
    figure.before(bar);
    bar.hidden = false;
    bar.querySelector("progress").value = told.done;
    bar.querySelector("span").textContent = stopping ? "Stopping…" : `About ${told.seconds} s left`;
  };
  setInterval(place, 50);
}
