// What the components share: an element made from its attributes and children, and a request to the server.

/** An element. Attributes that start with "on" are listeners; true and false set or leave out an attribute; children are
 *  elements or text, which is never read as markup. */
export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** *words* in which no line ends between a number and the signs beside it, as in < 0.1 %. */
export const unbroken = (words) => words.replace(/(?<=[<>]) (?=\d)|(?<=\d) (?=%)/g, "\u00a0");

/** Elements of a *tree*, strings and [name, attributes, children], as the server made it from Markdown. */
export const drawn = (tree) => tree.map((part) => (typeof part === "string" ? unbroken(part) : h(part[0], part[1], drawn(part[2]))));

/** Make a textarea as high as its text. */
export function grow(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

/** Arrow keys, Home and End move among *all()*, of which one at a time is reached by Tab. */
export function roving(element, all, then = () => {}) {
  element.addEventListener("keydown", (event) => {
    const items = all(document.activeElement), at = items.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (at < 0 || !items[to]) return;
    event.preventDefault();
    items[at].tabIndex = -1;
    items[to].tabIndex = 0;
    items[to].focus();
    then(items[to]);
  });
}

const wait = (ms, signal) => new Promise((done, left) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); left(signal.reason); });
});
const LONGEST_S = 8;  // between two tries to reach a server that does not answer

/** {status, answer} of a POST, however often it must be sent: to a server that restarts, or where too many wait.
 *  *tell* hears what the server says ahead of its answer: {notice}, {place, seconds} or {done, seconds}. */
export async function post(to, body, { signal, tell = () => {} } = {}) {
  for (let tries = 0; ; tries += 1) {
    try {
      const form = body instanceof FormData;
      const headers = { accept: "application/x-ndjson, application/json", ...(form ? {} : { "content-type": "application/json" }) };
      const reply = await fetch(to, { method: "POST", headers, body: form ? body : JSON.stringify(body), signal });
      const found = await read(reply, tell), again = found.status === 503 && (found.answer.retry_after ?? Number(reply.headers.get("retry-after")));
      if (!again) return found;
      const why = found.answer.title === "No answer" ? found.answer.detail.split(". ")[0] : "The server is busy";
      tell({ notice: `${why}. Asking again in ${again} s.` });
      await wait(1000 * again, signal);
    } catch (error) {
      if (signal?.aborted || !(error instanceof TypeError)) throw error;  // else the network failed
      if (tries) tell({ notice: "The server does not answer. Asking again…" });
      await wait(1000 * Math.min(LONGEST_S, 2 ** (tries - 2)), signal);
    }
  }
}

async function read(reply, tell) {
  const { status } = reply, kind = reply.headers.get("content-type") || "";
  if (kind.startsWith("application/x-ndjson")) return lines(reply, tell);
  if (kind.includes("json")) return { status, answer: await reply.json() };
  const answer = await reply.text();
  return { status, answer: status < 400 ? { content: answer, name: reply.headers.get("x-file-name") } : { detail: answer } };
}

async function lines(reply, tell) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new TypeError("the answer broke off");
    const parts = (text + value).split("\n");
    text = parts.pop();
    for (const part of parts.map((one) => JSON.parse(one))) {
      if ("answer" in part) return part;
      tell(part);
    }
  }
}

/** Hand a file to the browser to save. */
export function save(name, url) {
  h("a", { href: url, download: name }).click();
  if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
