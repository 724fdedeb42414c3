// Spans: which characters of a text are hidden or picked, as links write them. core/state.py has the same rules.

/** @import { Span } from "./types.d.ts" */

export const TOKENS = 2; // the side of a span that counts tokens

/** "0:4-11,1:0-3" -> spans; anything else is ignored.
 *  @param {string} written
 *  @returns {Span[]} */
export const readSpans = (written) =>
  (written || "")
    .split(",")
    .slice(0, 600)
    .flatMap((part) => {
      const [side, start, end] =
        /^([012]):(\d{1,6})-(\d{1,6})$/.exec(part.trim())?.slice(1).map(Number) ?? [];
      return start < end ? [{ side, start, end }] : [];
    });

/** @param {Span[]} spans */
export const writeSpans = (spans) =>
  spans.map((one) => `${one.side}:${one.start}-${one.end}`).join(",");

/** @param {Span} a
 *  @param {Span} b */
export const overlap = (a, b) => a.side === b.side && a.start < b.end && b.start < a.end;

/** Move the *spans* of *side* after an edit of its text, from *old* to *now*, lists of characters; drop those that the edit touches.
 *  @param {Span[]} spans
 *  @param {number} side
 *  @param {string[]} old
 *  @param {string[]} now
 *  @returns {Span[]} */
export function shiftSpans(spans, side, old, now) {
  let head = 0,
    tail = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail))
    tail += 1;
  const by = now.length - old.length,
    edge = old.length - tail;
  return spans.flatMap((span) => {
    if (span.side !== side || span.end <= head) return [span];
    return span.start >= edge ? [{ side, start: span.start + by, end: span.end + by }] : [];
  });
}
