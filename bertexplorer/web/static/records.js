// What this browser keeps of lessons: what was answered, and the name that a hand-in shows. The page also works without
// storage: then nothing is kept.

/** @typedef {Record<string, any>} OfLesson the id of a question -> what was answered */

const PREFIX = "bx-lesson:"; // + slug, + @checkpoint for another than the page's

export class Records {
  #suffix;

  /** *checkpoint*: the one that answers, "" for the page's.
   *  @param {string} checkpoint */
  constructor(checkpoint) {
    this.#suffix = checkpoint && `@${checkpoint}`;
  }

  /** The records of the lesson *slug*.
   *  @param {string} slug
   *  @returns {OfLesson} */
  of(slug) {
    try {
      return JSON.parse(remembered(this.#key(slug)) || "{}");
    } catch {
      return {};
    }
  }

  /** @param {string} slug
   *  @param {OfLesson} records */
  save(slug, records) {
    remember(this.#key(slug), JSON.stringify(records));
  }

  /** @param {string} slug */
  #key(slug) {
    return PREFIX + slug + this.#suffix;
  }
}

/** What is kept under *key*, "" if nothing is.
 *  @param {string} key */
export function remembered(key) {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} key
 *  @param {string} value */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    /* typed again next time */
  }
}
