// A lesson as one file, exactly as on the screen: answers, feedback, and figures as pictures with their provenance.
import { h, save } from "./kit.js";
import { base64, drawing } from "./picture.js";

const NARROW = 720; // pixels of a picture

const STYLE = `body{font:16px/1.55 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#16202c}
h1{font-size:1.6rem;margin:0}fieldset{border:0;padding:0;margin:1.5rem 0 .5rem}legend{font-weight:600}.count,.hint,figcaption{color:#5b6675;font-size:.9rem}
.count{display:block}.feedback,.claim,.guards{border-left:3px solid #2b6cb0;padding:.2rem 0 .2rem 1rem;margin:.8rem 0}.mark{font-weight:600;margin-right:.5rem}
label{display:block}input[type=text],textarea{font:inherit;padding:.4rem;max-width:100%}button{font:inherit;margin:.4rem .4rem .4rem 0;padding:.4rem .8rem}table{border-collapse:collapse;font-size:.9rem}td,th{border-bottom:1px solid #c9d3df;padding:.2rem .8rem .2rem 0;text-align:left}section{margin:1.5rem 0}.said{border-left:3px solid #2b6cb0;padding-left:1rem}.said:empty{display:none}figure{margin:1rem 0}img{max-width:100%}ul{padding-left:1.2rem}.chosen{font-weight:700}`;

/** Save *article*, the lesson on the screen, with its answers as data too, so that a teacher can collect them. *about*: what
 *  these are answers to, and whose: {lesson, version, checkpoint, student}; *records*: question -> {answer, attempt, link}. */
export async function handIn(article, lesson, about, records) {
  // 1. A copy of the lesson, in which texts and pictures stand for what can be typed and pressed.
  const copy = article.cloneNode(true);
  const inputs = [...article.querySelectorAll("input, textarea")];
  [...copy.querySelectorAll("input, textarea")].forEach((one, i) => {
    if (!one.closest("bx-view")) one.replaceWith(typed(inputs[i]));
  });
  const views = [...article.querySelectorAll("bx-view, .run")];
  const copies = [...copy.querySelectorAll("bx-view, .run")];
  for (const [i, view] of views.entries())
    copies[i].replaceWith(await still(view), ...copies[i].querySelectorAll(".feedback"));
  copy.querySelectorAll("select").forEach((one) => one.replaceWith(one.value));
  copy.querySelectorAll("button").forEach((one) => one.remove());
  copy.querySelectorAll("details").forEach((one) => {
    one.open = true;
  });
  // 2. Whose it is, and the answers as data.
  const words = `Saved on ${new Date().toLocaleString()} from the lesson “${lesson.title}” of BERT Explorer.`;
  const parts = [copy, h("p", { class: "hint" }, words)];
  if (about.student) parts.unshift(h("p", {}, about.student));
  const answers = {};
  for (const [id, { answer, attempt, link, said }] of Object.entries(records))
    if (said) answers[id] = { answer, attempt, link }; // a draft is none
  const data = JSON.stringify({ ...about, saved: new Date().toISOString(), answers });
  saveAsFile(lesson.slug, lesson.title, parts, { language: lesson.language, data });
}

/** Save *parts* as a standalone page that makes no requests. *script*: the source of its script, if any; *language*: of the
 *  page; *data*: the answers. */
