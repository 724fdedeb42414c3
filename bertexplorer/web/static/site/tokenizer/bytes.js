// Bytes written as characters, as GPT-2 spells its vocabulary: Ġ is the space.

const SHOWN = [
  [0x21, 0x7e],
  [0xa1, 0xac],
  [0xae, 0xff],
]; // bytes that stand for themselves

const CHARACTERS = Array.from({ length: 256 }, () => "");
for (const [low, high] of SHOWN)
  for (let byte = low; byte <= high; byte += 1) CHARACTERS[byte] = String.fromCodePoint(byte);
let next = 0x100;
for (let byte = 0; byte < 256; byte += 1)
  if (!CHARACTERS[byte]) {
    CHARACTERS[byte] = String.fromCodePoint(next);
    next += 1;
  }
const BYTES = new Map(CHARACTERS.map((char, byte) => [char, byte]));
const encoder = new TextEncoder();

/** The bytes of *words* in UTF-8, as characters. */
export const byteCharacters = (words) =>
  [...encoder.encode(words)].map((byte) => CHARACTERS[byte]).join("");

/** The bytes that *characters* stand for; those of UTF-8 if one stands for none. */
export function bytesOf(characters) {
  const bytes = [...characters].map((char) => BYTES.get(char));
  return bytes.includes(undefined) ? [...encoder.encode(characters)] : bytes;
}

/** The text of *bytes*, with \ufffd for what is no UTF-8. */
export const textOf = (bytes) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
