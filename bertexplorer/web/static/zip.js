// @ts-check
// A ZIP archive of files as they are (APPNOTE 4.3: stored, not compressed, as pictures are compressed already).

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** The CRC-32 of *bytes*.
 *  @param {Uint8Array} bytes */
export function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** The archive of *files*, whose names are in ASCII.
 *  @param {{name: string, bytes: Uint8Array<ArrayBuffer>}[]} files */
export function zip(files) {
  const parts = [],
    index = [];
  let offset = 0;
  for (const { name, bytes } of files) {
    const title = new TextEncoder().encode(name),
      sum = crc32(bytes);
    const shared = [
      [2, 20], // the version that is needed
      [2, 0], // flags
      [2, 0], // stored
      [2, 0], // the time: midnight
      [2, 33], // the day: 1 January 1980, as the same files make the same archive
      [4, sum],
      [4, bytes.length],
      [4, bytes.length],
      [2, title.length],
      [2, 0], // no further fields
    ];
    const head = numbers([[4, 0x04034b50], ...shared]);
    parts.push(head, title, bytes);
    index.push(
      numbers([[4, 0x02014b50], [2, 20], ...shared, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]),
      title,
    );
    offset += head.length + title.length + bytes.length;
  }
  const size = index.reduce((sum, part) => sum + part.length, 0);
  const end = numbers([
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, files.length],
    [2, files.length],
    [4, size],
    [4, offset],
    [2, 0],
  ]);
  return new Blob([...parts, ...index, end], { type: "application/zip" });
}

/** [[bytes, value], …] with the least byte first.
 *  @param {number[][]} fields */
const numbers = (fields) =>
  Uint8Array.from(
    fields.flatMap(([size, value]) =>
      Array.from({ length: size }, (_, i) => (value >>> (8 * i)) & 255),
    ),
  );
