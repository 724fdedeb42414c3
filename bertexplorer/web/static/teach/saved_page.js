// What was learned and tried, as the content of an HTML file that opens anywhere.
import { h } from "../kit.js";
import { colour } from "../marks_parts.js";
import { drawing } from "../picture.js";
import { quote } from "../site/wording.js";
import { nameOf } from "./boxes.js";
import { TONES, answerSaid, fooledSaid } from "./report.js";

/** @import { Box, Rows } from "./boxes.js" */

const WIDE = 720; // pixels of a picture

/** *figures*: [title, <bx-figure>]; a hidden one is left out. *answers*: a tried sentence -> the probability of each box. *fools*: how many
 *  sentences fooled it. *by*: the encoder.
 *  @param {{boxes: Box[], rows: Rows, said: string, figures: [string, any][], answers: Map<string, number[]>, fools: number,
 *           by: {checkpoint: string, revision: string}}} given
 *  @returns {Promise<HTMLElement[]>} */
export async function savedPage({ boxes, rows, said, figures, answers, fools, by }) {
  // 1. How good it is, and the map.
  const content = [h("h1", {}, boxes.map(({ name }) => name).join(" or ")), h("p", {}, said)];
  for (const [title, place] of figures) {
    if (!place.figure || place.hidden) continue;
    const src = await drawing(place.figure, WIDE);
    content.push(h("h2", {}, title), h("img", { src, alt: place.said }));
  }

  // 2. The boxes, each under its name in its colour.
  boxes.forEach(({ name }, box) => {
    const dot = h("span", { style: `color: ${colour(TONES[box])}`, "aria-hidden": "true" }, "● ");
    const sentences = rows.sentences.filter((_, i) => rows.labels[i] === box);
    content.push(
      h("h2", {}, dot, nameOf(name, box)),
      h(
        "ul",
        {},
        sentences.map((sentence) => h("li", {}, sentence)),
      ),
    );
  });

  // 3. What was tried.
  const tried = [...answers].map(([sentence, shares]) =>
    h("li", {}, `${quote(sentence)}: ${answerSaid(boxes, shares)}`),
  );
  content.push(
    h("h2", {}, "Sentences that were tried"),
    h("ul", {}, tried),
    h("p", {}, fooledSaid(fools)),
    h("p", { class: "hint" }, `Vectors of ${by.checkpoint}, ${by.revision}.`),
  );
  return content;
}
