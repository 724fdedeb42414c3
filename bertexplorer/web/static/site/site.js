// The site's answer to `ask`: a worker in this browser in place of a server, and recorded answers for views that need one.
import { connect } from "../backend.js";
import { settingsInQuery } from "../settings.js";
import { base, fetched, forgetOthers } from "./fetching.js";
import { readLink } from "./links.js";

/** @import { Ask } from "../types.d.ts" */

const missing = (what) =>
  refused(
    404,
    `${what} needs the explorer on a computer. Its README says how to install it: two commands.`,
  );

const read = async (path) => {
  const reply = await fetch(new URL(path, base));
  if (!reply.ok) throw new Error(`${path} is missing (${reply.status})`);
  return reply.json();
};

// The checkpoints that can be picked. Another one is another page: its views, examples and answers are its own.

/** @type {{name: string, folder: string}[]} */
const listed = JSON.parse(
  document.querySelector('meta[name="checkpoints"]')?.getAttribute("content") || "[]",
);
const named = new URLSearchParams(location.search).get("checkpoint");
const shown = listed.find((one) => one.name === named) ?? listed[0];
const root = shown?.folder ?? ""; // of the files of this checkpoint
const isOther = (name) => name !== shown?.name && listed.some((one) => one.name === name);

/** Load the page again with the checkpoint *name*, with the view and texts of *state*, and what else its address says. */
function change(name, state = {}) {
  const address = new URL(location.href);
  for (const part of ["view", "text", "pair"])
    if (state[part]) address.searchParams.set(part, state[part]);
  address.searchParams.set("checkpoint", name);
  location.assign(address);
  return new Promise(() => {}); // the page ends here
}

const page = read(`${root}data/page.json`);

// The checkpoint and its worker.

const waiting = new Map(); // number of a question -> what resolves it
/** @type {Worker} */
let worker;
/** @type {Promise<void> | undefined} */
let opened;
let last = 0; // number of a question
let here = false; // the checkpoint is open

/** Ask the worker. *way*: *transfer* goes over to it; *tell* hears {done, seconds}; *signal* stops the work.
 *  @param {{transfer?: Transferable[], signal?: AbortSignal, tell?: (news: any) => void}} way */
function send(task, given, way = {}) {
  const { transfer = [], signal, tell } = way;
  signal?.throwIfAborted(); // while the checkpoint opened, a newer question came
  const number = ++last;
  worker.postMessage({ number, task, ...given }, transfer);
  return new Promise((done, left) => {
    waiting.set(number, { done, tell });
    signal?.addEventListener("abort", () => {
      waiting.delete(number);
      worker.postMessage({ task: "stop", number });
      left(signal.reason);
    });
  });
}

/** Open the checkpoint, once; *tell*, of whoever asks last, hears how much has arrived. A failed attempt can be repeated. */
function open(tell = listener) {
  listener = tell;
  if (!here) say(notice);
  opened ??= openNow().catch((error) => {
    opened = undefined;
    notice = "";
    worker?.terminate();
    throw error;
  });
  return opened;
}

/** @type {(news: any) => void} */
let listener = () => {};
let notice = "";
function say(words) {
  notice = words;
  if (words) listener({ notice: words });
}

const MUCH = 700e6; // bytes of memory that a visitor is told of

class Missing extends Error {} // what another attempt would not mend
// a program of one instruction
const SIMD = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15,
  253, 98, 11,
];
const canRun = () =>
  typeof DecompressionStream !== "undefined" &&
  typeof WebAssembly !== "undefined" &&
  WebAssembly.validate(new Uint8Array(SIMD));

async function openNow() {
  if (!canRun()) {
    throw new Missing(
      "This browser lacks WebAssembly with SIMD, or DecompressionStream. A current Firefox, Chrome, Edge or Safari has both.",
    );
  }
  const about = await read(`${root}data/site.json`),
    total = about.files.reduce((sum, one) => sum + one.bytes, 0),
    files = {};
  const memory =
    about.memory > MUCH ? `; it takes ${(about.memory / 1e9).toFixed(1)} GB of memory` : "";
  let done = 0;
  const hear = (bytes) => {
    done += bytes;
    const shown = `${(done / 1e6).toFixed(0)} of ${(total / 1e6).toFixed(0)} MB`;
    say(`Fetching the checkpoint: ${shown}${memory}`);
  };
  hear(0);
  await Promise.all(
    about.files.map(async (file) => {
      files[file.name] = await fetched(file, root, hear);
    }),
  );
  forgetOthers(about.files, root).catch(() => {});
  files.runtime = await new Response(
    new Blob([files.runtime]).stream().pipeThrough(new DecompressionStream("gzip")),
  ).arrayBuffer();
  say("Opening the checkpoint…");
  worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data: { number, progress, ...result } }) => {
    const asked = waiting.get(number);
    if (progress) {
      asked?.tell?.(progress);
      return;
    }
    waiting.delete(number);
    asked?.done(result);
  };
  worker.onerror = ({ message }) => {
    const answer = {
      detail: `The checkpoint cannot run here (${message || "its script did not load"}). Reload the page.`,
    };
    for (const { done } of waiting.values()) done({ status: 500, answer });
    waiting.clear();
  };
  const { status, answer } = await send(
    "open",
    { about, schema: await page, files },
    { transfer: Object.values(files) },
  );
  if (status !== 200) throw new Error(answer.detail);
  here = true;
}

