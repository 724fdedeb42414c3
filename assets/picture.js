async () => {
  // Save the figure on the screen as a picture on white: question and text above it, the sentence, how not to misread it
  // and the provenance below. BertViz's pages are saved as pages.
  const save = (url, name) => { const link = document.createElement("a"); link.href = url; link.download = name; link.click(); };
  const view = new URLSearchParams(location.search).get("view") || "fill-mask", frame = document.querySelector("#frame iframe");
  if (frame) { save(URL.createObjectURL(new Blob([frame.srcdoc], { type: "text/html" })), `${view}.html`); return; }
  const plot = document.querySelector("#figure .js-plotly-plot");
  const button = document.querySelector("#export-FORMAT"), label = button.textContent;
  if (!plot || document.querySelector("#message .error:not(.stands)")) {  // the figure there is not about this text
    button.textContent = "Nothing to save";
    setTimeout(() => { button.textContent = label; }, 1500);
    return;
  }
  const EDGE = 28, SIZE = 13, LINE = 20, width = Math.max(plot.clientWidth, 720), height = plot.clientHeight;
  const read = (selector) => document.querySelector(selector)?.textContent || "";
  const boxes = ["#text", "#pair"].map((box) => document.querySelector(`${box} textarea`)?.value || "");
  const chips = [...document.querySelectorAll(".strip .chip")];
  const named = (chosen) => chips.filter(chosen).map((chip) => chip.textContent).join(" ");
  const hides = chips.some((chip) => chip.matches(".masked[data-typed='0']")), picked = named((chip) => chip.matches(".picked"));
  const above = [...boxes, hides ? `Read as: ${named(() => true)}` : "", picked ? `Picked: ${picked}` : ""];
  const below = [read("#caption .said"), read("#caption .misread p"), document.querySelector("#receipt .receipt")?.dataset.whole || ""];
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = `${SIZE}px sans-serif`;
  const wrap = (text) => {
    const lines = [];
    for (const word of text.split(/\s+/).filter(Boolean)) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && ruler.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  };
  const top = above.flatMap(wrap), foot = below.flatMap(wrap), start = 3 * LINE + LINE * top.length;
  const whole = { width: width + 2 * EDGE, height: start + height + LINE * (foot.length + 2) };
  const layout = { ...JSON.parse(JSON.stringify(plot.layout)), paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", width, height };
  for (const axis of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key)))
    layout[axis] = { ticks: "outside", ticklen: 6, tickcolor: "rgba(0,0,0,0)", ...layout[axis] };  // off the bars
  const data = plot.data.map((one) => (one.type === "bar" && Array.isArray(one.text) ? { ...one, text: one.text.map((t) => `\u00a0${t}`) } : one));
  const drawn = decodeURIComponent((await window.Plotly.toImage({ data, layout }, { format: "svg", width, height })).replace(/^data:image\/svg\+xml,/, ""));
  const inner = new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement;
  const make = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };
  const svg = make("svg", { ...whole, viewBox: `0 0 ${whole.width} ${whole.height}` });
  const line = (text, y, more = {}) => svg.append(make("text", { x: EDGE, y, "font-family": "sans-serif", "font-size": SIZE, fill: "#333b47", ...more }, text));
  svg.append(make("rect", { ...whole, fill: "#ffffff" }));
  line(read("#question h2"), 2 * LINE, { "font-size": 17, "font-weight": "bold" });
  top.forEach((text, i) => line(text, (3 + i) * LINE));
  inner.setAttribute("x", EDGE);
  inner.setAttribute("y", start);
  inner.setAttribute("overflow", "visible");  // headings measured in the page's face may be wider here
  inner.style.overflow = "visible";
  svg.append(document.importNode(inner, true));
  foot.forEach((text, i) => line(text, start + height + (1 + i) * LINE));
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  if ("FORMAT" === "svg") { save(source, `${view}.svg`); return; }
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * whole.width, 2 * whole.height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), `${view}.png`);
}
