// Many matrices as one picture: each is a tile of a PNG, which a browser draws ten times as fast as many plots.
import { most, range } from "../numbers.js";

/** @type {[number, string][]} */
const BLUE = [
  [0, "#eef4fb"],
  [0.5, "#a9c8ea"],
  [0.72, "#4f8fce"],
  [0.85, "#2b6cb0"],
  [1, "#12406f"],
];

const SHADES = 32,
  NUMBERS = 2_400_000; // pixels before scaling
const SIDE = 96; // pixels of a tile's longer side, at least

/** A data URI: a row of tiles for each layer, a column for each head. A shade is the root of a value's share of *top*. Gaps are
 *  transparent. */
export function tiles(every, top) {
  const step = pixelStep(every),
    pooled = every.map((layer) => layer.map((matrix) => pool(matrix, step))),
    rows = pooled[0][0].length;
  const columns = pooled[0][0][0].length;
  const scale = Math.max(1, Math.floor(SIDE / Math.max(rows, columns)));
  const gap = Math.max(2, Math.floor((columns * scale) / 24));
  const wide = columns * scale + gap;
  const tall = rows * scale + gap;
  const picture = new ImageData(every[0].length * wide, every.length * tall);
  const pixels = new Uint32Array(picture.data.buffer);
  const inks = palette();
  pooled.forEach((layer, i) =>
    layer.forEach((matrix, j) => {
      for (let y = 0; y < rows * scale; y += 1) {
        const row = matrix[Math.floor(y / scale)],
          start = (i * tall + y) * picture.width + j * wide;
        for (let x = 0; x < columns * scale; x += 1) {
          const share = Math.max(0, row[Math.floor(x / scale)]) / top;
          pixels[start + x] = inks[Math.round((SHADES - 1) * Math.sqrt(share))];
        }
      }
    }),
  );
  return png(picture);
}

/** The number of tokens that share a pixel, down and across. */
export function pixelStep(every) {
  const [layer] = every;
  const [matrix] = layer;
  const numbers = every.length * layer.length * matrix.length * matrix[0].length;
  return Math.max(1, Math.ceil(Math.sqrt(numbers / NUMBERS)));
}

/** The largest of each *step* x *step* neighbours. */
export function pool(matrix, step) {
  if (step === 1) return matrix;
  const starts = (size) => range(Math.ceil(size / step)).map((i) => i * step);
  return starts(matrix.length).map((i) =>
    starts(matrix[0].length).map((j) =>
      most(matrix.slice(i, i + step).map((row) => most(row.slice(j, j + step)))),
    ),
  );
}

async function png(picture) {
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext("2d")?.putImageData(picture, 0, 0);
  return new FileReaderSync().readAsDataURL(await canvas.convertToBlob());
}

/** The shades from light to dark blue, as numbers of four bytes: alpha, blue, green, red. */
function palette() {
  return range(SHADES).map((i) => {
    const place = i / (SHADES - 1);
    const above = Math.max(
      1,
      BLUE.findIndex(([end]) => end >= place),
    );
    const [[low, from], [high, to]] = [BLUE[above - 1], BLUE[above]];
    const share = (place - low) / (high - low);
    const channel = (at) => {
      const [a, b] = [from, to].map((name) => parseInt(name.slice(at, at + 2), 16));
      return Math.round(a + share * (b - a));
    };
    return ((255 << 24) | (channel(5) << 16) | (channel(3) << 8) | channel(1)) >>> 0;
  });
}
