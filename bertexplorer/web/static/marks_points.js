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
  segment,
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
  let left = 0; // the room for numbers and for the name of the axis
  if (mark.log) left += widest(powersOf(all, 1).map(written), SMALL) + 10;
  if (title) left += BELOW;

  // 1. Both scales, with room around the outermost points.
  const at = mark.log ? (value) => Math.log10(Math.max(1e-9, value)) : (value) => value;
  const scale = (values, from, to) => {
    const low = least(values);
    const high = most(values);
    const room = ROOM * (high - low) || 1;
    return (value) => from + ((to - from) * (at(value) - low + room)) / (high - low + 2 * room);
  };
  let across = all.flatMap((one) => one.x).map(at);
  let down = all.flatMap((one) => one.y).map(at);
  if (mark.square) [across, down] = evened(across, down, (width - left) / tall);
  const x = scale(across, left, width);
  const y = scale(down, tall, 0);
  const drawn = mark.log ? grid(all, x, y, { left, width, tall }) : [];
  if (title)
    drawn.push(words(14, tall / 2, fitting(title, tall), { anchor: "middle", turned: -90 }));

  // 2. Lines and points, the first marks on top; very many points are one image.
  for (const one of [...all].reverse()) {
    const places = one.x.map((value, i) => [x(value), y(one.y[i])]);
    if (one.joined) {
      const dashes = DASHES[one.dash] ?? "";
      const look = `stroke="${colour(one.tone)}" stroke-width="2" stroke-dasharray="${dashes}"`;
      drawn.push(path(places, look));
    }
    if (one.size === "none") continue;
    const radius = RADIUS[one.size ?? "usual"];
    if (places.length > MANY) {
      drawn.push(cloud(one, places, radius, { width, tall, group }));
      continue;
    }
    places.forEach(([px, py], i) => {
      const shape = dot(px, py, radiusOf(one, i), fillOf(one, i)) + letterIn(one, i, px, py);
      const hover = one.hover?.[i] ?? one.names?.[i] ?? "";
      const door = one.doors?.[i];
      const around = dot(px, py, Math.max(9, radius), "transparent"); // easier to reach
      if (hover || door) drawn.push(group({ hover, door }, [around, shape]));
      else drawn.push(`<g pointer-events="none">${shape}</g>`);
    });
  }

  // 3. The names of the chosen points, then the others, where nothing else stands.
  const named = [];
  for (const one of all) {
    (one.names ?? []).forEach((name, i) => {
      const written = fitting(name, NAME, SMALL, one.tokens);
      if (!written) return;
      named.push({
        name: written,
        first: i === one.chosen,
        off: radiusOf(one, i),
        tokens: one.tokens,
        place: [x(one.x[i]), y(one.y[i])],
        tone: one.tones?.[i] ?? one.tone,
      });
    });
  }
  named.sort((a, b) => b.first - a.first);
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
  const [fromX, toX] = [least(across), most(across)];
  const [fromY, toY] = [least(down), most(down)];
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
  const parts = [];
  for (const power of powersOf(all, 1)) {
    const down = y(10 ** power);
    parts.push(segment([left, down], [width, down], 'class="grid"'));
    parts.push(words(left - 6, down + 4, written(power), { anchor: "end", kind: "small" }));
  }
  const isNarrow = width - left < TICK * powersOf(all, 1).length;
  for (const power of powersOf(all, isNarrow ? 2 : 1)) {
    const across = x(10 ** power);
    parts.push(segment([across, 0], [across, tall], 'class="grid"'));
    parts.push(tickBelow(across, tall + 16, written(power), width));
  }
  return parts;
}

/** Very many points as one image, in which the pointer finds the nearest. */
function cloud(mark, places, radius, { width, tall, group }) {
  const canvas = document.createElement("canvas");
  canvas.width = 2 * width;
  canvas.height = 2 * tall;
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
    let best = -1;
    let far = NEAR ** 2;
    places.forEach(([x, y], i) => {
      const distance = (x - px * width) ** 2 + (y - py * tall) ** 2;
      if (distance >= far) return;
      best = i;
      far = distance;
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
  const isInside = ([from, top, to, bottom]) =>
    from >= left && to <= width && top >= 0 && bottom <= tall;
  const isFree = (box) => isInside(box) && !taken.some((other) => overlap(box, other));
  const result = [];
  for (const one of named) {
    const [x, y] = one.place;
    const wide = widthOf(one.name, TOKEN, one.tokens) + 4;
    const apart = one.off + 2;
    const corners = [
      [x - wide / 2, y - apart - LINE],
      [x - wide / 2, y + apart],
      [x + apart, y - LINE / 2],
      [x - apart - wide, y - LINE / 2],
    ];
    const boxes = corners.map(([from, top]) => [from, top, from + wide, top + LINE]);
    const side = boxes.findIndex(isFree);
    if (side < 0) continue;
    taken.push(boxes[side]);
    result.push([one, boxes[side], side]);
  }
  return result;
}

/** Whether two boxes, [left, top, right, bottom], have a place in common. */
const overlap = (one, other) =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
