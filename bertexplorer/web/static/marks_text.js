// Text: lines of words, such as the key of a figure. A line may have parts, each in its own tone.
import { colour, fitting, FONT, ink, widthOf, words } from "./marks_parts.js";

const LINE = 22;
const SIGN = /^[■┃┊━●◀▶]$/; // a sign of a key has the very colour of what it stands for

export const numbers = () => [];

export function draw({ lines }, width, { group }) {
  let y = 0;
  const drawn = [];
  for (const line of lines) {
    let x = 0;
    y += LINE;
    const parts = Array.isArray(line) ? line : [line];
    for (const [i, { text, tone = "grey", bold, door }] of parts.entries()) {
      const style = `fill:${SIGN.test(text) ? colour(tone) : ink(tone)}${bold ? ";font-weight:700" : ""}`;
      const long = (some) => widthOf(some, FONT, false, bold),
        said = [];
      const beside =
        SIGN.test(text) && parts[i + 1] ? long(parts[i + 1].text.match(/^ *[^ ]*/)[0]) : 0; // a sign has a word beside it
      let start = x,
        written = "";
      const write = () =>
        said.push(
          words(start + long(written) - long(written.trimStart()), y - 6, written.trim(), {
            style,
          }),
        );
      for (const word of text.split(/(?<= )/)) {
        if (x && start + long(written + word.trimEnd()) + beside > width) {
          write();
          [x, y, start, written] = [0, y + LINE, 0, ""];
        }
        written += x ? word : fitting(word.trimStart(), width);
        x = start + long(written);
      }
      write();
      drawn.push(...(door ? [group({ hover: text, door }, said)] : said));
    }
  }
  return { drawn, height: y, middle: width / 2 };
}