export function saveAsFile(name, title, parts, { script = "", language = "en", data = "" } = {}) {
  const policy = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src ${script ? "data:" : "'none'"}`;
  const page = document.implementation.createHTMLDocument(title);
  page.documentElement.lang = language;
  page.head.prepend(
    h("meta", { charset: "utf-8" }),
    h("meta", { name: "viewport", content: "width=device-width" }),
    h("meta", { "http-equiv": "Content-Security-Policy", content: policy }),
    h("style", {}, STYLE),
  );
  if (data) page.head.append(h("meta", { name: "bertexplorer-answers", content: data }));
  page.body.append(...parts.map((one) => page.importNode(one, true)));
  page
    .querySelectorAll("a[href^='/'], a[href^='./']")
    .forEach((one) => one.replaceWith(...one.childNodes)); // they do not work in a file
  if (script)
    page.body.append(h("script", { src: `data:text/javascript;base64,${base64(script)}` }));
  const source = `<!doctype html>${new XMLSerializer().serializeToString(page.documentElement)}`;
  save(`${name}.html`, URL.createObjectURL(new Blob([source], { type: "text/html" })));
}

/** The user's input as text. */
function typed(input) {
  if (input.type === "radio" || input.type === "checkbox")
    return document.createTextNode(input.checked ? "☑ " : "☐ ");
  return h("span", { class: "chosen" }, `${input.value} `);
}

/** A live view or a run as a picture with its sentence. */
export async function still(view) {
  if (!view.stage) {
    const shown = view.querySelector("bx-figure")?.figure;
    const words = view.querySelector(".said")?.textContent ?? view.textContent;
    const parts = [h("figcaption", {}, words)];
    if (shown) parts.unshift(h("img", { src: await drawing(shown, NARROW), alt: words }));
    return h("figure", {}, parts);
  }
  const { stage, answer } = view;
  const { state = view.state.now, beside, receipt, words = [] } = answer;
  const said = stage.said.textContent;
  const texts = [state.text, state.pair].filter(Boolean).join(" — ");
  const about = [texts, ...words].filter(Boolean).map((line) => h("p", {}, line));
  const [ours, theirs, difference] = await Promise.all([
    asPicture(stage.figure, said),
    beside ? asPicture(stage.theirs, beside.said) : "",
    beside?.difference ? asPicture(stage.difference, "The difference between the two") : "",
  ]);
  const caption = (words) => h("figcaption", {}, words);
  const provenance = receipt?.whole ?? "";
  if (!beside) return h("figure", {}, about, ours, caption(`${said} ${provenance}`));
  const side = (name) => h("p", { class: "count" }, name.textContent);
  return h(
    "figure",
    {},
    about,
    side(stage.ours),
    ours,
    caption(said),
    side(stage.named),
    theirs,
    difference,
    caption(`${beside.said} ${provenance}`),
  );
}

/** The figure on the screen as a picture; the alternative of bars names each of them. */
async function asPicture(element, said) {
  if (!element.figure) return "";
  let alternative = said;
  const bars = element.querySelector(":scope > .bars");
  if (bars) {
    const wordsOf = (bar) => [...bar.children].map((part) => part.textContent).join(": ");
    alternative = [...bars.querySelectorAll("li")].map(wordsOf).join("; ");
  }
  return h("img", { src: await drawing(element.figure, NARROW), alt: alternative });
}

const MOST_ROWS = 50;
const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g; // of a CSV, and what ends it

/** Save a view as a file: question, figure, sentence, how not to misread it, the first *rows* of its CSV, and its *link* with
 *  what others should know about it, if anything. */
export async function saveView({ question, note }, shown, rows, link, about) {
  const [figure, { status, answer }] = await Promise.all([still(shown), rows]);
  const parts = [h("h1", {}, question), figure, h("p", {}, note)];
  if (status !== 200)
    parts.push(h("p", { class: "hint" }, `The numbers are missing. ${answer.detail}`));
  else if (answer.content) parts.push(table(answer.content));
  const again = h("a", { href: link }, "Open this view in BERT Explorer");
  parts.push(h("p", {}, again, about && ` ${about}`));
  saveAsFile(shown.answer.state.view, question, parts);
}

const digits = (text) =>
  /^-?\d+\.\d{5,}/.test(text) ? String(Number(Number(text).toPrecision(4))) : text;

/** The cells of a CSV, row by row. */
function cellsOf(csv) {
  const rows = [];
  let row = [];
  for (const [match, quoted, bare, end] of csv.matchAll(CELL)) {
    if (!match) continue; // behind the last line
    row.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    rows.push(row);
    row = [];
  }
  if (row.length) rows.push(row);
  return rows;
}

/** The first rows of a CSV as a table, without the column of what made them. */
function table(csv) {
  const [head, ...body] = cellsOf(csv);
  const columns = [...head.keys()].filter((i) => head[i] !== "made_with");
  const top = columns.map((i) => h("th", {}, head[i]));
  const rows = body.slice(0, MOST_ROWS).map((row) =>
    h(
      "tr",
      {},
      columns.map((i) => h("td", {}, digits(row[i]))),
    ),
  );
  const parts = [h("table", {}, h("thead", {}, h("tr", {}, top)), h("tbody", {}, rows))];
  const more = body.length - MOST_ROWS;
  if (more > 0)
    parts.push(h("p", { class: "hint" }, `${more.toLocaleString("en")} more rows are in the CSV.`));
  return h("div", {}, parts);
}
