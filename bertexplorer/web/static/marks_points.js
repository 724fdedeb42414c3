// Points in a plane, with lines through them and names beside those that have room.
import { penOf } from "./kit.js";
import {
  colour,
  DASHES,
  dot,
  fitting,
  ink,
  isDark,
  path,
  SMALL,
  tickBelow,
  TOKEN,
  widest,
  widthOf,
  words,
} from "./marks_parts.js";
import { least, most } from "./numbers.js";

const TALLEST = 440,
  FLATTEST = 0.62; // the height, and its least share of the width
const RADIUS = { none: 0, dot: 2, small: 3, usual: 4.5, large: 8 };
const CHOSEN = 8,
  CHOSEN_LARGE = 10; // the radius of the chosen point
const ROOM = 0.08; // beside the outermost points, of the distance between them
const MANY = 1500; // points that become one image
const NEAR = 8; // units from the pointer to a point of an image
const NAME = 130; // the most room for a name
const LINE = 16,
  BELOW = 22,
  TICK = 76; // a name; what stands below the points or beside their numbers; a number

export const numbers = ({ x, y }) => [...x, ...y];

export function draw(mark, width, { group, beside, y: title }) {
  const all = [mark, ...beside.filter(({ kind }) => kind === "points")];
  const tall = Math.round(Math.min(TALLEST, Math.max(300, FLATTEST * width)));
  const left =
    (mark.log ? widest(powersOf(all, 1).map(written), SMALL) + 10 : 0) + (title ? BELOW : 0);

  // 1. Both scales, with room around the outermost points.
  const at = mark.log ? (value) => Math.log10(Math.max(1e-9, value)) : (value) => value;
  const scale = (values, from, to) => {
    const [low, high] = [least(values), most(values)],
      room = ROOM * (high - low) || 1;
    return (value) => from + ((to - from) * (at(value) - low + room)) / (high - low + 2 * room);
  };
  const across = all.flatMap((one) => one.x).map(at),
    down = all.flatMap((one) => one.y).map(at);
  const square = mark.square ? evened(across, down, (width - left) / tall) : [across, down];
  const x = scale(square[0], left, width),
    y = scale(square[1], tall, 0);
  const drawn = mark.log ? grid(all, x, y, { left, width, tall }) : [];
  if (title)
    drawn.push(words(14, tall / 2, fitting(title, tall), { anchor: "middle", turned: -90 }));

  // 2. Lines and points, the first marks on top; very many points are one image.
  for (const one of [...all].reverse()) {
    const places = one.x.map((value, i) => [x(value), y(one.y[i])]);
    if (one.joined)
      drawn.push(
        path(
          places,
          `stroke="${colour(one.tone)}" stroke-width="2" stroke-dasharray="${DASHES[one.dash] ?? ""}"`,
        ),
      );
    if (one.size === "none") continue;
    const radius = RADIUS[one.size ?? "usual"];
    if (places.length > MANY) {
      drawn.push(cloud(one, places, radius, { width, tall, group }));
      continue;
    }
    places.forEach(([px, py], i) => {
      const shape = dot(px, py, radiusOf(one, i), fillOf(one, i)) + letterIn(one, i, px, py);
      const hover = one.hover?.[i] ?? one.names?.[i] ?? "",
        door = one.doors?.[i];
      if (hover || door)
        drawn.push(
          group({ hover, door }, [dot(px, py, Math.max(9, radius), "transparent"), shape]),
        );
      else drawn.push(`<g pointer-events="none">${shape}</g>`);
    });
  }

  // 3. The names of the chosen points, then the others, where nothing else stands.
  const named = all
    .flatMap((one) =>
      (one.names ?? []).map((name, i) => ({
        name: fitting(name, NAME, SMALL, one.tokens),
        first: i === one.chosen,
        off: radiusOf(one, i),
        tokens: one.tokens,
        place: [x(one.x[i]), y(one.y[i])],
        tone: one.tones?.[i] ?? one.tone,
      })),
    )
    .filter(({ name }) => name)
    .sort((a, b) => b.first - a.first);
  drawn.push(...placed(named, left, width, tall));
  return { drawn, height: tall + (mark.log ? BELOW : 0), middle: (left + width) / 2 };
}

function radiusOf(mark, i) {
  const radius = RADIUS[mark.size ?? "usual"];
  if (i !== mark.chosen) return radius;
  return radius < CHOSEN ? CHOSEN : CHOSEN_LARGE;
}

const toneOf = (mark, i) => colour(mark.tones?.[i] ?? mark.tone);

/** The fill of a point as attributes; a hollow one is a ring. */
function fillOf(mark, i) {
  const opacity = mark.opacity?.[i] ?? 1;
  if (mark.hollow?.[i])
    return `none" stroke-width="2" stroke="${toneOf(mark, i)}" stroke-opacity="${opacity}`;
  const edge = mark.letters ? '" stroke="#ffffff' : ""; // so that points that overlap can be told apart
  return `${toneOf(mark, i)}" fill-opacity="${opacity}${edge}`;
}

