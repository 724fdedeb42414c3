// <bx-figure>: a figure of marks, a picture, a chart of plotly, or an HTML document in a frame; fires "jump" with the door of what
// is pressed, {set, view, picked}. plotly.js draws points in space, and charts that an earlier version stored with its runs.
import { h } from "./kit.js";
import { attend } from "./marks_hover.js";
import { draw as drawMarks } from "./marks.js";
import { isSpace, spaceOf } from "./marks_space.js";
import { open } from "./model_picture.js";
import { typeSize } from "./present.js";

/** @import { Figure as Shown } from "./types.d.ts" */

const loaded = {}; // bundle -> its Plotly

/** Load a bundle of Plotly from beside this script. */
let load = (bundle) =>
  new Promise((done, failed) => {
    const src = new URL(`vendor/plotly-${bundle}.min.js`, import.meta.url).href;
    document.head.append(
      h("script", {
        src,
        onload: () => done(window.Plotly),
        onerror: () =>
          failed(new Error("The script that draws figures could not be loaded. Reload the page.")),
      }),
    );
  });

/** Load the bundles of Plotly with *other*, a function that resolves to Plotly, as a notebook has no scripts beside it. */
export const loadPlotly = (other) => {
  load = other;
};

/** Plotly, in the bundle that *chart* needs. */
export function plotly(chart) {
  const bundle = chart.data.some((trace) => trace.type === "scatter3d") ? "gl3d" : "cartesian";
  loaded[bundle] ??= load(bundle).catch((error) => {
    delete loaded[bundle];
    throw error;
  });
  return loaded[bundle];
}

const PROJECTOR = matchMedia("(min-width: 1800px)"),
  PROJECTED = 1.25; // the magnification of figures on a projector
const LARGEST = 3.2,
  PRESENTED = 0.57; // in a presentation: its greatest magnification, and its share of the height of the screen
/** How much larger than usual a figure of this *height* is drawn in *place*. In a presentation its words grow with the screen, as
 *  all others do, even if it is then higher than the screen. */
function magnification(place, height) {
  if (!place.closest(".presenting")) return PROJECTOR.matches ? PROJECTED : 1;
  const fits = Math.min(innerWidth / 1000, (PRESENTED * innerHeight) / height);
  return Math.min(LARGEST, Math.max(fits, typeSize()));
}
const NARROWEST = 200; // units for a drawing, however narrow its place is: it has no width before it is shown
const SPACE = 600; // pixels: about the height of points in space
const WIDE = 900; // a width at which the height of marks is measured

class Figure extends HTMLElement {
  #number = 0;
  /** @type {any} */
  #plotly;
  /** @type {ResizeObserver | undefined} */
  #resizeObserver;
  /** @type {(() => void) | undefined} */
  #unwatch; // stops a picture from following the width
  /** @type {ReturnType<typeof attend> | undefined} */
  #attended; // how a pointer and a keyboard read the marks
  #pendingMark = -1; // a mark that was pressed while the next figure was loading: its place among them
  /** @type {Shown | null} */
  figure = null;
  said = "";
  stale = false; // the next figure is loading

