// What BertViz's scripts expect to find: require.js, whose place the two inlined libraries take, and its parameters.
// Numbers come as whole thousandths, and of a pair of texts only the whole: both halve the size of the page.
window.require = { config: () => {} };
window.requirejs = (names, start) => start(jQuery, d3);

const unpack = (data) => (Array.isArray(data) ? data.map(unpack) : data / 1000);
const cut = (block, rows, columns) =>
  block.map((layer) =>
    layer.map((head) => head.slice(...rows).map((row) => (columns ? row.slice(...columns) : row))),
  );

function bertviz(data) {
  const { tokens, second, attn, queries, keys, ...params } = data;
  const whole = {
    attn: unpack(attn),
    ...(queries && { queries: unpack(queries), keys: unpack(keys) }),
  };
  const part = (name, left, right) => ({
    name,
    left_text: tokens.slice(...left),
    right_text: tokens.slice(...right),
    attn: cut(whole.attn, left, right),
    ...(whole.queries && { queries: cut(whole.queries, left), keys: cut(whole.keys, right) }),
  });
  const all = [0, tokens.length],
    a = [0, second],
    b = [second, tokens.length];
  const parts = { all: part("All", all, all) };
  if (second !== null) {
    Object.assign(parts, { aa: part("A to A", a, a), ab: part("A to B", a, b) });
    Object.assign(parts, { ba: part("B to A", b, a), bb: part("B to B", b, b) });
    const filter = document.getElementById("filter");
    for (const [key, { name }] of Object.entries(parts)) filter.add(new Option(name, key));
  }
  window.bertviz_params = { ...params, attention: parts, default_filter: "all" };
}

// The whole width of a wide view in sight, where that stays readable; else it scrolls.
function fit() {
  const vis = document.getElementById("vis"),
    svg = document.querySelector(".wide svg");
  if (!svg) return;
  vis.style.zoom = 1;
  const box = svg.getBBox(),
    scale = (document.body.clientWidth - 16) / (box.x + box.width + 8);
  svg.style.minWidth = `${Math.ceil(box.x + box.width + 8)}px`;
  if (scale < 1 && scale > 0.6) vis.style.zoom = scale;
}
window.addEventListener("load", fit);
window.addEventListener("resize", fit);
