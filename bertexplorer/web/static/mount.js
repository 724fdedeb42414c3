// Puts a page into the frame.

/** Put *page* into gradio's column *id*, and call *open* once it is there. Gradio may recreate its column; then the page moves
 *  into the new one unchanged. */
export function mount(id, page, open) {
  let opened = false;
  const place = () => {
    const column = document.getElementById(id);
    if (!column || page.isConnected) return;
    column.append(page);
    if (!opened) open();
    opened = true;
  };
  new MutationObserver(place).observe(document.documentElement, { childList: true, subtree: true });
  place();
}
