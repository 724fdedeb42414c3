// Grades of finds, from the facts of the view as a person left it.
import { ATTEMPTS, said } from "../grading.js";
import { fill, valueOf } from "./facts.js";
import { Refusal } from "./refusal.js";

/** Whether the *facts* of a view, as a person left it, are what a find wants, and what is said. */
export function judgeFind(
  { accept, near, limits, found, unmet, example, hint, after },
  facts,
  attempt,
) {
  const last = attempt >= ATTEMPTS;
  if (valueOf(accept, facts)) return said({ right: true, after: fill(after, facts, limits) });
  const close = near.find(([condition]) => valueOf(condition, facts))?.[1] ?? [],
    text = close.length || !last ? close : hint;
  const own = found.length ? attempted(() => [fill(found, facts, limits)]) : null;
  const parts = () =>
    unmet.flatMap(
      ([condition, words, limit]) =>
        attempted(() =>
          valueOf(condition, facts) ? [] : [fill(words, facts, [valueOf(limit, facts)])],
        ) ?? [],
    );
  return said({
    right: false,
    text: fill(text, facts, limits),
    done: false,
    answer: last ? example : [],
    found: own ?? parts(),
  });
}

/** What *make* gives; null if a fact that it needs is not there, as a text may lack what another has. */
function attempted(make) {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return null;
  }
}
