// A ZIP: its check sum against that of the specification's own example, and its bytes field by field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, zip } from "../../bertexplorer/web/static/zip.js";

test("the check value of CRC-32", () =>
  assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926));

test("an archive names each file, and where it lies", async () => {
  const text = (words) => new TextEncoder().encode(words),
    files = [
      { name: "a.txt", bytes: text("first") },
      { name: "bb.txt", bytes: text("") },
    ];
  const view = new DataView(await zip(files).arrayBuffer()),
    end = view.byteLength - 22;
  assert.equal(view.getUint32(end, true), 0x06054b50);
  assert.equal(view.getUint16(end + 10, true), 2);
  let at = view.getUint32(end + 16, true);
  for (const { name, bytes } of files) {
    assert.equal(view.getUint32(at, true), 0x02014b50);
    const local = view.getUint32(at + 42, true);
    assert.equal(view.getUint32(local, true), 0x04034b50);
    for (const [central, head] of [
      [16, 14],
      [20, 18],
      [24, 22],
    ])
      assert.equal(view.getUint32(at + central, true), view.getUint32(local + head, true));
    assert.equal(view.getUint32(local + 18, true), bytes.length);
    const start = local + 30;
    assert.equal(new TextDecoder().decode(view.buffer.slice(start, start + name.length)), name);
    at += 46 + name.length;
  }
  assert.equal(at, end);
});
