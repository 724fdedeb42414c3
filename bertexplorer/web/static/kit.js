// Helpers of the components: create elements, and send requests to the server.

/** Create an element. Attributes that start with "on" are listeners; true and false set or omit an attribute; children are
 *  elements or text, which is never parsed as markup. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of the page's own English, for a place that may be in another language. */
export const en = (name, attributes, ...children) => h(name, { lang: "en", ...attributes }, ...children);

/** *words* with no line breaks between a number and the signs next to it, as in < 0.1 %. */
export const unbroken = (words) => words.replace(/(?<=[<>]) (?=\d)|(?<=\d) (?=%)/g, "\u00a0");

/** The elements of a *tree* of strings and [name, attributes, children], which the server makes from Markdown. */
export const render = (tree) => tree.map((part) => (typeof part === "string" ? unbroken(part) : h(part[0], part[1], render(part[2]))));

/** Fit the height of a textarea to its text. */
export function grow(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

/** A listener of keydown that calls *use* at Enter. Shift+Enter breaks the line. Enter within an input method ends the word that
 *  is being composed; Safari reports that as key code 229. */
export const onEnter = (use) => (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  use(event.target);
};

/** Let arrow keys, Home and End move among *all()*; Tab reaches only one of them (a roving tabindex). */
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

/** Call *use* when an entry of *list* is chosen. The arrow keys change a closed list with every press, so then Enter chooses;
 *  without it, the entry of before returns when the list loses the focus. */
export function choosing(list, use) {
  let keys = false, before = null;  // whether a key is just changing the closed list; the entry before such changes
  const hint = h("small", { role: "status" }, "Press Enter to use it.");
  const settle = () => { before = null; hint.remove(); };
  const choose = () => { settle(); use(list.value); };
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && hint.isConnected) {
      event.preventDefault();
      choose();
      return;
    }
    keys = !event.altKey && !["Enter", " "].includes(event.key);  // these open the list, as all arrows do on a Mac
    if (keys && !hint.isConnected) before = list.value;
    setTimeout(() => { keys = false; });  // a closed list changes at once, an opened one later
  });
  list.addEventListener("change", () => (keys ? list.after(hint) : choose()));
  list.addEventListener("blur", () => {
    if (hint.isConnected) list.value = before;
    settle();
  });
}

const wait = (ms, signal) => new Promise((done, left) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); left(signal.reason); });
});
const LONGEST_S = 8;  // the longest wait before another attempt to reach a server that does not answer

/** Send a POST, and retry while the server restarts or is too busy. Resolves to {status, answer}. *tell* receives what the
 *  server reports before its answer: {notice}, {place, seconds} or {done, seconds}. */
export async function post(to, body, { signal, tell = () => {} } = {}) {
  for (let tries = 0; ; tries += 1) {
    try {
      const form = body instanceof FormData;
      const headers = { accept: "application/x-ndjson, application/json", ...(form ? {} : { "content-type": "application/json" }) };
      const reply = await fetch(to, { method: "POST", headers, body: form ? body : JSON.stringify(body), signal });
      const result = await read(reply, tell), again = result.status === 503 && (result.answer.retry_after ?? Number(reply.headers.get("retry-after")));
      if (!again) return result;
      const reason = result.answer.title === "No answer" ? result.answer.detail.split(". ")[0] : "The server is busy";
      tell({ notice: `${reason}. Asking again in ${again} s.` });
      await wait(1000 * again, signal);
    } catch (error) {
      if (signal?.aborted || !(error instanceof TypeError)) throw error;  // a TypeError means that the network failed
      if (tries) tell({ notice: "The server does not answer. Asking again…" });
      await wait(1000 * Math.min(LONGEST_S, 2 ** (tries - 2)), signal);
    }
  }
}

async function read(reply, tell) {
  const { status } = reply, kind = reply.headers.get("content-type") || "";
  if (kind.startsWith("application/x-ndjson")) return lines(reply, tell);
  if (kind.includes("json")) return { status, answer: await reply.json() };
  if (status >= 502 && status <= 504) throw new TypeError("a proxy answers while the server restarts");
  if (status >= 400) return { status, answer: { detail: `The server answered with error ${status} and without a reason. Try again, or reload the page.` } };
  return { status, answer: { content: await reply.text(), name: reply.headers.get("x-file-name") } };
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
