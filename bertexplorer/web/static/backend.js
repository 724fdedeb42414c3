// Where the questions of the components go: one function, which a page may hand over. It is the server over HTTP; a notebook's
// kernel or a worker in the page can take its place.

import { partsOf } from "./streams.js";

/** @import { Ask, Question, Reply } from "./types.d.ts" */

/** @type {Ask} */
let backend;

/** Ask for *path* of the API, such as "view" or "lessons?lang=de". *body*: what to send, an object or a form; without it, a GET.
 *  Resolves to {status, answer}; a file is {content, name}. *tell* receives what is reported before the answer: {notice},
 *  {place, seconds}, {done, seconds} or an {answer} to show until then; of a run that is followed, its events, the last of
 *  which is the answer. Rejects if nobody answers, and when *signal* aborts.
 *  @type {Ask} */
export const ask = (path, question = {}) => backend(path, question);

/** An *error* as an answer, for a question that nobody answers.
 *  @param {Error} error
 *  @returns {Reply} */
export const unanswered = (error) => ({ status: 0, answer: { detail: error.message } });

/** Send a *file* to *path*; where nobody answers, that is the answer.
 *  @param {string} path
 *  @param {File} file
 *  @param {Question["tell"]} [tell] */
export function sendFile(path, file, tell) {
  const body = new FormData();
  body.append("file", file);
  return ask(path, { body, tell }).catch(unanswered);
}

/** Send all further questions to *other*, a function like `ask`.
 *  @param {Ask} other */
export const connect = (other) => {
  backend = other;
};

/** @type {(ms: number, signal?: AbortSignal) => Promise<void>} */
const wait = (ms, signal) =>
  new Promise((done, left) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      left(signal.reason);
    });
  });
const LONGEST_S = 8; // the longest wait before another attempt to reach a server that does not answer

/** The server over HTTP. A question with a body is sent again while the server restarts or is too busy.
 *  @type {Ask} */
export async function http(path, { body, signal, tell = () => {} } = {}) {
  const to = `api/v1/${path}`;
  if (body === undefined) return read(await fetch(to, { signal }), tell);
  for (let tries = 0; ; tries += 1) {
    try {
      const form = body instanceof FormData;
      const headers = {
        accept: "application/x-ndjson, application/json",
        ...(form ? {} : { "content-type": "application/json" }),
      };
      const reply = await fetch(to, {
        method: "POST",
        headers,
        body: form ? body : JSON.stringify(body),
        signal,
      });
      const result = await read(reply, tell);
      const again =
        result.status === 503 &&
        (result.answer.retry_after ?? Number(reply.headers.get("retry-after")));
      if (!again) return result;
      const reason = result.answer.title ?? "The server is busy";
      tell({ notice: `${reason}. Asking again in ${again} s.` });
      await wait(1000 * again, signal);
    } catch (error) {
      if (signal?.aborted || !(error instanceof TypeError)) throw error; // a TypeError means that the network failed
      if (tries) tell({ notice: "The server does not answer. Asking again…" });
      await wait(1000 * Math.min(LONGEST_S, 2 ** (tries - 2)), signal);
    }
  }
}

/** @param {Response} reply
 *  @param {(news: any) => void} tell
 *  @returns {Promise<Reply>} */
async function read(reply, tell) {
  const { status } = reply,
    kind = reply.headers.get("content-type") || "";
  if (kind.startsWith("application/x-ndjson")) return lines(reply, tell);
  if (kind.startsWith("text/event-stream")) return events(reply, tell);
  if (kind.includes("json")) return { status, answer: await reply.json() };
  if (kind.includes("zip"))
    return {
      status,
      answer: { content: await reply.blob(), name: reply.headers.get("x-file-name") },
    };
  if (status >= 502 && status <= 504)
    throw new TypeError("a proxy answers while the server restarts");
  if (status >= 400) {
    return {
      status,
      answer: {
        detail: `The server answered with error ${status} and without a reason. Try again, or reload the page.`,
      },
    };
  }
  return {
    status,
    answer: { content: await reply.text(), name: reply.headers.get("x-file-name") },
  };
}

/** @param {Response} reply
 *  @param {(news: any) => void} tell */
async function lines(reply, tell) {
  for await (const line of parts(reply, "\n")) {
    const part = JSON.parse(line);
    if ("answer" in part) return part;
    tell(part);
  }
  throw new TypeError("the answer broke off");
}

/** @param {Response} reply
 *  @param {(news: any) => void} tell */
async function events(reply, tell) {
  for await (const event of parts(reply, "\n\n")) {
    const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/s)));
    if (!fields.event) continue; // a sign of life
    const data = JSON.parse(fields.data);
    if (fields.event === "end") return { status: reply.status, answer: data };
    if (fields.event === "gone") return { status: 404, answer: data };
    tell(data);
  }
  throw new TypeError("the events broke off");
}

/** The parts of a *reply*, each followed by *end*, as they arrive.
 *  @param {Response} reply
 *  @param {string} end */
async function* parts(reply, end) {
  let text = "";
  for await (const value of partsOf(reply.body?.pipeThrough(new TextDecoderStream()))) {
    const complete = (text + value).split(end);
    text = complete.pop() ?? "";
    yield* complete;
  }
}

connect(http);