  /** Draw *figure*; screen readers hear *said*. Resolves once it is painted. */
  async show(figure, said) {
    const mine = ++this.#number;
    [this.figure, this.said] = [figure, said];
    if (figure.picture) this.#showPicture(figure, said);
    else if (figure.marks && !isSpace(figure)) this.#showMarks(figure, said);
    else
      await this.#showChart(
        figure.marks ? spaceOf(figure, magnification(this, SPACE)) : figure,
        said,
        mine,
      );
  }

  #showPicture(figure, said) {
    const by = magnification(this, figure.layout.height);
    this.style.minHeight = `${by * figure.layout.height}px`;
    const focused = [...this.querySelectorAll(".part")].indexOf(document.activeElement);
    this.#clear();
    const host = h("div", { class: "model", role: "group", "aria-label": said });
    this.append(host);
    this.#unwatch = open(figure, host, (door) => this.#fire(door), by);
    this.querySelectorAll(".part")[focused]?.focus();
  }

  /** Draw a chart of plotly, the *mine*th figure. */
  async #showChart(chart, said, mine) {
    this.style.minHeight = `${chart.layout.height}px`;
    const Plotly = await plotly(chart);
    if (mine !== this.#number) return;
    const camera = this.plot?.layout.scene?.camera; // as the person turned the former figure
    if (camera && chart.layout.scene) chart.layout.scene.camera = camera;
    this.#clear();
    this.plot = h("div", { class: "plot", role: "img", "aria-label": said });
    this.append(this.plot);
    this.#plotly = Plotly;
    try {
      await Plotly.newPlot(this.plot, chart.data, chart.layout, { displayModeBar: false });
    } catch (error) {
      this.#fail(error);
    }
    this.plot.on("plotly_click", ({ points: [{ customdata: door }] }) => {
      if (!this.stale && door && typeof door === "object") this.#fire(door);
    });
    this.#resizeObserver = new ResizeObserver(() => {
      if (this.plot?.offsetParent) Plotly.Plots.resize(this.plot);
    });
    this.#resizeObserver.observe(this);
  }

  /** Say that a figure could not be drawn: the old one must not stay next to the new caption. */
  #fail(error) {
    this.#clear();
    this.append(
      h("p", { class: "hint" }, "This figure could not be drawn. Its numbers are in the exports."),
    );
    throw error;
  }

  /** Draw marks, in the size of the place; they are drawn anew when the place changes. */
  #showMarks(figure, said) {
    const hadFocus = this.contains(document.activeElement),
      before = this.#attended?.now();
    this.#clear();
    const host = h("div", { class: "drawn" });
    if (figure.buttons) this.append(this.#buttons(figure.buttons));
    this.append(host);
    let drawn = [];
    const paint = (before) => {
      const by = magnification(this, drawMarks(figure, WIDE).height);
      const { svg, height, marks } = drawMarks(
        figure,
        Math.max(NARROWEST, Math.round(this.clientWidth / by)),
      );
      drawn = marks;
      this.style.minHeight = `${Math.round(by * height)}px`;
      host.replaceChildren(svg);
      this.#attended?.end();
      this.#attended = attend(
        host,
        svg,
        marks,
        said,
        (door, at) => {
          if (this.stale) this.#pendingMark = at;
          else this.#fire(door);
        },
        before,
      );
    };
    try {
      paint(before);
    } catch (error) {
      this.#fail(error);
    }
    if (hadFocus && !host.contains(document.activeElement)) host.firstChild.focus();
    const pressed = drawn[this.#pendingMark];
    this.#pendingMark = -1;
    if (pressed?.door) setTimeout(() => this.#fire(pressed.door)); // once the page shows this answer
    let width = this.clientWidth;
    this.#resizeObserver = new ResizeObserver(() => {
      if (this.clientWidth === width || !this.clientWidth) return;
      width = this.clientWidth;
      paint(this.#attended?.now());
    });
    this.#resizeObserver.observe(this);
  }

  #buttons(buttons) {
    return h(
      "div",
      { class: "presses" },
      buttons.map(({ text, door }) =>
        h("button", { type: "button", onclick: () => this.#fire(door) }, text),
      ),
    );
  }

  redraw() {
    if (this.figure) this.show(this.figure, this.said);
  }

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
    this.#pendingMark = -1;
    this.#clear();
    this.figure = null;
    this.style.minHeight = "";
  }

  #clear() {
    if (this.plot) this.#plotly.purge(this.plot);
    this.#resizeObserver?.disconnect();
    this.#unwatch?.();
    this.#attended?.end();
    this.#unwatch = this.#attended = undefined;
    this.plot = null;
    this.replaceChildren();
  }

  #fire(door) {
    this.dispatchEvent(new CustomEvent("jump", { detail: door }));
  }
}

customElements.define("bx-figure", Figure);
