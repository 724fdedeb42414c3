// The worker: opens the checkpoint, and answers questions about it while the page goes on.
import { Answers } from "./answer.js";
import { fileOf } from "./export.js";
import { Bert } from "./model.js";
import { Refusal } from "./tokens.js";
import * as ort from "./vendor/ort.wasm.min.mjs";

const lines = new Map();  // key -> uploaded lines
let answers = null;  // a promise of them

onmessage = async ({ data: { number, task, ...given } }) => {
  try {
    postMessage({ number, ...await TASKS[task](given) });
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error);
    postMessage({ number, status: 422, answer: { detail: error.message } });
  }
};

const TASKS = {
  /** Open the checkpoint from its files. */
  async open({ about, schema, files: { layers, reader, weights, runtime } }) {
    ort.env.wasm.numThreads = 1;  // more need cross-origin isolation, which few hosts give
    ort.env.wasm.wasmBinary = runtime;
    ort.env.wasm.wasmPaths = { mjs: new URL("./vendor/ort-wasm-simd-threaded.mjs", import.meta.url).href };
    const load = (view) => import(`./views/${view.replaceAll("-", "_")}.js`);
    answers = Bert.open({ about, graphs: { layers: new Uint8Array(layers), reader: reader && new Uint8Array(reader) }, weights, ort }).then((bert) => new Answers(bert, schema, load, (key) => lines.get(key)));
    await answers;
    return { status: 200, answer: {} };
  },

  /** Answer a state or a link. */
  async view({ body }) {
    const { status, answer } = await (await answers).view(body);
    return { status, answer: JSON.parse(JSON.stringify(answer)) };  // charts and arrays as plain data
  },

  /** The rows of a state as a file: csv or json. */
  async rows({ kind, body }) {
    const { state, rows } = await (await answers).rows(body);
    return { status: 200, answer: fileOf(kind, state, rows, (await answers).bert.card.provenance) };
  },

  /** Keep the *text* of a file of lines, for the search. */
  keep({ text, name }) {
    const found = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean), key = `lines-${lines.size + 1}`;
    if (!found.length) throw new Refusal(`${name} holds no lines. Choose a text file with a text in each line.`);
    lines.set(key, found.slice(0, MOST_LINES));
    return { status: 200, answer: { lines: key, notice: `${lines.get(key).length.toLocaleString("en")} lines of ${name}${found.length > MOST_LINES ? `; the others, beyond ${MOST_LINES.toLocaleString("en")}, are left out` : ""}. They stay in this tab.` } };
  },
};
const MOST_LINES = 2000;
