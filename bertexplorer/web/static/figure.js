// <bx-figure>: a figure in plotly's JSON, a picture that a script of ours draws, or an HTML document in a frame; fires "jump"
// with {set, view, picked} at a press on a point with a target.
import { h } from "./kit.js";
import { attend } from "./marks_hover.js";
import { draw as drawMarks } from "./marks.js";
import { open } from "./model_picture.js";
import { typeSize } from "./present.js";

const loaded = {};  // bundle -> its Plotly
const inSpace = (figure) => figure.data.some((trace) => trace.type === "scatter3d");

/** Load a bundle of Plotly from beside this script. */
let load = (bundle) => new Promise((done, failed) => {
  const src = new URL(`vendor/plotly-${bundle}.min.js`, import.meta.url).href;
  document.head.append(h("script", {
    src, onload: () => done(window.Plotly),
    onerror: () => failed(new Error("The script that draws figures could not be loaded. Reload the page.")),
  }));
});

/** Load the bundles of Plotly with *other*, a function that resolves to Plotly, as a notebook has no scripts beside it. */
export const loadPlotly = (other) => { load = other; };

/** Plotly, in the bundle that *figure* needs. */
export function plotly(figure) {
  const bundle = inSpace(figure) ? "gl3d" : "cartesian";
  loaded[bundle] ??= load(bundle).catch((error) => { delete loaded[bundle]; throw error; });
  return loaded[bundle];
}

const PROJECTOR = matchMedia("(min-width: 1800px)"), PROJECTED = 1.25;  // the magnification of figures on a projector
const LARGEST = 3.2, PRESENTED = 0.57;  // in a presentation: its greatest magnification, and its share of the height of the screen
/** How much larger than usual a figure of this *height* is drawn in *place*. In a presentation its words grow with the screen, as
 *  all others do, even if it is then higher than the screen. */
function magnification(place, height) {
  if (!place.closest(".presenting")) return PROJECTOR.matches ? PROJECTED : 1;
  const fits = Math.min(innerWidth / 1000, (PRESENTED * innerHeight) / height);
  return Math.min(LARGEST, Math.max(fits, typeSize()));
}
const PIXELS = new Set(["height", "xshift", "yshift", "ax", "ay", "standoff"]);  // of a layout, besides font sizes and margins
const plain = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

/** *door* with its texts as they were typed: in a figure they are escaped. */
const unescaped = (door) => Object.fromEntries(Object.entries(door).map(([key, value]) =>
  [key, typeof value === "string" ? plain(value) : value && typeof value === "object" ? unescaped(value) : value]));
/** *given*, a layout or a part of it, with all lengths in pixels multiplied *by* a factor. */
function larger(given, by, inside = "") {
  if (Array.isArray(given)) return given.map((one) => larger(one, by, inside));
  if (given === null || typeof given !== "object") return given;
  return Object.fromEntries(Object.entries(given).map(([key, value]) => {
    const grows = PIXELS.has(key) || inside === "margin" || (key === "size" && /font$/.test(inside));
    return [key, grows ? times(value, by) : larger(value, by, key)];
  }));
}
const largerType = (trace, by) => ({ ...trace, ...(trace.textfont && { textfont: larger(trace.textfont, by, "textfont") }) });
/** *trace* with the words in its cells cut to the cells' width; the pointer shows them in full. Numbers are never cut. */
function fitting(trace, layout, width) {
  if (trace.type !== "heatmap" || !Array.isArray(trace.text?.[0])) return trace;
  const [from, to] = layout[`xaxis${trace.xaxis?.slice(1) ?? ""}`]?.domain ?? [0, 1];
  const room = Math.floor((to - from) * (width - LABELS_WIDTH) / trace.text[0].length / (0.6 * (trace.textfont?.size ?? 12)));
  const cut = (line) => (line.length <= room || /[\d<&]/.test(line) ? line : room < 3 ? "" : `${line.slice(0, room - 1)}…`);
  return { ...trace, text: trace.text.map((row) => row.map((words) => String(words).split("<br>").map(cut).join("<br>"))) };
}
/** Shrink the headings that the edge of a narrow *plot* would cut. */
function shrinkHeadings(plot) {
  const edge = plot.getBoundingClientRect().right - 8;  // scaled glyphs are not exactly as wide as they should be
  for (const text of plot.querySelectorAll(".annotation-text")) {
    const { left, right } = text.getBoundingClientRect(), scale = Math.max(0.65, (edge - left) / (right - left));
    if (right > edge) Object.assign(text.style, { transform: `scale(${scale})`, transformBox: "fill-box", transformOrigin: "left" });
  }
}
const WIDE = 900;  // a width at which the height of marks is measured
const LABELS_WIDTH = 90;  // pixels for the labels of rows
// In ms. Plotly looks at most every 50 ms for the point under the pointer, and never during a press, so its own click event
// may name a former point or not come at all. A press therefore waits until it has looked, and holds back later moves.
const HOVER_INTERVAL = 60;
const times = (value, by) => (Array.isArray(value) ? value.map((one) => times(one, by)) : typeof value === "number" ? by * value : value);

