// Grades of a lesson's questions from their keys, by the rules of learn/grading.py. A lesson saved as a file has this module's source.
import { readNumber } from "./number.js";

export const ATTEMPTS = 2; // before the answer is shown
/** What the button of a question says; a press on a token needs none. */
export const BUTTONS = {
  predict: "Lock in my guess",
  choice: "Check",
  number: "Check",
  find: "Check",
  click: "",
  say: "Compare with a model answer",
  share: "Lock in my points",
};

/** The words before the answer to a question of a *kind*; null if it has no right or wrong answers. */
export function verdict(kind, { right, done }) {
  if (kind === "predict") return right ? "As you guessed: " : "Not as you guessed: ";
  if (right === null) return null;
  if (right) return "Right.";
  return done ? "Not quite." : "Not yet.";
}

const paragraph = (...words) => (words.length ? [["p", {}, words]] : []);
export const said = (more) => ({
  right: null,
  text: [],
  done: true,
  answer: [],
  after: [],
  key: null,
  shares: [],
  criteria: [],
  found: [],
  ...more,
});

/** {status, answer}: whether *answer* is right by *key*, at this *attempt*, and what is said. */
export function judge(key, answer, attempt) {
  if (key?.problem)
    return { status: 422, answer: { detail: `Not on this checkpoint: ${key.problem}` } };
  if (!key)
    return { status: 404, answer: { detail: "The lesson has no such part. Reload the page." } };
  if ("holds" in key) return { status: 200, answer: key };
  const graded = GRADERS[key.kind](key, answer, attempt >= ATTEMPTS);
  const isRefused = typeof graded === "string";
  return isRefused ? { status: 422, answer: { detail: graded } } : { status: 200, answer: graded };
}

/** kind -> what is said of an *answer*, by the key of its question; a string: why it is none. *last*: no attempt is left. */
const GRADERS = {
  predict: ({ key, feedback, after, choices }, answer) =>
    said({
      right: answer === key,
      text: feedback[answer],
      answer: choices[key],
      after,
      key,
    }),

  choice({ key, feedback, after, choices }, answer, last) {
    const done = answer === key || last;
    return said({
      right: answer === key,
      text: feedback[answer],
      done,
      answer: done ? choices[key] : [],
      after: done ? after : [],
      key: done ? key : null,
    });
  },

  number({ key, tolerance, percent, ranges, answer: shown, after }, typed, last) {
    const value = readNumber(String(typed), key, percent);
    if (value === null)
      return `'${String(typed).slice(0, 40)}' is not a number; wanted one such as 0.13 or 13 %.`;
    const right = Math.abs(value - key) <= tolerance + 1e-12;
    const done = right || last;
    const isIn = ([low, high]) =>
      (low === null || value >= low) && (high === null || value <= high);
    const [, , feedback] = ranges.find(isIn) ?? [null, null, []];
    let text = [];
    if (!right)
      text = feedback.length ? feedback : paragraph(value < key ? "Too low." : "Too high.");
    return said({
      right,
      text,
      done,
      answer: done ? [shown] : [],
      after: done ? after : [],
    });
  },

  share({ shares, after, choices }, points) {
    const total = points.reduce((sum, one) => sum + one, 0);
    if (Math.min(...points) < 0 || Math.abs(total - 100) > 0.5)
      return `The points add up to ${Number(total.toPrecision(6))}; share out exactly 100.`;
    const overlap = shares.reduce((sum, share, i) => sum + Math.min(points[i] / 100, share), 0);
    return said({
      text: paragraph(`${Math.round(100 * overlap)} of your 100 points are where BERT puts them.`),
      shares,
      after,
      choices,
    });
  },

  click({ right, hint, after }, token, last) {
    const hit = right.includes(token);
    const done = hit || last;
    return said({
      right: hit,
      text: done ? [] : paragraph(...hint),
      done,
      answer: hit ? [token] : [],
      after: done ? after : [],
    });
  },

  say: ({ answer, criteria, after }, words) =>
    String(words).trim()
      ? said({ answer, criteria, after: after ?? [] })
      : "Nothing is written yet. A sentence is enough.",

  // Of a view that does not run here: the hint and one that works are shown.
  find: ({ example, hint, after }) =>
    said({
      text: paragraph(...hint),
      answer: example,
      after: after ?? [],
      found: [["This view is recorded on a site, so what you find cannot be checked here."]],
    }),
};
