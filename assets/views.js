// The topics, and under the chosen one its views: a press on a topic opens the view that was last seen there.
const seen = {};
const all = (kind) => [...element.querySelectorAll(`button.${kind}`)];
const mark = (view) => {
  const chosen = all("view").find((b) => b.dataset.view === view);
  if (!chosen) return;
  seen[chosen.dataset.topic] = view;
  for (const b of all("view")) {
    b.hidden = b.dataset.topic !== chosen.dataset.topic;
    b.setAttribute("aria-selected", String(b === chosen));
    b.tabIndex = b === chosen ? 0 : -1;
  }
  for (const b of all("topic")) {
    b.setAttribute("aria-selected", String(b.dataset.topic === chosen.dataset.topic));
    b.tabIndex = b.dataset.topic === chosen.dataset.topic ? 0 : -1;
  }
  element.querySelector(".views").hidden = all("view").filter((b) => !b.hidden).length < 2;
  for (const row of element.querySelectorAll("[role=tablist]")) {
    const at = row.querySelector("[aria-selected=true]");
    if (at) row.scrollLeft = Math.max(0, at.offsetLeft - row.offsetLeft - 40);
  }
};
const go = (button) => {
  const view = button.dataset.view || seen[button.dataset.topic] || all("view").find((b) => b.dataset.topic === button.dataset.topic).dataset.view;
  mark(view);
  trigger("click", { view });
};
let down = null;
element.addEventListener("pointerdown", (event) => { down = event.target.closest("button[role=tab]"); });
element.addEventListener("click", (event) => {
  // an answer that comes while the finger is down replaces the buttons: the press counts
  const button = event.target.closest("button[role=tab]") || (down && !down.isConnected ? down : null);
  down = null;
  if (button) go(button);
});
element.addEventListener("keydown", (event) => {
  const kind = document.activeElement.classList.contains("topic") ? "topic" : "view";
  const row = all(kind).filter((b) => !b.hidden), at = row.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: row.length - 1 }[event.key];
  if (at < 0 || to === undefined || !row[to]) return;
  event.preventDefault();
  row[to].focus();
  go(row[to]);
});
let focused = "";
element.addEventListener("focusin", (event) => { focused = event.target.classList[0] || ""; });
element.addEventListener("focusout", (event) => { if (event.relatedTarget) focused = ""; });
watch("value", () => {
  mark(element.querySelector(".topics")?.dataset.view);
  if (focused && document.activeElement === document.body) all(focused).find((b) => b.tabIndex === 0)?.focus({ preventScroll: true });
});
mark(element.querySelector(".topics")?.dataset.view);
// Back and Forward.
addEventListener("popstate", () => trigger("click", { link: location.search }));
