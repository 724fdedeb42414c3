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
  const copy = article.cloneNode(true),
    views = [...article.querySelectorAll("bx-view, .run")];
  const inputs = [...article.querySelectorAll("input, textarea")];
  [...copy.querySelectorAll("input, textarea")].forEach((one, i) => {
    if (!one.closest("bx-view")) one.replaceWith(words(inputs[i]));
  });
  const copies = [...copy.querySelectorAll("bx-view, .run")];
  for (const [i, view] of views.entries())
    copies[i].replaceWith(await still(view), ...copies[i].querySelectorAll(".feedback"));
  copy.querySelectorAll("select").forEach((one) => one.replaceWith(one.value));
  copy.querySelectorAll("button").forEach((one) => one.remove());
  copy.querySelectorAll("details").forEach((one) => {
    one.open = true;
  });
  const note = h(
    "p",
    { class: "hint" },
    `Saved on ${new Date().toLocaleString()} from the lesson “${lesson.title}” of BERT Explorer.`,
  );
  const answers = Object.fromEntries(
    Object.entries(records).map(([id, { answer, attempt, link }]) => [
      id,
      { answer, attempt, link },
    ]),
  );
  const by = about.student && h("p", {}, about.student),
    data = JSON.stringify({ ...about, saved: new Date().toISOString(), answers });
  saveAsFile(lesson.slug, lesson.title, [by, copy, note].filter(Boolean), {
    language: lesson.language,
    data,
  });
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
  save(
    `${name}.html`,
    URL.createObjectURL(
      new Blob([`<!doctype html>${new XMLSerializer().serializeToString(page.documentElement)}`], {
        type: "text/html",
      }),
    ),
  );
}

/** The user's input as text. */
function words(input) {
  if (input.type === "radio" || input.type === "checkbox")
    return document.createTextNode(input.checked ? "☑ " : "☐ ");
  return h("span", { class: "chosen" }, `${input.value} `);
}

/** A live view or a run as a picture with its sentence. */
export async function still(view) {
  if (!view.stage) {
    const shown = view.querySelector("bx-figure")?.figure,
      words = view.querySelector(".said")?.textContent ?? view.textContent;
    return h(
      "figure",
      {},
      shown && h("img", { src: await drawing(shown, NARROW), alt: words }),
      h("figcaption", {}, words),
    );
  }
  const {
      stage,
      answer: { state = view.state.now, beside, receipt, words = [] },
    } = view,
    said = stage.said.textContent;
  const about = [[state.text, state.pair].filter(Boolean).join(" — "), ...words]
    .filter(Boolean)
    .map((line) => h("p", {}, line));
  const names = [stage.ours.textContent, stage.named.textContent];
  const [ours, theirs, difference] = await Promise.all([
    asPicture(stage.figure, said),
    beside ? asPicture(stage.theirs, beside.said) : "",
    beside?.difference ? asPicture(stage.difference, "The difference between the two") : "",
  ]);
  const side = (name) => h("p", { class: "count" }, name);
  const last = h("figcaption", {}, `${beside ? beside.said : said} ${receipt?.whole ?? ""}`);
  if (!beside) return h("figure", {}, about, ours, last);
  return h(
    "figure",
    {},
    about,
    side(names[0]),
    ours,
    h("figcaption", {}, said),
    side(names[1]),
    theirs,
    difference,
    last,
  );
}

/** The figure on the screen as a picture; the alternative of bars names each of them. */
async function asPicture(element, said) {
  const bars = element.querySelector(":scope > .bars");
  if (bars)
    said = [...bars.querySelectorAll("li")]
      .map((one) => [...one.children].map((part) => part.textContent).join(": "))
      .join("; ");
  return element.figure ? h("img", { src: await drawing(element.figure, NARROW), alt: said }) : "";
}

const MOST_ROWS = 50;

/** Save a view as a file: question, figure, sentence, how not to misread it, the first *rows* of its CSV, and its *link* with
 *  what others should know about it, if anything. */
export async function saveView({ question, note }, shown, rows, link, about) {
  const [figure, { status, answer }] = await Promise.all([still(shown), rows]);
  const below =
    status !== 200
      ? h("p", { class: "hint" }, `The numbers are missing. ${answer.detail}`)
      : answer.content && table(answer.content);
  const again = h(
    "p",
    {},
    h("a", { href: link }, "Open this view in BERT Explorer"),
    about && ` ${about}`,
  );
  saveAsFile(shown.answer.state.view, question, [
    h("h1", {}, question),
    figure,
    h("p", {}, note),
    below,
    again,
  ]);
}

const digits = (text) =>
  /^-?\d+\.\d{5,}/.test(text) ? String(Number(Number(text).toPrecision(4))) : text;

/** The first rows of a CSV as a table. */
function table(csv) {
  const rows = [...csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)]
    .reduce(
      (all, [match, quoted, bare, end]) => {
        if (match) all.at(-1).push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
        if (end !== "," && match) all.push([]);
        return all;
      },
      [[]],
    )
    .filter((row) => row.length);
  const [head, ...body] = rows;
  const more = body.length - MOST_ROWS;
  const shown = head.map((name, i) => [name, i]).filter(([name]) => name !== "made_with");
  return h(
    "div",
    {},
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          shown.map(([name]) => h("th", {}, name)),
        ),
      ),
      h(
        "tbody",
        {},
        body.slice(0, MOST_ROWS).map((row) =>
          h(
            "tr",
            {},
            shown.map(([, i]) => h("td", {}, digits(row[i]))),
          ),
        ),
      ),
    ),
    more > 0 && h("p", { class: "hint" }, `${more.toLocaleString("en")} more rows are in the CSV.`),
  );
}
