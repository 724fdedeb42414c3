// Tokens: one after the other on as many lines as they need, each on its tone, with a small note below.
import { colour, fitting, rectangle, SMALL, TOKEN, widthOf, words } from "./marks_parts.js";

const TALL = 44,
  APART = 6,
  INSIDE = 8;

export const numbers = () => [];

export function draw({ tokens }, width, { group }) {
  let x = 0,
    y = 0;
  const drawn = tokens.map(({ text, note = "", tone = "pale", hover = text, door }) => {
    const shown = fitting(text, width - 2 * INSIDE, TOKEN, true);
    const wide = Math.max(widthOf(shown, TOKEN, true), widthOf(note, SMALL)) + 2 * INSIDE;
    if (x && x + wide > width) [x, y] = [0, y + TALL + APART];
    const middle = x + wide / 2;
    x += wide + APART;
    return group({ hover, door }, [
      rectangle(middle - wide / 2, y, wide, TALL, `${colour(tone)}" fill-opacity=".22`),
      words(middle, y + 18, shown, { anchor: "middle", kind: "token" }),
      words(middle, y + 35, note, { anchor: "middle", kind: "small" }),
    ]);
  });
  return { drawn, height: tokens.length ? y + TALL : 0, middle: width / 2 };
}
