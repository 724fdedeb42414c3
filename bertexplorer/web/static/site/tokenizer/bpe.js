// Byte-pair encoding: the pair of neighbours that was merged first in training is merged first (Sennrich et al., 2016).

const MANY = 2 ** 24; // more than a vocabulary has pieces
const encoder = new TextEncoder();

export class BPE {
  /** *ids*: piece -> id; *model*: that part of tokenizer.json, with merges as one list of ids: first, second, both, and so on. */
  constructor(ids, { merges, unk_token, fuse_unk, byte_fallback, ignore_merges }) {
    this.ids = ids;
    this.unknown = ids.get(unk_token);
    this.fuse = fuse_unk;
    this.whole = ignore_merges;
    this.merges = new Map(); // of the ids of a pair -> its rank and the id of both
    for (let i = 0; i < merges.length; i += 3)
      this.merges.set(merges[i] * MANY + merges[i + 1], { rank: i, id: merges[i + 2] });
    this.bytes = byte_fallback
      ? Array.from({ length: 256 }, (_, byte) =>
          ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`),
        )
      : null;
  }

  /** The pieces of a word, a list of characters: {id, start, end}. */
  pieces(chars) {
    const known = this.whole ? this.ids.get(chars.join("")) : undefined;
    if (known !== undefined) return [{ id: known, start: 0, end: chars.length }];
    return this.merged(this.single(chars));
  }

  /** Each character as a piece, or as its bytes. */
  single(chars) {
    const pieces = [];
    chars.forEach((char, start) => {
      const end = start + 1,
        id = this.ids.get(char),
        last = pieces.at(-1);
      if (id !== undefined) pieces.push({ id, start, end });
      else if (this.bytes)
        for (const byte of encoder.encode(char)) pieces.push({ id: this.bytes[byte], start, end });
      else if (this.fuse && last?.unknown) last.end = end;
      else pieces.push({ id: this.unknown, start, end, unknown: true });
    });
    return pieces;
  }

  merged(pieces) {
    // The pieces are a chain; a heap has the pairs that can be merged, the first in rank, then the leftmost, on top.
    const before = pieces.map((_, i) => i - 1),
      after = pieces.map((_, i) => i + 1),
      heap = new Heap();
    const offer = (at) => {
      const next = after[at];
      if (at < 0 || next >= pieces.length) return;
      const merge = this.merges.get(pieces[at].id * MANY + pieces[next].id);
      if (merge) heap.push({ at, ...merge });
    };
    pieces.forEach((_, at) => offer(at));
    for (let top = heap.pop(); top; top = heap.pop()) {
      const { at, id } = top,
        next = after[at];
      if (!pieces[at] || next >= pieces.length) continue;
      const now = this.merges.get(pieces[at].id * MANY + pieces[next].id);
      if (now?.id !== id) continue; // one of the two has been merged with another since
      pieces[at] = { id, start: pieces[at].start, end: pieces[next].end };
      pieces[next] = null;
      after[at] = after[next];
      if (after[at] < pieces.length) before[after[at]] = at;
      offer(before[at]);
      offer(at);
    }
    return pieces.filter(Boolean);
  }
}

/** A binary heap of merges. */
class Heap {
  items = [];

  static before = (a, b) => (a.rank === b.rank ? a.at < b.at : a.rank < b.rank);

  push(item) {
    const { items } = this;
    let at = items.length;
    items.push(item);
    while (at) {
      const parent = (at - 1) >> 1;
      if (!Heap.before(item, items[parent])) break;
      items[at] = items[parent];
      at = parent;
    }
    items[at] = item;
  }

  pop() {
    const { items } = this,
      top = items[0],
      item = items.pop();
    if (!items.length) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && Heap.before(items[child + 1], items[child])) child += 1;
      if (!Heap.before(items[child], item)) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = item;
    return top;
  }
}
