async () => {
  // Save the figure on the screen as a picture, on white, with the sentence said aloud and the receipt under it. A
  // figure that is a page of its own is saved as one.
  const save = (url, name) => { const link = document.createElement("a"); link.href = url; link.download = name; link.click(); };
  const view = new URLSearchParams(location.search).get("view") || "fill-mask", frame = document.querySelector("#frame iframe");
  if (frame) { save(URL.createObjectURL(new Blob([frame.srcdoc], { type: "text/html" })), `${view}.html`); return; }
  const plot = document.querySelector("#figure .js-plotly-plot");
  if (!plot) return;
  const words = [
    document.querySelector("#caption .said")?.textContent, document.querySelector("#caption .misread p")?.textContent,
    document.querySelector("#receipt .receipt")?.dataset.whole,
  ].map((text) => text || "");
  const escaped = (t) => t.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const width = Math.max(plot.clientWidth, 720), height = plot.clientHeight;
  const lines = words.flatMap((t) => escaped(t).match(new RegExp(`.{1,${Math.floor(width / 7.2)}}(\\s|$)`, "g")) || []);
  const layout = JSON.parse(JSON.stringify(plot.layout));
  const foot = 56 + 20 * lines.length;
  layout.paper_bgcolor = layout.plot_bgcolor = "#ffffff";
  layout.margin.b = (layout.margin.b || 0) + foot;
  const note = { xref: "paper", yref: "paper", x: 0, y: 0, xanchor: "left", yanchor: "top", align: "left", showarrow: false };
  layout.annotations = [...(layout.annotations || []), { ...note, yshift: -44, text: lines.join("<br>"), font: { size: 13 } }];
  const url = await window.Plotly.toImage({ data: plot.data, layout: { ...layout, width, height: height + foot } }, { format: "FORMAT", width, height: height + foot, scale: 2 });
  save(url, `${view}.FORMAT`);
}
