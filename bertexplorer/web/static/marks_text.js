// Text: lines of words, such as the key of a figure.
import { fitting, ink, words, wrapped } from "./marks_parts.js";

const LINE = 22;

export const numbers = () => [];

export function draw({ lines }, width, { group }) {
  let y = 0;
  const drawn = [];
  for (const { text, tone = "grey", bold, door } of lines) {
    for (const line of wrapped(text, width)) {
      y += LINE;
      const said = words(0, y - 6, fitting(line, width), { style: `fill:${ink(tone)}${bold ? ";font-weight:700" : ""}` });
      drawn.push(door ? group({ hover: text, door }, [said]) : said);
    }
  }
  return { drawn, height: y, middle: width / 2 };
}
