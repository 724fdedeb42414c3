// Every head of a checkpoint on one sentence, as a ZIP of pictures with plain names: for an analysis by hand.
import { ask } from "./backend.js";
import { figuresOf, picture } from "./picture.js";
import { zip } from "./zip.js";

const WIDE = 720; // pixels of a picture

/** The archive of the heads of a *state* of Heads. *card*: the checkpoint, with its layers and heads; *question*: of the view; *tell*
 *  hears how far it is. Throws an Error with a sentence if a head cannot be drawn.
 *  @param {{state: any, card: any, question: string, tell: (words: string) => void}} given */
export async function headPictures({ state, card, question, tell }) {
  const files = [],
    total = card.layers * card.heads,
    said = [];
  for (let layer = 1; layer <= card.layers; layer++) {
    for (let head = 1; head <= card.heads; head++) {
      tell(`Head ${files.length + 1} of ${total}…`);
      const options = { ...state.options, show: "head", layer, head, heads: "" };
      const { status, answer } = await ask("view", { body: { state: { ...state, options } } });
      if (status !== 200) throw new Error(answer.detail);
      const url = await picture("png", {
        figures: figuresOf(answer),
        shown: WIDE,
        question: `Head ${layer}·${head}: ${question}`,
        above: [state.text, state.pair].filter(Boolean),
        below: [answer.receipt.whole],
      });
      const name = `layer-${two(layer)}-head-${two(head)}`;
      files.push({ name: `${name}.png`, bytes: bytesOf(url) });
      said.push(`${name}: ${answer.said}`);
    }
  }
  const about = [state.text, state.pair, card.name, "", ...said].join("\n");
  return zip([{ name: "heads.txt", bytes: new TextEncoder().encode(about) }, ...files]);
}

const two = (number) => String(number).padStart(2, "0");

/** The bytes of a data URL in base64. */
const bytesOf = (url) =>
  Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (letter) => letter.charCodeAt(0));
