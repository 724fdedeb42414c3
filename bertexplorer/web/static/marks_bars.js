// Bars: one below the other, from 0 on, with a name on the left and words beside the end.
import { colour, FONT, fitting, rectangle, TOKEN, widest, widthOf, words } from "./marks_parts.js";

const ROW = 32, THICK = 22, APART = 8;
const NARROWEST = 64, WIDEST = 0.4;  // the room for names: in units, and as a share of the width
const ROOM = 0.35;  // for the words beside a bar, of the longest bar

export const numbers = ({ bars }) => bars.map((bar) => bar.value);

export function draw({ bars, tokens, low, high }, width, { group }) {
  const size = tokens ? TOKEN : FONT, kind = tokens ? "token" : "";
  const names = Math.max(NARROWEST, Math.min(WIDEST * width, widest(bars.map((bar) => bar.label), size, tokens) + 2));
  const start = names + APART;
  const [from, to] = [Math.min(0, low), Math.max(0, high)], length = to - from || 1;
  const before = from < 0 ? ROOM * length : 0;  // words to the left of bars below 0
  const place = (value) => start + (width - start) * (value - from + before) / (length * (1 + ROOM) + before);

  const drawn = bars.map((bar, i) => {
    const middle = ROW * (i + 0.5), [left, right] = [place(Math.min(0, bar.value)), place(Math.max(0, bar.value))];
    const isBack = bar.value < 0, end = isBack ? left - 6 : right + 6;
    const lines = beside(bar.text ?? "", isBack ? end : width - end);
    return group({ hover: bar.hover ?? `${bar.label} ${bar.text ?? ""}`, door: bar.door }, [
      rectangle(0, middle - ROW / 2, width, ROW, "transparent"),
      words(names, middle + 5, fitting(bar.label, names, size, tokens), { anchor: "end", kind }),
      rectangle(left, middle - THICK / 2, Math.max(1, right - left), THICK, colour(bar.tone)),
      ...lines.map((line, at) => words(end, middle + 5 + 15 * (at - (lines.length - 1) / 2), line, { anchor: isBack ? "end" : "start" })),
    ]);
  });
  return { drawn, height: ROW * bars.length };
}

/** *text* on two lines, the second from its last “·” on, where it is wider than *room*. */
function beside(text, room) {
  const at = text.lastIndexOf(" · ");
  return at > 0 && widthOf(text) > room ? [text.slice(0, at), text.slice(at + 1)] : [text];
}