class Figure extends HTMLElement {
  #number = 0;
  #plotly = null;
  #resizeObserver = null;
  #unwatch = null;  // stops a picture from following the width
  #pendingPoint = null;  // a point that was pressed while the next figure was loading
  #pendingMark = null;  // the same of a figure of marks: its place among them
  figure = null;
  stale = false;  // the next figure is loading

  /** Draw *figure*; screen readers hear *said*. Resolves once it is painted. */
  async show(figure, said) {
    const mine = ++this.#number;
    [this.figure, this.said] = [figure, said];
    if (figure.marks) {
      this.#showMarks(figure, said);
      return;
    }
    const by = magnification(this, figure.layout.height), layout = larger(figure.layout, by);
    this.style.minHeight = `${layout.height}px`;
    if (figure.picture) {
      const focused = [...this.querySelectorAll(".part")].indexOf(document.activeElement);
      this.#clear();
      const host = h("div", { class: "model", role: "group", "aria-label": said });
      this.append(host);
      this.#unwatch = open(figure, host, (door) => this.#fire(door), by);
      this.querySelectorAll(".part")[focused]?.focus();
      return;
    }
    const Plotly = await plotly(figure);
    if (mine !== this.#number) return;
    if (!this.plot || this.#plotly !== Plotly) {
      this.#clear();
      this.plot = h("div", { class: "plot", role: "img" });
      this.presses = h("div", { class: "presses" });
      this.append(this.plot);
      this.#plotly = Plotly;
    }
    this.plot.setAttribute("aria-label", said);
    if (figure.presses) this.prepend(this.presses); else this.presses.remove();
    this.presses.replaceChildren(...(figure.presses ?? []).map(({ text, ...door }) =>
      h("button", { type: "button", onclick: () => this.#fire(door) }, text)));
    try {
      await Plotly.react(
        this.plot,
        figure.data.map((trace) => fitting(largerType(trace, by), layout, this.clientWidth)),
        layout,
        { displayModeBar: false },
      );
    } catch (error) {  // do not leave the old figure next to the new caption
      this.#clear();
      this.append(h("p", { class: "hint" }, "This figure could not be drawn. Its numbers are in the exports."));
      throw error;
    }
    this.#listen();
    if (this.#pendingPoint) this.#jump([this.#pendingPoint].map(({ curveNumber, pointNumber }) => {
      const found = this.plot.data[curveNumber]?.customdata;
      return { customdata: Array.isArray(pointNumber) ? found?.[pointNumber[0]]?.[pointNumber[1]] : found?.[pointNumber] };
    }));
  }

  /** Draw marks, in the size of the place; they are drawn anew when the place changes. */
  #showMarks(figure, said) {
    const hadFocus = this.contains(document.activeElement);
    this.#clear();
    const host = h("div", { class: "drawn" });
    this.append(this.#buttons(figure.buttons?.map(({ text, door }) => ({ text, ...door }))), host);
    let drawn = [];
    const paint = () => {
      const by = magnification(this, drawMarks(figure, WIDE).height);
      const { svg, height, marks } = drawMarks(figure, Math.round(this.clientWidth / by));
      drawn = marks;
      this.style.minHeight = `${Math.round(by * height)}px`;
      host.replaceChildren(svg);
      this.#unwatch?.();
      this.#unwatch = attend(host, svg, marks, said, (door, at) => {
        if (this.stale) this.#pendingMark = at; else this.#fire(door);
      });
    };
    try {
      paint();
    } catch (error) {  // do not leave the old figure next to the new caption
      this.#clear();
      this.append(h("p", { class: "hint" }, "This figure could not be drawn. Its numbers are in the exports."));
      throw error;
    }
    if (hadFocus) host.firstChild.focus();
    const pressed = drawn[this.#pendingMark];
    this.#pendingMark = null;
    if (pressed?.door) setTimeout(() => this.#fire(pressed.door));  // once the page shows this answer
    let width = this.clientWidth;
    this.#resizeObserver = new ResizeObserver(() => {
      if (this.clientWidth === width || !this.clientWidth) return;
      width = this.clientWidth;
      paint();
    });
    this.#resizeObserver.observe(this);
  }

  #buttons(presses = []) {
    if (!presses.length) return "";
    return h("div", { class: "presses" }, presses.map(({ text, ...door }) =>
      h("button", { type: "button", onclick: () => this.#fire(door) }, text)));
  }

  redraw() { if (this.figure) this.show(this.figure, this.said); }

  /** Show an HTML page of *height* pixels in a sandbox. It has no access to this page, so its class says whether that is dark. */
  frame(source, height) {
    this.clear();
    const frame = h("iframe", { class: "frame", sandbox: "allow-scripts", title: "bertviz" });
    frame.style.height = `${height}px`;
    frame.srcdoc = this.closest(".dark") ? source.replace("<html ", '<html class="dark" ') : source;
    this.append(frame);
  }

  clear() {
    this.#number += 1;
    this.#pendingPoint = this.#pendingMark = null;
    this.#clear();
    this.figure = null;
    this.style.minHeight = "";
  }

  #clear() {
    if (this.plot) this.#plotly.purge(this.plot);
    this.#resizeObserver?.disconnect();
    this.#unwatch?.();
    this.#unwatch = null;
    this.plot = null;
    this.replaceChildren();
  }

  #listen() {
    if (this.plot.dataset.bound) return;
    this.plot.dataset.bound = "1";
    const { plot } = this, Plotly = this.#plotly;
    this.#resizeObserver = new ResizeObserver(() => { if (plot.offsetParent) Plotly.Plots.resize(plot); });
    this.#resizeObserver.observe(this);
    shrinkHeadings(plot);
    plot.on("plotly_afterplot", () => shrinkHeadings(plot));
    let press = 0, held = null;
    for (const type of ["mousemove", "mouseout"]) plot.addEventListener(type, (event) => {
      if (!press) return;
      event.stopPropagation();
      held = event;
    }, true);
    const report = (points) => {
      clearTimeout(press);  // plotly reports some presses several times
      press = setTimeout(() => {
        press = 0;
        if (this.stale) [this.#pendingPoint] = points(); else this.#jump(points());
        held?.target.dispatchEvent(new MouseEvent(held.type, held));
        held = null;
      }, HOVER_INTERVAL);
    };
    if (inSpace(plot)) plot.on("plotly_click", (event) => report(() => event.points));
    else plot.addEventListener("click", () => report(() => plot._hoverdata ?? []));
  }

  #jump(points) {
    this.#pendingPoint = null;
    const found = points.map((point) => point.customdata).find((data) => data && (data.set || data.view || data.picked));
    if (found) this.#fire(unescaped(found));
  }

  #fire(door) { this.dispatchEvent(new CustomEvent("jump", { detail: door })); }
}

customElements.define("bx-figure", Figure);
