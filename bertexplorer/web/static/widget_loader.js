// What anywidget loads in a notebook. Modules have no addresses there: each becomes a blob, after those that it imports, once for
// all widgets of the page. widget.py puts their sources in the place of SOURCES.
const sources = SOURCES;

async function load() {
  const addresses = {};
  for (const [name, source] of Object.entries(sources)) {
    const linked = source.replace(/(from|import) "\.\/(\w+\.js)"/g, (_, word, other) => `${word} "${addresses[other]}"`);
    addresses[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
  }
  return import(addresses["widget.js"]);
}

async function render(context) {
  globalThis.bertexplorer ??= load();
  return (await globalThis.bertexplorer).render(context);
}

export default { render };
