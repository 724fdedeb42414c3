// The weights as they travel, and what they are in fp32.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Weights } from "../../bertexplorer/web/static/site/weights.js";

const WIDTH = 32,
  ROWS = 320; // large enough for whole numbers
const SIZE = WIDTH * ROWS;
const TWO = 0x4000,
  HALF = 0x3800,
  LEAST = 0x0001; // as fp16

/** Weights of a large tensor and of a small one, of the numbers 1.5, -2 and the least of fp16. */
function weights(packed, large) {
  const small = Uint16Array.of(0x3e00, 0xc000, LEAST, 0);
  const bytes = new Uint8Array(large.length + 8);
  bytes.set(large);
  bytes.set(new Uint8Array(small.buffer), large.length);
  const places = [
    ["large", [ROWS, WIDTH], 0, false],
    ["small", [4], SIZE, true],
  ];
  return new Weights(bytes.buffer, { places, packed, shared: { other: "small" } });
}

/** Scales of 2, but 0.5 for the second block. */
function scales() {
  const all = new Uint16Array(SIZE / 32).fill(TWO);
  all[1] = HALF;
  return new Uint8Array(all.buffer);
}

const numbers = Int8Array.from({ length: SIZE }, (_, i) => (i % 5) - 2);

test("8 bits are whole numbers times a scale", () => {
  const read = weights("8-bit", Uint8Array.of(...new Uint8Array(numbers.buffer), ...scales()));
  assert.deepEqual([...read.tensor("large").data.subarray(0, 5)], [-4, -2, 0, 2, 4]);
  assert.deepEqual([...read.row("large", 1).subarray(0, 4)], [0, 0.5, 1, -1]); // 32 % 5 = 2
  assert.deepEqual([...read.tensor("small").data], [1.5, -2, 2 ** -24, 0]);
  assert.deepEqual(read.tensor("other"), read.tensor("small"));
});

test("12 bits have sixteenths", () => {
  const sixteenths = new Uint8Array(SIZE / 2).fill(0x84); // 4 and 8, in turn
  const parts = [...new Uint8Array(numbers.buffer), ...sixteenths, ...scales()];
  const read = weights("12-bit", Uint8Array.from(parts));
  assert.deepEqual([...read.tensor("large").data.subarray(0, 3)], [-3.5, -1, 0.5]);
  assert.deepEqual([...read.row("large", 1).subarray(0, 2)], [0.125, 0.75]);
});

test("the runtime reads a tensor at a time, and no part of one", () => {
  const read = weights("8-bit", Uint8Array.of(...new Uint8Array(numbers.buffer), ...scales()));
  const file = read.asFile();
  assert.ok(file instanceof Uint8Array);
  assert.equal(file.byteLength, 4 * (SIZE + 4));
  const small = file.subarray(4 * SIZE, 4 * (SIZE + 4));
  assert.deepEqual([...new Float32Array(small.slice().buffer)], [1.5, -2, 2 ** -24, 0]);
  assert.throws(() => file.subarray(4 * SIZE, 4 * (SIZE + 2)), /part of a tensor/);
});

test("weights of another size are refused", () => {
  assert.throws(() => weights("fp16", new Uint8Array(SIZE)), /another size/);
});
