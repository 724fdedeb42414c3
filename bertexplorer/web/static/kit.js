// Helpers of the components: create elements, and read the keyboard.

/** @import { Prose } from "./types.d.ts" */

/** Create an element. Attributes that start with "on" are listeners; true and false set or omit an attribute; children are
 *  elements or text, which is never parsed as markup.
 *  @param {string} name
 *  @param {Record<string, any>} [attributes]
 *  @param {any[]} children
 *  @returns {any} */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(key, value);
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** An element of the page's own English, for a place that may be in another language.
 *  @param {string} name
 *  @param {Record<string, any>} [attributes]
 *  @param {any[]} children */
export const en = (name, attributes, ...children) =>
  h(name, { lang: "en", ...attributes }, ...children);

/** *words* with no line breaks between a number and the signs next to it, as in < 0.1 %.
 *  @param {string} words */
export const unbroken = (words) => words.replace(/(?<=[<>]) (?=\d)|(?<=\d) (?=%)/g, "\u00a0");

/** The elements of a *tree* of strings and [name, attributes, children], which the server makes from Markdown.
 *  @param {Prose} tree
 *  @returns {any[]} */
export const render = (tree) =>
  tree.map((part) =>
    typeof part === "string" ? unbroken(part) : h(part[0], here(part[1]), render(part[2])),
  );

/** A link of a lesson, which begins with a slash, from where this page is: it may be served below a path.
 *  @param {Record<string, string>} attributes */
const here = (attributes) =>
  attributes.href?.startsWith("/") ? { ...attributes, href: `.${attributes.href}` } : attributes;

/** What draws on a *canvas*.
 *  @param {HTMLCanvasElement} canvas */
export function penOf(canvas) {
  const pen = canvas.getContext("2d");
  if (!pen)
    throw new Error("This browser draws no images. Reload the page, or try another browser.");
  return pen;
}

/** Fit the height of a textarea to its text.
 *  @param {HTMLTextAreaElement} field */
export function grow(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

/** Show *text* in a textarea. Whoever has selected all of it to write over it still has.
 *  @param {HTMLTextAreaElement} field
 *  @param {string} text */
export function rewrite(field, text) {
  const { value, selectionStart, selectionEnd } = field;
  if (value === text) return;
  field.value = text;
  grow(field);
  const all = selectionStart === 0 && selectionEnd === value.length;
  if (all && document.activeElement === field) field.select();
}

/** A listener of keydown that calls *use* at Enter. Shift+Enter breaks the line. Enter within an input method ends the word that
 *  is being composed; Safari reports that as key code 229.
 *  @param {(target: any) => void} use */
export const onEnter = (use) => (/** @type {KeyboardEvent} */ event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  use(event.target);
};

/** Let arrow keys, Home and End move among *all()*; Tab reaches only one of them (a roving tabindex). *then* gets the one reached.
 *  @param {HTMLElement} element
 *  @param {(now: Element | null) => any[]} all
 *  @param {(now: any) => void} then */
export function roving(element, all, then = () => {}) {
  element.addEventListener("keydown", (event) => {
    const items = all(document.activeElement),
      at = items.indexOf(document.activeElement);
    /** @type {Record<string, number>} */
    const places = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: items.length - 1 };
    const to = places[event.key];
    if (at < 0 || !items[to]) return;
    event.preventDefault();
    items[at].tabIndex = -1;
    items[to].tabIndex = 0;
    items[to].focus();
    then(items[to]);
  });
}

/** Call *use* when an entry of *list* is chosen. The arrow keys change a closed list with every press, so then Enter chooses;
 *  without it, the entry of before returns when the list loses the focus.
 *  @param {HTMLSelectElement} list
 *  @param {(value: string) => void} use */
export function choosing(list, use) {
  let keys = false; // whether a key is just changing the closed list
  let before = ""; // the entry before such changes
  const hint = h("small", { role: "status" }, "Press Enter to use it.");
  const settle = () => {
    before = "";
    hint.remove();
  };
  const choose = () => {
    settle();
    use(list.value);
  };
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && hint.isConnected) {
      event.preventDefault();
      choose();
      return;
    }
    keys = !event.altKey && !["Enter", " "].includes(event.key); // these open the list, as all arrows do on a Mac
    if (keys && !hint.isConnected) before = list.value;
    setTimeout(() => {
      keys = false;
    }); // a closed list changes at once, an opened one later
  });
  list.addEventListener("change", () => (keys ? list.after(hint) : choose()));
  list.addEventListener("blur", () => {
    if (hint.isConnected) list.value = before;
    settle();
  });
}

/** Hand a file to the browser to save.
 *  @param {string} name
 *  @param {string} url */
export function save(name, url) {
  h("a", { href: url, download: name }).click();
  if (url.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A random key: requests with the same one are the same request, however often it is sent. */
export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("");

/** A field for a file. *use* gets the file as soon as it is chosen. *beside* names the file in use: the browser's own field, which
 *  is hidden, says that no file is chosen once it has been read.
 *  @param {{ id: string, label: string, accept: string, use: (file: File) => Promise<void> }} field
 *  @param {any[]} beside */
export function fileField({ id, label, accept, use }, ...beside) {
  const input = h("input", {
    type: "file",
    accept,
    hidden: true,
    onchange: async () => {
      const [chosen] = input.files;
      if (chosen) await use(chosen);
      input.value = "";
    },
  });
  const choose = h(
    "button",
    { type: "button", class: "back", onclick: () => input.click() },
    "Choose a file",
  );
  return h(
    "fieldset",
    { class: "setting file", id },
    h("legend", {}, label),
    h("p", {}, choose, " ", ...beside),
    input,
  );
}
