// Puts a page into the frame.

/** Put *page* into gradio's column *id*, and call *open* once it is there. Gradio may recreate its column; then the page moves
 *  into the new one unchanged. It waits for the styles of the pages, without which all would move once they arrive. */
export function mount(id, page, open) {
  let opened = false;
  const place = () => {
    const column = document.getElementById(id);
    if (!column || page.isConnected) return;
    column.append(page);
    if (!opened) open();
    opened = true;
  };
  const watch = () => {
    new MutationObserver(place).observe(document.documentElement, { childList: true, subtree: true });
    place();
  };
  const loading = [...document.querySelectorAll("link[rel=stylesheet][href*='scripts/']")].filter((link) => !link.sheet);
  const settled = loading.map((link) => new Promise((done) => { link.onload = link.onerror = done; }));
  Promise.all(settled).then(watch);
}
