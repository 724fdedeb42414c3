// The decoders of a tokenizer.json, by their types: pieces -> the text that they spell.
import { bytesOf, textOf } from "./bytes.js";

const BYTE = /^<0x([0-9A-F]{2})>$/;

/** The function that joins pieces as *rules* say, a part of tokenizer.json; without rules with spaces. */
export function decoder(rules) {
  if (!rules) return (pieces) => pieces.join(" ");
  const step = KINDS[rules.type](rules);
  return (pieces) => step(pieces).join("");
}

const KINDS = {
  Sequence({ decoders }) {
    const steps = decoders.map((one) => KINDS[one.type](one));
    return (pieces) => steps.reduce((now, step) => step(now), pieces);
  },
  WordPiece({ prefix }) {
    return (pieces) =>
      pieces.map((piece, i) => {
        if (!i) return piece;
        const spaced = piece.startsWith(prefix) ? piece.slice(prefix.length) : ` ${piece}`;
        return spaced.replace(/^ (?=[.?!,])/, "");
      });
  },
  ByteLevel() {
    return (pieces) => [textOf(pieces.flatMap(bytesOf))];
  },
  Metaspace({ replacement, prepend_scheme }) {
    return (pieces) =>
      pieces.map((piece, i) =>
        piece.replaceAll(replacement, i || prepend_scheme === "never" ? " " : ""),
      );
  },
  Replace({ pattern, content }) {
    return (pieces) => pieces.map((piece) => piece.replaceAll(pattern.String, content));
  },
  ByteFallback() {
    return (pieces) => {
      const out = [];
      let bytes = [];
      const settle = () => {
        if (!bytes.length) return;
        const text = textOf(bytes);
        if (text.includes("\ufffd")) out.push(...bytes.map(() => "\ufffd"));
        else out.push(text);
        bytes = [];
      };
      for (const piece of pieces) {
        const byte = BYTE.exec(piece);
        if (byte) bytes.push(parseInt(byte[1], 16));
        else {
          settle();
          out.push(piece);
        }
      }
      settle();
      return out;
    };
  },
  Fuse() {
    return (pieces) => [pieces.join("")];
  },
  Strip({ content, start, stop }) {
    return (pieces) =>
      pieces.map((piece) => {
        const chars = [...piece];
        let from = 0,
          to = chars.length;
        while (from < start && chars[from] === content) from += 1;
        while (chars.length - to < stop && to > from && chars[to - 1] === content) to -= 1;
        return chars.slice(from, to).join("");
      });
  },
};
