// The page Train of a site: a classifier from a handful of sentences. Fine-tuning needs the explorer on a computer.
import { ask } from "../backend.js";
import { h } from "../kit.js";
import "../teach.js";
import "./site.js";

const place = document.getElementById("train"),
  teach = h("bx-teach");
place?.append(
  h(
    "div",
    { class: "bx" },
    h(
      "header",
      { class: "masthead" },
      h("h1", {}, "Train"),
      h("p", {}, "Teach BERT with a handful of sentences. It learns in this browser, in seconds."),
    ),
    h("h2", {}, "Teach"),
    teach,
    h(
      "p",
      {},
      "To fine-tune the whole of BERT on your rows, run the explorer on a computer. With Python 3.11 or newer, in its folder:",
    ),
    h("pre", {}, "pip install .\nbertexplorer serve --open"),
  ),
);
const { answer: page } = await ask("page");
teach.open(page.opening);