// The questions.

const filesByKey = (path) => read(path).catch(() => ({})); // a state, as `keyOf` writes it -> the file of its answer
const recorded = filesByKey(`${root}data/recorded.json`),
  openings = filesByKey(`${root}data/openings.json`);

/** The name of a recorded state: with the settings that are not at their defaults. */
function keyOf(
  { view, text, pair = "", hidden = "", picked = "", against = "", other = "", options = {} },
  { defaults, text: used },
) {
  const changed = Object.entries(options)
    .filter(([name, value]) => String(value) !== String(defaults[name]))
    .sort();
  return JSON.stringify([
    view,
    ...(used ? [text, pair, hidden, picked] : ["", "", "", ""]),
    against,
    against ? other : "",
    changed.map(([name, value]) => `${name}=${value}`),
  ]);
}

/** The answer to a state or a link of a view. */
async function view(body, { tell, signal }) {
  const asked = body.state?.checkpoint ?? new URLSearchParams(body.link).get("checkpoint");
  if (isOther(asked)) return change(asked, body.state);
  const { views, card } = await page;
  const refuse = (detail) => ({ status: 422, answer: { checkpoint: card, detail } }); // without a state: text and tokens stay
  // 1. What is recorded.
  const state = body.state ?? stateOf(body.link, await page);
  const own = views[state.view];
  const key = own && keyOf(state, own);
  const file = (await recorded)[key];
  const first = (await openings)[key];
  if (!own)
    return refuse(
      `This site has no view '${String(state.view).slice(0, 60)}'. Pick one of those shown.`,
    );
  if (file && !body.fill) return good(await read(`${root}data/recorded/${file}.json`));
  if (own?.offered === false) {
    return refuse(
      `This view does not run in a browser. Its examples are recorded: choose one of them. ${own.instead}`,
    );
  }
  // 2. What is computed. Until the checkpoint is open, the recorded answer to an opening is shown.
  let waiting = !here;
  if (first && waiting && !body.fill) {
    read(`${root}data/recorded/${first}.json`)
      .then((answer) => waiting && tell?.({ answer }))
      .catch(() => {});
  }
  try {
    await open(tell);
  } catch (error) {
    return refuse(
      error instanceof Missing ? error.message : `${unopened(error)} Change the text to try again.`,
    );
  } finally {
    waiting = false;
  }
  return send("view", { body }, { signal, tell });
}

const unopened = ({ message }) => `The checkpoint did not open: ${message}.`;

/** The rows of a state as a file: csv or json. */
async function rows(kind, body, tell) {
  const { state } = body;
  const { views } = await page;
  const file = (await recorded)[keyOf(state, views[state.view])];
  if (!file) {
    try {
      await open(tell);
    } catch (error) {
      return refused(422, `${unopened(error)} Try again.`);
    }
    return send("rows", { kind, body });
  }
  const { fileOf } = await import("./export.js");
  const [content, { receipt }] = await Promise.all([
    read(`${root}data/recorded/${file}.rows.json`),
    read(`${root}data/recorded/${file}.json`),
  ]);
  return good(fileOf(kind, state, content, receipt.whole));
}

/** The state of a link, with all settings that it names, also those that a browser lacks. */
function stateOf(link, schema) {
  const { query, state, options: examples } = readLink(link, schema),
    { defaults } = schema.views[state.view];
  const options = { ...defaults, ...examples, ...settingsInQuery(query, defaults) };
  return { ...state, checkpoint: schema.opening.checkpoint, precision: "auto", options };
}

/** The text of a file in UTF-8, or in the encoding of Windows, which a notice names. */
function readText(bytes) {
  try {
    return { read: new TextDecoder("utf-8", { fatal: true }).decode(bytes), notice: "" };
  } catch {
    return {
      read: new TextDecoder("windows-1252").decode(bytes),
      notice: " It is not UTF-8, so it was read as Windows-1252.",
    };
  }
}

