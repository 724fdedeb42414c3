// The tokenizer of a checkpoint: text or a pair -> an encoding, and each piece back to its characters and its word. Positions and
// characters count from 0; characters are code points, as in the links of the page.

import { sum } from "../numbers.js";
import { overlap, TOKENS } from "../spans.js";
import { Aligned, WHITE_SPACE } from "./tokenizer/aligned.js";
import { Pipeline } from "./tokenizer/pipeline.js";
import { Refusal } from "./refusal.js";
import { languageNote } from "./small_pieces.js";

const MAX_CHARACTERS = 20_000,
  MAX_WORD = 200; // of a text; of a word to look up
const NO_MASK =
  "This checkpoint has no mask token, so no word can be hidden from it. Choose another checkpoint";
const TYPED_MASK = /\[mask\]|<mask>|_{3,}/giu;
const INVISIBLE = /(?![\t\n\r])[\p{Cc}\p{Cs}\ufeff\u200b\u2060]/gu; // but tab and line ends
const LETTER = /[\p{L}\p{N}]/u; // or digit

export class Tokenizer {
  // as the site's builder writes them
  special = {};
  special_ids = [];
  frame;
  max_tokens = 0;
  lowercase = false;
  refuses_pairs = ""; // why

  /** *about*: vocabulary, special tokens and rules, as the site's builder writes them. */
  constructor({ pieces, rules, ...about }) {
    Object.assign(this, about);
    this.vocabulary = pieces; // as the files spell them
    this.pipeline = new Pipeline(pieces, rules);
    this.kind = rules.model.type;
    this.mask = this.special.mask;
    this.unknownId = pieces.indexOf(this.special.unk);
    this.maskId = this.mask === undefined ? null : pieces.indexOf(this.mask);
    this.specialIds = new Set(this.special_ids);
    this.pieces = pieces.map((_, id) => this.show(id)); // as a person reads them
  }

  /** {text: cleaned, with this checkpoint's mask; notes: for the person}. */
  prepare(typed) {
    const length = [...typed].length;
    if (length > MAX_CHARACTERS) {
      throw new Refusal(
        `The text has ${length.toLocaleString("en")} characters; the limit is ${MAX_CHARACTERS.toLocaleString("en")}. Shorten it.`,
      );
    }
    const cleaned = typed.replace(INVISIBLE, ""),
      removed = length - [...cleaned].length;
    const notes = removed
      ? [`${removed} invisible character${removed === 1 ? "" : "s"} removed.`]
      : [];
    const special = this.special_ids
      .map((id) => this.vocabulary[id])
      .filter((token) => token !== this.mask && cleaned.includes(token));
    if (special.length) {
      notes.push(
        `${special.join(" and ")} in your text ${special.length > 1 ? "are" : "is"} read as special, not as words.`,
      );
    }
    const [typedMask] = cleaned.match(TYPED_MASK) ?? [];
    if (typedMask && !this.mask)
      throw new Refusal(`${NO_MASK}, or write a word in place of ${typedMask.slice(0, 20)}.`);
    return { text: cleaned.replace(TYPED_MASK, () => this.mask), notes };
  }

  /** The pieces of a prepared *text*: {id, start, end, word}, without the spaces before them. */
  split(text) {
    const chars = [...text];
    return this.pipeline.pieces(text).map(({ id, start, end, word }) => {
      while (start < end && isSpace(chars[start])) start += 1;
      return { id, start, end, word };
    });
  }

  /** Tokenise {first, second, hidden, picked}; at most *limit* tokens are read. */
  encode({ first, second = "", hidden = [], picked = [] }, limit = this.max_tokens) {
    // 1. The texts, and whether they can be read.
    const one = this.prepare(first);
    const other = this.prepare(second);
    if (!one.text.trim()) throw new Refusal("The text is empty. Type a sentence.");
    const two = Boolean(other.text.trim());
    if (two && this.refuses_pairs) throw new Refusal(this.refuses_pairs);
    if (hidden.length && !this.mask) throw new Refusal(`${NO_MASK}.`);
    // 2. Their pieces, as many as there is room for between the special tokens.
    const sides = [this.split(one.text)];
    if (two) sides.push(this.split(other.text));
    const frame = two ? this.frame.pair : this.frame.single;
    const room = limit - frame.filter((part) => part.id !== undefined).length;
    const lengths = sides.map((side) => side.length);
    const kept = truncate(lengths, room);
    const cut = [0, 1].map((side) => (lengths[side] ?? 0) - (kept[side] ?? 0));
    if (!kept[0])
      throw new Refusal("The text holds nothing that this checkpoint can read. Type a sentence.");
    // 3. A row for each token. The words of the second text go on counting.
    const offset = 1 + Math.max(-1, ...sides[0].slice(0, kept[0]).map((piece) => piece.word));
    const rows = [];
    for (const { id: specialId, segment, side } of frame) {
      if (specialId !== undefined) {
        rows.push({ id: specialId, segment, span: null, word: null });
        continue;
      }
      for (const { id, start, end, word } of sides[side].slice(0, kept[side]))
        rows.push({ id, segment, span: { side, start, end }, word: word + (side ? offset : 0) });
    }
    const column = (name) => rows.map((row) => row[name]);
    const originalIds = column("id");
    const spans = column("span");
    const special = originalIds.map((id) => this.specialIds.has(id) && id !== this.maskId);
    const isHidden = (i) => spans[i] && hidden.some((span) => overlap(span, spans[i]));
    const ids = originalIds.map((id, i) => {
      const canBeHidden = !special[i] || id === this.unknownId;
      return canBeHidden && isHidden(i) ? this.maskId : id;
    });
    const places = spans.map((span, i) => span ?? { side: TOKENS, start: i, end: i + 1 });
    const texts = [one.text, two ? other.text : ""].map((text) => [...text]);
    const encoding = {
      texts,
      tokens: originalIds.map((id) => this.vocabulary[id]),
      originalIds,
      ids,
      segments: column("segment"),
      spans,
      words: column("word"),
      special,
      cut,
      picked: places.flatMap((place, i) =>
        picked.some((span) => overlap(span, place)) ? [i] : [],
      ),
    };
    // 4. What a person should know.
    const notes = [...one.notes, ...other.notes];
    const total = sum(lengths) + limit - room;
    if (cut.some(Boolean))
      notes.push(
        `Shortened: ${ids.length.toLocaleString("en")} of ${total.toLocaleString("en")} tokens are read.`,
      );
    const unknown = originalIds.flatMap((id, i) =>
      id === this.unknownId ? [this.slice(encoding, i)] : [],
    );
    if (unknown.length)
      notes.push(
        `Not in the vocabulary, read as ${this.special.unk}: ${[...new Set(unknown)].join(", ")}.`,
      );
    const foreign = languageNote(encoding, this);
    if (foreign) notes.push(foreign);
    return this.complete({ ...encoding, notes: [...new Set(notes)] });
  }

