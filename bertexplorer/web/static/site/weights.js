// The weights as they travelled: fp16, or whole numbers of 8 or 12 bits with a scale for each block of 32. They stay packed, and a
// tensor is expanded to fp32 when it is asked for: a checkpoint of 280 M parameters would take more than a gigabyte else.
import { most } from "../numbers.js";

const BLOCK = 32; // numbers that share a scale
const LARGE = 10_000; // numbers of a tensor that travels in 8 or 12 bits
const WORD_VECTORS = "encoder.embeddings.words.weight"; // in 8 bits where others have 12
const KEPT = 30_000_000; // expanded numbers that are kept

export class Weights {
  /** name of a tensor -> {shape, size, start, transposed, kind, at} */
  places = new Map();
  #packed;
  #expanded = new Map(); // name of a tensor -> its numbers, the latest last

  /** *packed*: the buffer that travelled; *about*: site.json. */
  constructor(packed, about) {
    this.#packed = packed;
    let at = 0;
    for (const [name, shape, start, transposed] of about.places) {
      const size = shape.reduce((a, b) => a * b, 1);
      const kind = kindOf(name, size, about.packed);
      this.places.set(name, { shape, size, start, transposed, kind, at });
      at += bytesOf(size, kind);
    }
    if (at !== packed.byteLength)
      throw new Error("the weights have another size than their list says");
    for (const [name, other] of Object.entries(about.shared))
      this.places.set(name, this.places.get(other));
  }

  /** The numbers of the tensor *name*, as it is stored: {data, shape, transposed}. */
  tensor(name) {
    const place = this.places.get(name);
    const data = this.#expanded.get(place) ?? this.#expand(place);
    this.#keep(place, data);
    return { data, shape: place.shape, transposed: place.transposed };
  }

  /** The numbers of row *i* of the tensor *name*, which is not transposed. */
  row(name, i) {
    const place = this.places.get(name),
      width = place.shape[1];
    return this.#expand(place, i * width, (i + 1) * width);
  }

  /** All numbers in fp32 as a file of which the runtime copies a tensor at a time. One room serves all tensors. */
  asFile() {
    const places = new Map([...this.places.values()].map((place) => [4 * place.start, place]));
    const last = [...places.values()].at(-1);
    const largest = most([...places.values()].map((place) => place.size));
    const room = new Float32Array(largest);
    return new ExpandedFile(4 * (last.start + last.size), (start) => {
      const place = places.get(start);
      return this.#expand(place, 0, place.size, room);
    });
  }

  #keep(place, data) {
    this.#expanded.delete(place);
    this.#expanded.set(place, data);
    let numbers = 0;
    for (const [other, { length }] of [...this.#expanded].reverse()) {
      numbers += length;
      if (numbers > KEPT && other !== place) this.#expanded.delete(other);
    }
  }

  /** The numbers from *from* to *to* of a tensor, in the *room* that is given or in a new one.
   *  @param {{kind: string, at: number, size: number}} place
   *  @param {Float32Array<ArrayBuffer> | null} room */
  #expand({ kind, at, size }, from = 0, to = size, room = null) {
    const packed = this.#packed;
    if (kind === "fp32") return new Float32Array(packed, at + 4 * from, to - from);
    const out = room ? room.subarray(0, to - from) : new Float32Array(to - from);
    if (kind === "fp16") {
      const half = new Uint16Array(packed, at, size);
      for (let i = from; i < to; i += 1) out[i - from] = HALVES[half[i]];
      return out;
    }
    if (kind === "8-bit") {
      const whole = new Int8Array(packed, at, size),
        scales = new Uint16Array(packed, at + size, size / BLOCK);
      for (let i = from; i < to; i += 1) out[i - from] = whole[i] * HALVES[scales[i >> 5]];
      return out;
    }
    // 12 bits: 4 more of each number follow the first 8, two numbers in a byte, in sixteenths of a scale
    const upper = new Int8Array(packed, at, size),
      lower = new Uint8Array(packed, at + size, size / 2),
      scales = new Uint16Array(packed, at + 1.5 * size, size / BLOCK);
    for (let i = from; i < to; i += 1) {
      const sixteenths = (lower[i >> 1] >> (4 * (i & 1))) & 15;
      out[i - from] = (upper[i] + sixteenths / 16) * HALVES[scales[i >> 5]];
    }
    return out;
  }
}

/** A file of which the runtime asks for its length and for one tensor after another. */
class ExpandedFile extends Uint8Array {
  #bytes;
  #tensorAt;

  constructor(bytes, tensorAt) {
    super(0);
    this.#bytes = bytes;
    this.#tensorAt = tensorAt;
  }

  get byteLength() {
    return this.#bytes;
  }

  subarray(start, end) {
    const { buffer, byteOffset, byteLength } = this.#tensorAt(start);
    if (byteLength !== end - start) throw new Error("a graph asks for a part of a tensor");
    return new Uint8Array(buffer, byteOffset, byteLength);
  }
}

/** How a tensor travels; small ones in fp16. */
function kindOf(name, size, packed) {
  if (packed === "fp32" || packed === "fp16") return packed;
  if (size < LARGE || size % BLOCK) return "fp16";
  return name === WORD_VECTORS ? "8-bit" : packed;
}

function bytesOf(size, kind) {
  const scales = 2 * (size / BLOCK);
  return { fp32: 4 * size, fp16: 2 * size, "8-bit": size + scales, "12-bit": 1.5 * size + scales }[
    kind
  ];
}

/** The number that each of the 65,536 halves stands for. */
const HALVES = Float32Array.from({ length: 65_536 }, (_, bits) => {
  const exponent = (bits >> 10) & 31,
    fraction = bits & 1023,
    sign = bits >> 15 ? -1 : 1;
  return (
    sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024))
  );
});
