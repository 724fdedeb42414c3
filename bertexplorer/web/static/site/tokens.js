// The tokenizer of BERT: text or a pair -> an encoding, and each piece back to its characters and its word. Positions and
// characters count from 0; characters are code points, as in the links of the page.

import { overlap, TOKENS } from "../spans.js";
import { Refusal } from "./refusal.js";
import { languageNote } from "./small_pieces.js";

const MAX_CHARACTERS = 20_000,
  MAX_WORD = 200,
  LONGEST = 100; // of a text; of a word to look up; of a word that has pieces
const TYPED_MASK = /\[mask\]|<mask>|_{3,}/giu;
const INVISIBLE = /(?![\t\n\r])[\p{Cc}\p{Cs}\ufeff\u200b\u2060]/gu; // but tab and line ends
const CHINESE =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;

export class Tokenizer {
  // of `Vocabulary`
  pieces = [];
  special = {};
  special_ids = [];
  frame;
  max_tokens = 0;
  continuation = "";
  clean = false;
  chinese = false;
  strip_accents = false;
  lowercase = false;
  /** @type {RegExp} */
  space;
  /** @type {RegExp} */
  control;
  /** @type {RegExp} */
  marks;
  /** @type {RegExp} */
  punctuation;

  /** *about*: vocabulary, special tokens and rules, as the site's builder writes them. */
  constructor(about) {
    Object.assign(this, about);
    for (const name of ["space", "control", "marks", "punctuation"])
      this[name] = new RegExp(`[${about[name]}]`, "u");
    this.ids = new Map(this.pieces.map((piece, id) => [piece, id]));
    this.mask = this.special.mask;
    this.maskId = this.ids.get(this.mask) ?? null;
    this.unknownId = this.ids.get(this.special.unk);
    this.specialIds = new Set(this.special_ids);
    const spelt = this.special_ids.map((id) => this.pieces[id]).sort((a, b) => b.length - a.length);
    this.added = new RegExp(
      spelt.map((token) => token.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") || "(?!)",
      "gu",
    );
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
      .map((id) => this.pieces[id])
      .filter((token) => token !== this.mask && cleaned.includes(token));
    if (special.length) {
      notes.push(
        `${special.join(" and ")} in your text ${special.length > 1 ? "are" : "is"} read as special, not as words.`,
      );
    }
    return { text: cleaned.replace(TYPED_MASK, this.mask), notes };
  }

  /** The pieces of a prepared *text*: {id, start, end, word}. */
  split(text) {
    const out = [];
    let word = 0,
      at = 0,
      before = 0; // code units, code points
    const points = (part) => [...part].length;
    const plain = (part, from) => {
      for (const characters of this.words(part, from)) {
        for (const piece of this.wordPieces(characters)) out.push({ ...piece, word });
        word += 1;
      }
    };
    for (const match of text.matchAll(this.added)) {
      const part = text.slice(at, match.index);
      plain(part, before);
      before += points(part);
      const end = before + points(match[0]);
      out.push({ id: this.ids.get(match[0]), start: before, end, word });
      word += 1;
      at = match.index + match[0].length;
      before = end;
    }
    plain(text.slice(at), before);
    return out;
  }

  /** The words of *text*, each a list of {char, at}: normalised characters with the place that they come from. */
  words(text, from) {
    const words = [];
    let word = [];
    const end = () => {
      if (word.length) words.push(word);
      word = [];
    };
    [...text].forEach((char, i) => {
      const at = from + i;
      if (this.space.test(char)) {
        end();
        return;
      }
      if (this.clean && this.control.test(char)) return;
      if (this.chinese && CHINESE.test(char)) {
        end();
        words.push([{ char, at }]);
        return;
      }
      let parts = [char];
      if (this.strip_accents)
        parts = [...char.normalize("NFD")].filter((one) => !this.marks.test(one));
      if (this.lowercase) parts = parts.flatMap((one) => [...one.toLowerCase()]);
      for (const one of parts) {
        if (this.punctuation.test(one)) {
          end();
          words.push([{ char: one, at }]);
        } else word.push({ char: one, at });
      }
    });
    end();
    return words;
  }

  /** The longest pieces of the vocabulary, from the left; [UNK] for a word that has none. */
  wordPieces(word) {
    const whole = { id: this.unknownId, start: word[0].at, end: word.at(-1).at + 1 };
    if (word.length > LONGEST) return [whole];
    const pieces = [];
    for (let start = 0; start < word.length;) {
      let end = word.length,
        id;
      for (; end > start; end -= 1) {
        const letters = word
          .slice(start, end)
          .map((one) => one.char)
          .join("");
        id = this.ids.get(start ? this.continuation + letters : letters);
        if (id !== undefined) break;
      }
      if (id === undefined) return [whole];
      pieces.push({ id, start: word[start].at, end: word[end - 1].at + 1 });
      start = end;
    }
    return pieces;
  }

  /** Tokenise {first, second, hidden, picked}; at most *limit* tokens are read. */
  encode({ first, second = "", hidden = [], picked = [] }, limit = this.max_tokens) {
    const one = this.prepare(first),
      other = this.prepare(second);
    if (!one.text.trim()) throw new Refusal("The text is empty. Type a sentence.");
    const two = Boolean(other.text.trim()),
      sides = [this.split(one.text), ...(two ? [this.split(other.text)] : [])];
    const frame = two ? this.frame.pair : this.frame.single,
      room = limit - frame.filter((part) => part.id !== undefined).length;
    const kept = truncate(
      sides.map((side) => side.length),
      room,
    );
    const cut = [0, 1].map((side) => (sides[side]?.length ?? 0) - (kept[side] ?? 0));
    if (!kept[0])
      throw new Refusal("The text holds nothing that this checkpoint can read. Type a sentence.");
    const offset = 1 + Math.max(-1, ...sides[0].slice(0, kept[0]).map((piece) => piece.word));
    const rows = frame.flatMap((part) =>
      part.id !== undefined
        ? [{ id: part.id, segment: part.segment, span: null, word: null }]
        : sides[part.side].slice(0, kept[part.side]).map((piece) => ({
            id: piece.id,
            segment: part.segment,
            span: { side: part.side, start: piece.start, end: piece.end },
            word: piece.word + (part.side ? offset : 0),
          })),
    );
    const column = (name) => rows.map((row) => row[name]);
    const originalIds = column("id");
    const spans = column("span");
    const special = originalIds.map((id) => this.specialIds.has(id) && id !== this.maskId);
    const ids = originalIds.map((id, i) =>
      spans[i] &&
      !(special[i] && id !== this.unknownId) &&
      hidden.some((span) => overlap(span, spans[i]))
        ? this.maskId
        : id,
    );
    const places = spans.map((span, i) => span ?? { side: TOKENS, start: i, end: i + 1 });
    const texts = [one.text, two ? other.text : ""].map((text) => [...text]);
    const encoding = {
      texts,
      tokens: originalIds.map((id) => this.pieces[id]),
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
    const notes = [...one.notes, ...other.notes],
      total = sides[0].length + (sides[1]?.length ?? 0) + limit - room;
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

  /** The ids of *word*. */
  piecesOf(word) {
    if ([...word].length > MAX_WORD) {
      throw new Refusal(
        `A word of ${[...word].length.toLocaleString("en")} characters was given; the limit is ${MAX_WORD}. Shorten it.`,
      );
    }
    const cleaned = word.replace(INVISIBLE, "").trim(),
      ids = this.split(cleaned).map((piece) => piece.id);
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
    const parts = ids
      .map((id) => this.pieces[id])
      .map((piece, i) =>
        !i
          ? piece
          : piece.startsWith(this.continuation)
            ? piece.slice(this.continuation.length)
            : ` ${piece}`,
      );
    return parts
      .map((part) => part.replace(/^ (?=[.?!,])/, ""))
      .join("")
      .trim();
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
