// What Gradio runs for each component. The scripts of our pages come from the process of the app, once for a page of the browser;
// where a browser keeps them, once for all its pages. The component fires "changed", "answered" and "select".
globalThis.bertexplorerScripts ??= {};
const fetched = async () => {
  const address = `${location.origin}/bertexplorer-scripts/${props.version}`;
  const kept = await globalThis.caches?.open("bertexplorer").catch(() => null); // none without https, and in some frames
  const found = await kept?.match(address);
  if (found) return found.json();
  const text = await server.scripts("");
  for (const old of (await kept?.keys()) ?? []) await kept.delete(old);
  await kept?.put(address, new Response(text));
  return JSON.parse(text);
};
const loaded = async () => {
  const { script, styles, page } = await fetched();
  const style = document.createElement("style");
  style.textContent = styles;
  document.head.append(style);
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return { module: (await import(address)).default, page };
};
const scripts = (globalThis.bertexplorerScripts[props.version] ??= loaded());
scripts
  .then(({ module, page }) => module.render({ page, element, props, server, trigger, watch }))
  .catch((error) => {
    delete globalThis.bertexplorerScripts[props.version];
    element.textContent = `This part of the page could not be loaded (${error.message}). Reload the page.`;
  });
