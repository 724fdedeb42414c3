// What a notebook or a Gradio app loads. Modules have no addresses there: each becomes a blob, after those that it imports, once
// for all elements of the page. embedded.py puts the sources in the place of SOURCES and the name of the first one for ENTRY.
const sources = SOURCES;
const entry = ENTRY;

async function load() {
  const addresses = {};
  for (const [name, source] of Object.entries(sources)) {
    const linked = source.replace(
      /(from|import) "\.\/(\w+\.js)"/g,
      (_, word, other) => `${word} "${addresses[other]}"`,
    );
    addresses[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
  }
  return import(addresses[entry]);
}

async function render(context) {
  globalThis.bertexplorer ??= {};
  globalThis.bertexplorer[entry] ??= load();
  return (await globalThis.bertexplorer[entry]).render(context);
}

export default { render };