function letterIn(mark, i, x, y) {
  const style = `font-size:${SMALL}px;fill:${isDark(toneOf(mark, i)) ? "#ffffff" : "#16202c"}`;
  return words(x, y + 4, mark.letters?.[i] ?? "", { anchor: "middle", kind: "token", style });
}

/** The numbers of two axes with two more each, so that both have one scale on a drawing *wide* times as wide as high. */
function evened(across, down, wide) {
  const [fromX, toX] = [least(across), most(across)],
    [fromY, toY] = [least(down), most(down)];
  const side = Math.max((toX - fromX) / wide, toY - fromY);
  const ends = (from, to, length) => [(from + to - length) / 2, (from + to + length) / 2];
  return [ends(fromX, toX, side * wide), ends(fromY, toY, side)];
}

/** Powers of ten from 1 downwards, two decades apart, so many decades that *all* have; or *times* as far apart. */
function powersOf(all, times) {
  const lowest = Math.log10(Math.max(1e-9, least(all.flatMap((one) => [...one.x, ...one.y]))));
  return Array.from({ length: 1 + Math.floor(-lowest / (2 * times)) }, (_, i) => -2 * times * i);
}

const written = (power) => `${Number((10 ** (power + 2)).toPrecision(3))} %`.replace("e-", "e−");

/** Lines at the powers of ten, with their shares in per cent. */
function grid(all, x, y, { left, width, tall }) {
  const lines = [];
  for (const power of powersOf(all, 1)) {
    const height = y(10 ** power);
    lines.push(
      path(
        [
          [left, height],
          [width, height],
        ],
        'class="grid"',
      ),
    );
    lines.push(words(left - 6, height + 4, written(power), { anchor: "end", kind: "small" }));
  }
  const isNarrow = width - left < TICK * powersOf(all, 1).length;
  for (const power of powersOf(all, isNarrow ? 2 : 1)) {
    lines.push(
      path(
        [
          [x(10 ** power), 0],
          [x(10 ** power), tall],
        ],
        'class="grid"',
      ),
    );
    lines.push(tickBelow(x(10 ** power), tall + 16, written(power), width));
  }
  return lines;
}

/** Very many points as one image, in which the pointer finds the nearest. */
function cloud(mark, places, radius, { width, tall, group }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * width, 2 * tall];
  const context = penOf(canvas);
  places.forEach(([x, y], i) => {
    context.globalAlpha = mark.opacity?.[i] ?? 1;
    context.beginPath();
    context.arc(2 * x, 2 * y, 2 * radius, 0, 2 * Math.PI);
    context.fillStyle = context.strokeStyle = toneOf(mark, i);
    if (mark.hollow?.[i]) context.stroke();
    else context.fill();
  });
  const nearest = (px, py) => {
    let best = -1,
      far = NEAR ** 2;
    places.forEach(([x, y], i) => {
      const distance = (x - px * width) ** 2 + (y - py * tall) ** 2;
      if (distance < far) [best, far] = [i, distance];
    });
    return { hover: mark.hover?.[best] ?? "", door: mark.doors?.[best] };
  };
  return group({ hover: "", at: nearest }, [
    `<image href="${canvas.toDataURL()}" x="0" y="0" width="${width}" height="${tall}"/>`,
  ]);
}

/** As many of *named* as find room, by priority. */
function placed(named, left, width, tall) {
  return withRoom(named, left, width, tall).map(([{ name, tone, tokens }, box]) => {
    const style = `fill:${ink(tone)};font-size:${SMALL}px`;
    return words((box[0] + box[2]) / 2, box[3] - 4, name, {
      anchor: "middle",
      kind: tokens ? "token" : "",
      style,
    });
  });
}

/** [one, box, side] of those of *named* that have room beside their points, the first ones first. *off*: the radius of the point;
 *  *side*: an index of above, below, to the right and to the left. */
export function withRoom(named, left, width, tall) {
  const taken = named.map(({ place: [x, y], off }) => [x - off, y - off, x + off, y + off]);
  const found = [];
  for (const one of named) {
    const {
        name,
        place: [x, y],
        off,
        tokens,
      } = one,
      wide = widthOf(name, TOKEN, tokens) + 4,
      apart = off + 2;
    const boxes = [
      [x - wide / 2, y - apart - LINE],
      [x - wide / 2, y + apart],
      [x + apart, y - LINE / 2],
      [x - apart - wide, y - LINE / 2],
    ].map(([from, top]) => [from, top, from + wide, top + LINE]);
    const isFree = (box) =>
      box[0] >= left &&
      box[2] <= width &&
      box[1] >= 0 &&
      box[3] <= tall &&
      taken.every(
        (other) =>
          box[2] <= other[0] || other[2] <= box[0] || box[3] <= other[1] || other[3] <= box[1],
      );
    const side = boxes.findIndex(isFree);
    if (side < 0) continue;
    taken.push(boxes[side]);
    found.push([one, boxes[side], side]);
  }
  return found;
}
