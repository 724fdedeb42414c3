// The worker: opens the checkpoint, and answers questions about it while the page goes on.
import { Answers } from "./answer.js";
import { fileOf } from "./export.js";
import { factsOf } from "./facts.js";
import { base } from "./fetching.js";
import { judgeFind } from "./grading.js";
import { Bert } from "./model.js";
import { sentenceVectors } from "./sentence_encoder.js";
import { counted } from "./wording.js";
import * as ort from "./vendor/ort.wasm.min.mjs";
import { Refusal, Stopped } from "./refusal.js";

const lines = new Map(); // key -> uploaded lines
/** @type {Promise<Answers>} */
let answers;

// One task at a time, in their order. A task that nobody waits for any more ends at its next pause.

const PATIENCE_MS = 800; // before the page hears how far a task is
let before = Promise.resolve(),
  current = { number: 0, began: 0 };
const stopped = new Set();

onmessage = ({ data: { number, task, ...given } }) => {
  if (task === "stop") stopped.add(number);
  else before = before.then(() => perform(number, task, given));
};

async function perform(number, task, given) {
  current = { number, began: performance.now() };
  try {
    await pause();
    postMessage({ number, ...(await TASKS[task](given)) });
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof Stopped)) console.error(error);
    postMessage({ number, status: 422, answer: { detail: error.message } });
  }
  stopped.delete(number);
}

/** Let messages in, tell how much is done, and end the task if it was stopped. */
async function pause(share = 0) {
  await new Promise((go) => {
    pauses.port1.onmessage = go;
    pauses.port2.postMessage(0);
  });
  const { number, began } = current,
    spent = performance.now() - began;
  if (stopped.has(number)) throw new Stopped();
  if (share && spent > PATIENCE_MS) {
    postMessage({
      number,
      progress: { done: share, seconds: Math.ceil((spent * (1 - share)) / share / 1000) },
    });
  }
}
const pauses = new MessageChannel();

const TASKS = {
  /** Open the checkpoint from its files. */
  async open({ about, schema, files: { layers, reader, weights, runtime } }) {
    const cores = crossOriginIsolated ? (navigator.hardwareConcurrency ?? 1) : 1; // isolated by sw.js
    ort.env.wasm.numThreads = Math.min(MOST_THREADS, cores);
    ort.env.wasm.wasmBinary = runtime;
    ort.env.wasm.wasmPaths = {
      mjs: new URL("./vendor/ort-wasm-simd-threaded.mjs", import.meta.url).href,
    };
    const load = (view) => import(new URL(schema.twins[view], base).href);
    answers = Bert.open({
      about,
      graphs: { layers: new Uint8Array(layers), reader: reader && new Uint8Array(reader) },
      weights,
      ort,
      pause,
    }).then((bert) => new Answers(bert, schema, load, (key) => lines.get(key)));
    await answers;
    return { status: 200, answer: {} };
  },

  /** Answer a state or a link. */
  async view({ body }) {
    const { status, answer } = await (await answers).view(body);
    return { status, answer: JSON.parse(JSON.stringify(answer)) }; // charts and arrays as plain data
  },

  /** The rows of a state as a file: csv or json. */
  async rows({ kind, body }) {
    const { state, rows } = await (await answers).rows(body);
    return { status: 200, answer: fileOf(kind, state, rows, (await answers).bert.card.provenance) };
  },

  /** The vectors of *texts*, without a prompt; a mask may be written [MASK]. */
  async encode({ texts }) {
    const { bert } = await answers,
      notes = new Map(); // note -> how many sentences have it
    const encodings = texts.map((typed) => {
      const { text } = bert.tokenizer.prepare(typed),
        encoding = bert.sentence.encode({ first: text }, "");
      for (const note of encoding.notes) notes.set(note, (notes.get(note) ?? 0) + 1);
      return encoding;
    });
    const vectors = await sentenceVectors(bert, encodings, bert.layers, "own");
    const { name, revision } = bert.card;
    return {
      status: 200,
      answer: {
        vectors: vectors.map((vector) => [...vector]),
        notes: [...notes].map(([note, count]) => `${counted(count, "sentence")}: ${note}`),
        encoder: { checkpoint: name, revision },
      },
    };
  },

  /** Grade the *state* in which a person left the view of a find; *question*: its conditions and texts. */
  async find({ state, question, attempt }) {
    const all = await answers;
    const { state: now } = await all.read({ state });
    const facts = factsOf(all.bert, now, await all.result(now));
    return { status: 200, answer: judgeFind(question, facts, attempt) };
  },

  /** Keep the *text* of a file of lines, for the search. */
  keep({ text, name }) {
    const all = text.split(/\r?\n/).map((line) => line.trim());
    const filled = all.filter(Boolean);
    if (!filled.length)
      throw new Refusal(`${name} holds no lines. Choose a text file with a text in each line.`);
    const kept = filled.slice(0, MOST_LINES);
    const key = `lines-${fingerprint(text)}`;
    lines.set(key, kept);
    let notice = `${kept.length.toLocaleString("en")} lines of ${name}`;
    if (filled.length > MOST_LINES)
      notice += `; the others, beyond ${MOST_LINES.toLocaleString("en")}, are left out`;
    notice += ". They stay until this tab is reloaded.";
    return { status: 200, answer: { lines: key, notice } };
  },
};
const MOST_LINES = 2000,
  MOST_THREADS = 4;

/** A short name for a *text*: another text has another one. */
function fingerprint(text) {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (const one of text) {
    a = Math.imul(a ^ one.codePointAt(0), 2654435761);
    b = Math.imul(b ^ one.codePointAt(0), 1597334677);
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}
