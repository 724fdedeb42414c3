// A press on a point of the figure that says where it leads: other settings, another view, a picked token.
const bind = () => {
  for (const plot of document.querySelectorAll("#figure .js-plotly-plot, #beside .js-plotly-plot, #difference .js-plotly-plot")) {
    if (plot.dataset.bound || !plot.on) continue;
    plot.dataset.bound = "1";
    new ResizeObserver(() => { if (plot.offsetParent) window.Plotly?.Plots.resize(plot); }).observe(plot.parentElement);
    let last = 0;
    plot.on("plotly_click", (event) => {
      if (Date.now() - last < 350) return;  // a tap is reported twice
      last = Date.now();
      const found = event.points.map((point) => point.customdata).find((data) => data && (data.set || data.view || data.picked));
      if (found) trigger("click", { set: found.set || {}, view: found.view || "", picked: found.picked || "" });
    });
  }
};
new MutationObserver(bind).observe(document.querySelector(".gradio-container"), { childList: true, subtree: true });
bind();
