// Why there is no answer.

/** An error whose words are for the person who asked; *missing*: what the text or the checkpoint lacks. */
export class Refusal extends Error {
  /** @param {string} words */
  constructor(words, missing = "") {
    super(words);
    this.missing = missing;
  }
}

/** Nobody waits for the answer any more. */
export class Stopped extends Error {}