  /** *encoding* with what follows from its ids. */
  complete(encoding) {
    return {
      ...encoding,
      masked: encoding.ids.flatMap((id, i) => (id === this.maskId ? [i] : [])),
      leftOut: encoding.cut[0] + encoding.cut[1],
      secondStart: encoding.spans.findIndex((span) => span?.side === 1), // -1: no token of a second text
    };
  }

  /** *encoding* with other ids at some positions: a Map. */
  withIds(encoding, changes) {
    return this.complete({ ...encoding, ids: encoding.ids.map((id, i) => changes.get(i) ?? id) });
  }

  hide(encoding, positions) {
    return this.withIds(encoding, new Map(positions.map((i) => [i, this.maskId])));
  }

  /** The characters that a piece covers; "" for [CLS] and [SEP]. */
  slice(encoding, position) {
    const span = encoding.spans[position];
    return span ? encoding.texts[span.side].slice(span.start, span.end).join("") : "";
  }

  /** The ids of *word* as written at *position* of *encoding*, after a space or not. */
  piecesAt(encoding, position, word) {
    const span = encoding.spans[position],
      before = span ? encoding.texts[span.side][span.start - 1] : " ";
    return this.piecesOf(word, before === undefined ? this.kind === "Unigram" : isSpace(before));
  }

  /** The ids of *word* after a space, or without one (*spaced* false), as after a bracket. WordPiece does not distinguish the two. */
  piecesOf(word, spaced = true) {
    if ([...word].length > MAX_WORD) {
      throw new Refusal(
        `A word of ${[...word].length.toLocaleString("en")} characters was given; the limit is ${MAX_WORD}. Shorten it.`,
      );
    }
    const cleaned = trim(word.replace(INVISIBLE, ""));
    let ids;
    if (this.kind === "Unigram" && !spaced) ids = this.pipeline.bare(cleaned);
    else {
      const written = spaced && this.kind !== "WordPiece" ? ` ${cleaned}` : cleaned;
      ids = this.split(written).map(({ id }) => id);
    }
    if (!ids.length || ids.includes(this.maskId))
      throw new Refusal(`'${cleaned}' is not a word to look up. Type a word such as 'paris'.`);
    if (ids.includes(this.unknownId)) {
      throw new Refusal(
        `'${cleaned}' is not in the vocabulary, so it has no probability. Choose another word.`,
      );
    }
    return ids;
  }

  /** The text of the pieces of one or several words, as it is written. */
  join(ids) {
    return trim(this.pipeline.decode(ids.map((id) => this.vocabulary[id])));
  }

  /** *word* as the model reads it: in lower case and without accents where the checkpoint wants that. */
  read(word) {
    return trim(`${this.pipeline.normalise(Aligned.of(word))}`);
  }

  /** A piece as a person reads it: without its mark of a space, "…" before one that continues a word. */
  show(id) {
    const piece = this.vocabulary[id] || `#${id}`;
    if (this.kind === "WordPiece" || this.specialIds.has(id)) return piece;
    const text = this.pipeline.decode([this.vocabulary[id]]),
      [first = ""] = text;
    const begins = "Ġ▁".includes([...piece][0] ?? "") || isSpace(first) || !LETTER.test(first);
    return begins ? trim(text) || quoted(text) : `…${text}`;
  }
}

/** How many tokens of each side are read: the longer side gives way first. */
function truncate(lengths, room) {
  if (lengths.length === 1) return [Math.min(lengths[0], room)];
  if (lengths[0] + lengths[1] <= room) return lengths;
  const swap = lengths[0] > lengths[1];
  let short = Math.min(...lengths),
    long = short > room ? short : Math.max(short, room - short);
  if (short + long > room) {
    short = Math.floor(room / 2);
    long = short + (room % 2);
  }
  return swap ? [long, short] : [short, long];
}

/** White space as Python has it. */
const isSpace = (char) => WHITE_SPACE.test(char) || (char >= "\x1c" && char <= "\x1f");

/** *text* without the spaces around it. */
function trim(text) {
  const chars = [...text];
  let start = 0,
    end = chars.length;
  while (start < end && isSpace(chars[start])) start += 1;
  while (end > start && isSpace(chars[end - 1])) end -= 1;
  return chars.slice(start, end).join("");
}

/** Spaces as Python's repr writes them. */
function quoted(spaces) {
  const named = { "\t": "\\t", "\n": "\\n", "\r": "\\r", " ": " " };
  const written = [...spaces].map((char) => {
    if (named[char]) return named[char];
    const code = char.codePointAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
  return `'${written.join("")}'`;
}
