// Figures as a picture on white, with the question and the text above them, each with its caption; below them the note and the
// provenance.
import { penOf } from "./kit.js";
import { plotly } from "./figure.js";
import { draw as drawMarks } from "./marks.js";
import { wrapped } from "./marks_parts.js";
import { isSpace, spaceOf } from "./marks_space.js";
import { draw } from "./model_picture.js";

const EDGE = 28,
  SIZE = 13,
  LINE = 20,
  NARROWEST = 720; // pixels
const LARGEST = 100_000; // characters of a drawing

/** The figures of an *answer* with their names and captions: its own, and of a comparison the other's and the difference.
 *  @param {any} answer */
export function figuresOf({ figure, said, beside }) {
  if (!beside) return [{ name: "", figure, said }];
  const figures = [
    { name: beside.ours, figure, said },
    { name: beside.name, figure: beside.figure, said: beside.said },
  ];
  if (beside.difference)
    figures.push({ name: "The difference between the two", figure: beside.difference, said: "" });
  return figures;
}

/** The URL of a picture of *figures*, one below the other, as "svg" or "png". *above*, *below*: paragraphs.
 *  @param {string} kind
 *  @param {{figures: {name: string, figure: any, said: string}[], shown: number, question: string, above: string[],
 *  below: string[]}} parts */
export async function picture(kind, { figures, shown, question, above, below }) {
  const width = Math.max(shown, NARROWEST),
    measure = rulerOf(),
    svg = make("svg", {});
  let y = 2 * LINE; // where the next part begins
  const line = (text, more = {}) => {
    const style = { "font-family": "sans-serif", "font-size": SIZE, fill: "#333b47", ...more };
    svg.append(make("text", { x: EDGE, y, ...style }, text));
    y += LINE;
  };
  const paragraph = (text, more = {}) =>
    wrapped(text, width, SIZE, measure).forEach((row) => line(row, more));

  line(question, { "font-size": 17, "font-weight": "bold" });
  above.forEach((text) => paragraph(text));
  for (const { name, figure: given, said } of figures) {
    if (name) {
      y += LINE;
      paragraph(name, { "font-weight": "bold" });
    }
    if (given) {
      const figure = drawnAs(given),
        height = heightOf(figure, width);
      svg.append(positioned(await redraw(figure, width, height), y));
      y += height + LINE;
    }
    if (said) paragraph(said);
  }
  below.forEach((text) => paragraph(text));

  const size = { width: width + 2 * EDGE, height: y + LINE };
  const page = { ...size, viewBox: `0 0 ${size.width} ${size.height}` };
  for (const [key, value] of Object.entries(page)) svg.setAttribute(key, value);
  svg.prepend(make("rect", { ...size, fill: "#ffffff" }));
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  return kind === "svg" ? source : rasterize(source, size);
}

/** A function that measures words in the font of a picture, which the fonts of the page do not reach. */
function rulerOf() {
  const ruler = penOf(document.createElement("canvas"));
  ruler.font = `${SIZE}px sans-serif`;
  return (words) => ruler.measureText(words).width;
}

/** The figure alone as the URL of an SVG, or of a bitmap if it has many thousand points. */
export async function drawing(given, width) {
  const figure = drawnAs(given),
    wide = Math.max(width, NARROWEST),
    height = heightOf(figure, wide);
  const svg = await redraw(figure, wide, height);
  svg.setAttribute("viewBox", `${-EDGE} 0 ${wide + 2 * EDGE} ${height}`); // headings may extend beyond the edge
  slim(svg);
  const source = `data:image/svg+xml;base64,${base64(new XMLSerializer().serializeToString(svg))}`;
  return source.length > LARGEST
    ? rasterize(source, { width: wide, height }, "image/webp")
    : source;
}

/** Write each repeated style of *svg* once, and drop attributes that only plotly reads; this halves the size. */
function slim(svg) {
  const rules = new Map();
  for (const one of svg.querySelectorAll("*")) {
    const style = one.getAttribute("style");
    for (const { name } of [...one.attributes]) {
      if (name === "class" || name === "style" || name.startsWith("data-"))
        one.removeAttribute(name);
    }
    if (!style) continue;
    if (!rules.has(style)) rules.set(style, `s${rules.size}`);
    one.setAttribute("class", rules.get(style));
  }
  svg.prepend(make("style", {}, [...rules].map(([style, name]) => `.${name}{${style}}`).join("")));
}

/** *text* in UTF-8 as base64. */
export function base64(text) {
  return btoa(
    Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""),
  );
}

/** *figure* as it is drawn: points in space are a chart of plotly. */
const drawnAs = (figure) => (isSpace(figure) ? spaceOf(figure) : figure);
const heightOf = (figure, width) =>
  figure.marks ? drawMarks(figure, width).height : figure.layout.height;

/** The figure alone, redrawn as marks, by plotly, or by the script of its picture. */
async function redraw(figure, width, height) {
  if (figure.marks) {
    const { svg } = drawMarks(figure, width);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    return svg;
  }
  if (figure.picture) return inLight(draw(figure, width));
  const Plotly = await plotly(figure);
  const layout = {
    ...figure.layout,
    paper_bgcolor: "#ffffff",
    plot_bgcolor: "#ffffff",
    width,
    height,
  };
  const url = await Plotly.toImage({ data: figure.data, layout }, { format: "svg", width, height });
  return new DOMParser().parseFromString(
    decodeURIComponent(url.replace(/^data:image\/svg\+xml,/, "")),
    "image/svg+xml",
  ).documentElement;
}

/** *svg* in the colours of the light page, which a file knows nothing of. */
function inLight(svg) {
  const source = new XMLSerializer()
    .serializeToString(svg)
    .replace(/var\(--[\w-]+, (#\w+)\)/g, "$1");
  return new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
}

function positioned(inner, y) {
  inner.setAttribute("x", EDGE);
  inner.setAttribute("y", y);
  inner.setAttribute("overflow", "visible"); // headings were measured in the page's font and may be wider here
  inner.style.overflow = "visible";
  return document.importNode(inner, true);
}

function make(name, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

async function rasterize(source, { width, height }, type = "image/png") {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * height];
  penOf(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL(type, 0.8);
}