/** The grade of an answer to a question of a lesson, from its keys; of a find, from the state of its view. */
async function grade(slug, block, { answer, attempt, state }, lang) {
  const { judge } = await import("../grading.js");
  const keys = await read(`data/lessons/${slug}${lang ? `.${lang}` : ""}.keys.json`);
  const key = keys[block];
  const question = key?.graded_by;
  if (!question) return judge(key, answer, attempt);
  await open();
  return send("find", { state, question, attempt });
}

/** Whether *lesson* shows a view that this browser computes, and may fetch the checkpoint for it unasked. */
async function asks({ parts }) {
  const { views } = await page,
    named = parts.map(({ link = "" }) => new URLSearchParams(link.split("?")[1]).get("view"));
  return !navigator.connection?.saveData && named.some((name) => views[name]?.offered);
}

const MAX_BYTES = 5e6; // of a file of lines
const EXPORTS = ["gift", "moodle", "qti", "csv"]; // files of a lesson's questions

/** @type {Ask} */
async function local(path, { body, signal, tell } = {}) {
  const [where, query = ""] = path.split("?");
  const [first, second, third] = where.split("/");
  if (where === "page") return good(await page);
  if (where === "view") return view(body, { tell, signal });
  if (where === "view/python") return missing("The program that repeats an answer");
  if (first === "view") return rows(second, body, tell);
  if (where === "checkpoints") return checkpoints(body);
  if (where === "lines") return lines(body.get("file"), tell);
  if (where === "encode") return encode(body, { tell, signal });
  if (where === "lectures") return good([]);
  if (first === "lectures") return missing("A lecture");
  if (first === "lessons") {
    const lang = new URLSearchParams(query).get("lang") ?? "";
    try {
      return await lessons(second, third, body, lang === "en" ? "" : lang);
    } catch {
      return refused(
        404,
        `There is no lesson '${second}' on this site, or it did not arrive. Choose one from the list.`,
      );
    }
  }
  return missing("This");
}

const good = (answer) => ({ status: 200, answer });
const refused = (status, detail) => ({ status, answer: { detail } });

/** The checkpoints that can be picked; with a *body*, the page of the one that it names. */
async function checkpoints(body) {
  const { name, label } = (await page).card;
  if (body)
    return isOther(body.name) ? change(body.name) : missing(`Another checkpoint than ${name}`);
  const all = [{ name, label, here: true }];
  for (const one of listed) {
    if (one.name !== name) all.push({ name: one.name, label: one.name, here: true });
  }
  return good(all);
}

/** Keep the lines of *file* for a view. */
async function lines(file, tell) {
  if (/\.(csv|tsv|jsonl|ndjson)$/i.test(file.name))
    return refused(
      422,
      `${file.name} is a table. A site reads plain text: save its texts as a .txt file, one on each line.`,
    );
  if (file.size > MAX_BYTES)
    return refused(
      422,
      `${file.name} has ${(file.size / 1e6).toFixed(0)} MB; the limit is ${MAX_BYTES / 1e6}. Keep the lines that you search.`,
    );
  const { read: text, notice } = readText(await file.arrayBuffer());
  await open(tell);
  const kept = await send("keep", { text, name: file.name });
  if (kept.status === 200) kept.answer.notice += notice;
  return kept;
}

/** The vectors of texts. */
async function encode({ texts }, { tell, signal }) {
  try {
    await open(tell);
  } catch (error) {
    return refused(422, `${unopened(error)} Try again.`);
  }
  return send("encode", { texts }, { signal });
}

/** The list of lessons; the lesson *slug*, or a *part* of it: its keys, a file of its questions, the grade of the answer in *body*
 *  to a question. *spoken*: the language, "" for English. Throws if a file is missing. */
async function lessons(slug, part, body, spoken) {
  const end = spoken && `.${spoken}`; // of the name of a translation
  const translated = (name, kind = ".json") =>
    read(`data/lessons/${name}${end}${kind}`).catch(() => read(`data/lessons/${name}${kind}`));
  if (!slug) return good(await translated("list"));
  if (slug === "runs") return good(await read(`data/lessons/runs/${part}.json`));
  if (!part) {
    const lesson = await translated(slug);
    if (await asks(lesson)) open().catch(() => {}); // it arrives while a person reads
    return good(lesson);
  }
  if (part === "keys") return good(await translated(slug, ".keys.json"));
  if (EXPORTS.includes(part)) {
    const file = await fetch(new URL(`data/lessons/${slug}${end}.${part}`, base));
    if (file.ok) return good({ content: await file.blob() });
    return refused(
      404,
      "The checkpoint of this site has no answer to a question of this lesson, so there is no such file.",
    );
  }
  return body ? grade(slug, part, body, spoken) : missing("This");
}

connect(local);

// Where a service worker may run (https, localhost), the site opens without a network after one visit.
if (window.isSecureContext)
  navigator.serviceWorker?.register(new URL("sw.js", base)).catch(() => {});
