// Arcs: lines between names on the left and on the right; more weight is a thicker line.
import {
  colour,
  fitting,
  ink,
  rectangle,
  segment,
  short,
  TOKEN,
  widest,
  widthOf,
  words,
} from "./marks_parts.js";
import { most } from "./numbers.js";

const ROW = 24,
  SIDE = 0.38,
  APART = 6; // a name; the most room for the names of a side, of the width; beside them
const STEPS = [
  [0.05, 0.8, 0.5],
  [0.15, 1.2, 0.65],
  [0.3, 2, 0.75],
  [0.6, 3, 0.9],
  [Infinity, 4.5, 1],
]; // up to; width, opacity
const SAID = 3; // links that the pointer shows

export const numbers = () => [];

export function draw({ left, right, links, strong = [], notes = [], unit }, width, { group }) {
  const longest = (names) => widest(names, TOKEN, true) + 2 * APART;
  const start = Math.min(SIDE * width, longest(left)),
    end = width - Math.min(SIDE * width, longest(right.map((_, j) => named(j))));
  const y = (row) => ROW * (row + 0.5);
  const largest = most(links.map(([, , weight]) => weight)) || 1;
  const written = (weight) => (unit === "share" ? `${short(100 * weight)} %` : short(weight));
  function named(j) {
    return `${right[j]} ${notes[j] ?? ""}`.trim();
  }

  // A name on the left with its lines, the strongest on top, and the names on the right.
  const drawn = left.map((name, i) => {
    const own = links.filter(([from]) => from === i).sort((a, b) => a[2] - b[2]);
    const lines = own.map(([, to, weight]) => {
      const [, thick, opacity] = STEPS.find(([least]) => weight / largest < least) ?? STEPS[0];
      const look = `stroke="${colour()}" stroke-width="${thick}" stroke-opacity="${opacity}"`;
      return segment([start, y(i)], [end, y(to)], look);
    });
    const best = own
      .slice(-SAID)
      .reverse()
      .map(([, to, weight]) => `${right[to]} ${written(weight)}`);
    const style = strong.includes(i) ? `fill:${ink("blue")};font-weight:700` : "";
    const shown = words(start - APART, y(i) + 5, fitting(name, start - APART, TOKEN, true), {
      anchor: "end",
      kind: "token",
      style,
    });
    return group({ hover: `${name}: ${best.join(", ")}` }, [
      rectangle(0, ROW * i, start, ROW, "transparent"),
      ...lines,
      shown,
    ]);
  });
  right.forEach((name, j) => {
    const note = notes[j] ? ` ${notes[j]}` : "";
    const room = width - end - APART - widthOf(note, TOKEN, true);
    const shown = fitting(name, room, TOKEN, true) + note;
    drawn.push(words(end + APART, y(j) + 5, shown, { kind: "token" }));
  });
  return { drawn, height: ROW * Math.max(left.length, right.length), middle: width / 2 };
}
