// The forward pass as one SVG: a row is a token, and from left to right it goes in, becomes vectors, passes the layers and comes
// out. Narrow pages have these parts one below the other. It needs nothing else, so a saved page can contain it.
const NS = "http://www.w3.org/2000/svg";
const INK = "var(--body-text-color, #16202c)",
  QUIET = "var(--quiet, #5b6675)",
  EDGE = "var(--border-color-primary, #c9d3df)";
const ACCENT = "var(--accent, #2b6cb0)",
  PALE = "var(--ribbon, #86b3e4)",
  GREY = "#8a94a3",
  NAMED = "#d55e00";
const ON_LIGHT = { blue: [43, 108, 176], orange: [213, 94, 0] },
  ON_DARK = { blue: [125, 180, 245], orange: [245, 150, 80] };
const MONO = "IBM Plex Mono, ui-monospace, monospace",
  SANS = "IBM Plex Sans, system-ui, sans-serif";
const LABEL = 96,
  STAGE = 26,
  PITCH = 40,
  TOP = 64,
  SMALL = 13; // pixels
const USUAL = { label: LABEL, stage: STAGE, pitch: PITCH, bars: 150, heading: 14 };
const COMPACT = { label: 84, stage: 17, pitch: 27, bars: 112, heading: 12 };
const NARROW = 560,
  USUAL_FROM = 680; // widths: below the first the parts are stacked; from the second on the measures are the usual ones
const ROOM = 24,
  ROOM_FOR_SHARE = 44; // widths of a layer that has room for ribbons, and for the share of its answer beside those of others
const LEAST_OPEN = 98; // the width of the open layer
const APART = 12; // between headings
const WEAKEST = 0.03,
  WIDEST = 7; // of a ribbon: the least share of a token's attention, and the pixels of all of it
const NUMBERS = [
  "No",
  "One",
  "Two",
  "Three",
  "Four",
  "Five",
  "Six",
  "Seven",
  "Eight",
  "Nine",
  "Ten",
  "Eleven",
  "Twelve",
];

/** What draws on a *canvas*.
 *  @param {HTMLCanvasElement} canvas */
const penOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

function make(name, attributes = {}, ...children) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const write = (x, y, words, more = {}) =>
  make("text", { x, y, fill: INK, "font-family": SANS, "font-size": SMALL, ...more }, words);
/** *words*, cut to *room* characters; "" where there is room for none. */
function clip(words, room) {
  if (words.length <= room) return words;
  return room < 2 ? "" : `${words.slice(0, room - 1)}…`;
}
const letters = (pixels) => Math.floor(pixels / (0.6 * SMALL)); // of the fixed-width face

/** An image of a small *table* of numbers from -1 to 1: blue above 0, orange below, the rows apart. */
function stripes(table, { blue, orange }, place) {
  const high = 6;
  const canvas = document.createElement("canvas");
  canvas.width = table[0].length;
  canvas.height = high * table.length;
  const pen = penOf(canvas);
  table.forEach((row, y) =>
    row.forEach((value, x) => {
      const colour = value < 0 ? orange : blue;
      pen.fillStyle = `rgba(${colour.join(",")},${0.06 + 0.94 * Math.abs(value)})`;
      pen.fillRect(x, high * y, 1, high - 1);
    }),
  );
  return image(canvas, place);
}
/** An image of one head's *weights*, from 0 to 1. */
function tile(weights, { blue }, place) {
  const canvas = document.createElement("canvas");
  canvas.width = weights[0].length;
  canvas.height = weights.length;
  const pen = penOf(canvas);
  weights.forEach((row, y) =>
    row.forEach((value, x) => {
      pen.fillStyle = `rgba(${blue.join(",")},${0.04 + 0.96 * Math.sqrt(Math.max(0, value))})`;
      pen.fillRect(x, y, 1, 1);
    }),
  );
  return image(canvas, place);
}
const image = (canvas, place) =>
  make("image", {
    ...place,
    href: canvas.toDataURL(),
    preserveAspectRatio: "none",
    style: "image-rendering: pixelated",
  });

/** *figure* as an SVG of this *width*. Presses on its parts call *jump* with where they lead. */
export function draw({ data: given }, width, jump = () => {}, dark = false) {
  const data = { ...given, colours: dark ? ON_DARK : ON_LIGHT };
  const svg = make("svg", { width, style: "display: block; overflow: visible" });
  const stage = width < NARROW ? stacked(svg, data, width) : sideBySide(svg, data, width);
  svg.setAttribute("height", stage.height);
  svg.setAttribute("viewBox", `0 0 ${width} ${stage.height}`);
  follow(svg, data.highlighted);
  listen(svg, data, jump);
  return svg;
}

// What a person can press, and how one walks through it

/** A part that opens a view: its *says* explains it, its door leads there. */
function part(name, { says, door }, ...children) {
  const group = make(
    "g",
    { class: "part", role: "button", tabindex: -1, "aria-label": says, "data-part": name },
    ...children,
  );
  group.door = door;
  return group;
}

/** Let a pointer and keys go from part to part, and from token to token. */
function listen(svg, data, jump) {
  const parts = [...svg.querySelectorAll(".part")];
  const rows = data.tokens.length;
  let row = data.highlighted;
  const current = () => parts.indexOf(document.activeElement?.closest?.(".part"));
  const walk = (to) => {
    parts[Math.max(0, Math.min(parts.length - 1, to))].focus();
  };
  const show = (index) => {
    row = (index + rows) % rows;
    follow(svg, row);
  };
  parts[0]?.setAttribute("tabindex", 0);
  svg.addEventListener("click", ({ target }) => {
    const pressed = target.closest(".part");
    if (pressed) jump(pressed.door);
  });
  svg.addEventListener("pointerover", ({ target }) => {
    const over = target.closest("[data-row]");
    if (over) follow(svg, Number(over.dataset.row));
  });
  svg.addEventListener("pointerleave", () => follow(svg, row));
  svg.addEventListener("focusin", ({ target }) =>
    parts.forEach((one) => one.setAttribute("tabindex", one === target ? 0 : -1)),
  );
  svg.addEventListener("keydown", (event) => {
    const actions = {
      ArrowRight: () => walk(current() + 1),
      ArrowLeft: () => walk(current() - 1),
      Home: () => walk(0),
      End: () => walk(parts.length - 1),
      ArrowDown: () => show(row + 1),
      ArrowUp: () => show(row - 1),
      Enter: () => jump(parts[current()].door),
      " ": () => jump(parts[current()].door),
    };
    if (!(event.key in actions) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  });
}

/** Bring out what the token in *row* takes from the others. */
function follow(svg, row) {
  for (const ribbon of svg.querySelectorAll("[data-to]")) {
    const weight = Number(ribbon.dataset.weight);
    const isOwn = Number(ribbon.dataset.to) === row;
    const isSpecial = ribbon.dataset.special === "true";
    let colour = PALE;
    let opacity = isSpecial ? 0.1 : 0.1 + 0.3 * weight;
    if (isOwn) {
      colour = isSpecial ? GREY : ACCENT;
      opacity = 0.35 + 0.65 * weight;
    }
    if (ribbon.dataset.named === "true") {
      colour = NAMED;
      opacity = 0.35 + 0.65 * weight;
    }
    ribbon.setAttribute("stroke", colour);
    ribbon.setAttribute("stroke-opacity", opacity);
  }
  for (const one of svg.querySelectorAll("text[data-row]"))
    one.setAttribute("font-weight", Number(one.dataset.row) === row ? 700 : 400);
  for (const one of svg.querySelectorAll(".band"))
    one.setAttribute("opacity", Number(one.dataset.row) === row ? 0.12 : 0);
}

// The parts

const GATHERS = "in each: attention, then feed-forward";
const layerCount = ({ length }) => `${NUMBERS[length] ?? length} layer${length === 1 ? "" : "s"}`;
/** The width of *words* in the font of the page. */
function widthOf(words, size) {
  const pen = penOf(document.createElement("canvas"));
  pen.font = `700 ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(words).width;
}

/** What keeps *words* within their *room*, also in the font of a file, which may be wider. */
function within(words, size, room) {
  const width = widthOf(words, size);
  return width > 0.8 * room
    ? { textLength: Math.min(width, room), lengthAdjust: "spacingAndGlyphs" }
    : {};
}

/** A heading; one that is too wide for its *room* ends at its comma, or is drawn narrower. */
function heading(x, y, number, words, size = USUAL.heading, room = Infinity) {
  const whole = `${number} · ${words}`;
  const line = widthOf(whole, size) > room ? whole.split(",")[0] : whole;
  return write(x, y, line, { "font-weight": 700, "font-size": size, ...within(line, size, room) });
}
const middle = (data, top, row) => top + data.row * (row + 0.5);

/** The names of the tokens, which end at *x*. */
function names(data, x, top, anchor = "end") {
  const { tokens, others } = data;
  const style = { "font-family": MONO, "text-anchor": anchor, "dominant-baseline": "central" };
  const rows = tokens.map(({ text, special }, row) =>
    write(x, middle(data, top, row), text, {
      ...style,
      fill: special ? QUIET : INK,
      "data-row": row,
    }),
  );
  if (others)
    rows.push(
      write(x, middle(data, top, tokens.length), `${others} others`, { ...style, fill: QUIET }),
    );
  return rows;
}

/** The vectors that are added, and their sum. */
function vectors({ vectors: { stages }, tokens, row, colours }, x, top, pitch, stage = STAGE) {
  const height = row * tokens.length;
  const last = stages.length - 1;
  const signBefore = (i) => {
    if (i === 0) return "";
    if (i < last) return "+";
    return i > 1 ? "=" : "→"; // the last one follows from several, or from one
  };
  return stages.flatMap(({ name, strip }, i) => {
    const at = x + i * pitch;
    const style = { "text-anchor": "middle", fill: QUIET };
    const above = top - (i % 2 ? 6 : 21); // names are on two lines by turns
    return [
      stripes(strip, colours, { x: at, y: top, width: stage, height }),
      write(at + stage / 2, above, name, { ...style, "font-size": 12 }),
      write(at - (pitch - stage) / 2, top + height / 2, signBefore(i), {
        ...style,
        "font-size": 16,
      }),
    ];
  });
}

/** What each token on the right takes from those on the left. The link that the caption names is orange. */
function ribbons({ weights, link }, data, left, right, top) {
  const bend = (right - left) * 0.45;
  const paths = [];
  weights.forEach((row, to) =>
    row.forEach((weight, from) => {
      if (weight < WEAKEST) return;
      const start = middle(data, top, from);
      const end = middle(data, top, to);
      const path = make("path", {
        d: `M${left} ${start} C${left + bend} ${start} ${right - bend} ${end} ${right} ${end}`,
        fill: "none",
        "stroke-width": Math.max(1, WIDEST * weight),
        "data-to": to,
        "data-weight": weight,
        "data-special": data.tokens[from]?.special ?? true,
        "data-named": link?.to === to && link?.from === from,
      });
      paths.push(path);
    }),
  );
  return paths;
}

/** All heads of the open layer as small pictures, each a door, in lines of *width* pixels. */
function heads({ heads: all, layers, open, colours }, x, y, width, size) {
  const { number, attention, head: named } = layers[open];
  const inLine = Math.max(1, Math.floor(width / (size + 6)));
  return all.map((weights, i) => {
    const left = x + (i % inLine) * (size + 6);
    const top = y + Math.floor(i / inLine) * (size + 20);
    const name = `${number}·${i + 1}`;
    const door = { ...attention.door, set: { ...attention.door.set, head: i + 1 } };
    const main = i + 1 === named; // the one that the caption names
    return part(
      "tile",
      { says: `Head ${name}. Press to see it alone.`, door },
      make("title", {}, `Head ${name}`),
      tile(weights, colours, { x: left, y: top, width: size, height: size }),
      make("rect", {
        x: left,
        y: top,
        width: size,
        height: size,
        fill: "none",
        stroke: main ? ACCENT : EDGE,
        "stroke-width": main ? 2.5 : 1,
      }),
      write(left + size / 2, top + size + 13, i + 1, {
        "text-anchor": "middle",
        "font-size": 12,
        fill: main ? INK : QUIET,
        "font-weight": main ? 700 : 400,
      }),
    );
  });
}

/** What the feed-forward half of the open layer does, in lines. */
function feedForward({ lengths, raised, feed_forward: { says } }, followed, x, y, room) {
  const lines = [];
  if (raised.length) lines.push(`at ${followed} this raises`);
  for (const { token, from, to } of raised) lines.push(`${token} ${from} → ${to}`);
  const [before, , after] = lengths;
  lines.push(`length of its vector: ${before} → ${after}`);
  return [
    write(x, y, "Second half: feed-forward", { "font-weight": 700 }),
    write(x, y + 16, "each word is then changed by itself", { fill: QUIET, "font-size": 12 }),
    ...lines.map((line, i) => write(x, y + 34 + 17 * i, clip(line, room), { fill: QUIET })),
    make("title", {}, says),
  ];
}

/** The answers as bars. *compact*: a share is beside its bar, not beside its token. */
function bars({ end }, x, y, width, compact = false) {
  if (!end.bars.length) return [write(x, y + 14, end.what, { fill: QUIET })];
  const room = letters(compact ? width : width - 50); // of a token
  const whole = compact ? width - 50 : width; // the pixels of the longest bar
  const longest = Math.max(...end.bars.map(({ share }) => Math.abs(share)), 1e-9);
  const parts = [write(x, y + 6, end.what, { fill: QUIET, "font-size": 12 })];
  end.bars.forEach(({ token, share, text }, i) => {
    const top = y + 38 * i;
    const part = end.scored ? Math.abs(share) / longest : share;
    parts.push(
      write(x, top + 28, clip(token, room), { "font-family": MONO }),
      write(x + width, top + (compact ? 42 : 28), text, { "text-anchor": "end", fill: QUIET }),
      make("rect", {
        x,
        y: top + 33,
        width: Math.max(1, whole * part),
        height: 7,
        fill: "#2b6cb0",
      }),
    );
  });
  return parts;
}

// Where they stand

/** One screen: the parts from left to right, and below them the open layer in detail. */
function sideBySide(svg, data, width) {
  // 1. Where the parts begin and end.
  const { tokens, layers, open, pieces, end } = data;
  const rows = tokens.length + (data.others > 0);
  const foot = TOP + data.row * rows;
  const compact = width < USUAL_FROM;
  const { label, stage, pitch, bars: room, heading: size } = compact ? COMPACT : USUAL;
  const start = label + 18; // of the vectors
  const next = start + data.vectors.stages.length * pitch + 10; // of the layers
  const last = width - room; // of the answers
  const shown = last - 16 - next;
  const wide = layers.length === 1 ? shown : Math.max(LEAST_OPEN, Math.min(0.34 * shown, 360)); // the open layer
  const each = (shown - wide) / Math.max(1, layers.length - 1); // the others
  // 2. The tokens and their vectors.
  svg.append(
    ...tokens.map((_, row) =>
      make("rect", {
        class: "band",
        "data-row": row,
        x: 0,
        y: TOP + data.row * row,
        width: last - 10,
        height: data.row,
        fill: "#2b6cb0",
        opacity: 0,
        rx: 4,
      }),
    ),
  );
  svg.append(
    part(
      "pieces",
      pieces,
      area(0, 0, label, foot),
      heading(0, 16, 1, pieces.title, size, start - APART),
      ...names(data, label, TOP),
    ),
  );
  svg.append(
    part(
      "vectors",
      data.vectors,
      area(start - 6, 0, next - start - 4, foot),
      heading(start, 16, 2, data.vectors.title, size, next - start - APART),
      ...vectors(data, start, TOP, pitch, stage),
    ),
  );
  // 3. The layers.
  svg.append(
    heading(next, 16, 3, layerCount(layers), size, last - next - APART),
    write(next, 35, clip(GATHERS, Math.floor(shown / 6)), { fill: QUIET, "font-size": 12 }),
  );
  let x = next;
  layers.forEach((layer, i) => {
    const here = i === open ? wide : each;
    svg.append(column(layer, data, x, here, foot, i === open, each));
    x += here;
  });
  const key = [
    "strips: numbers of its vector,",
    "blue above 0, orange below;",
    "orange line: the strongest link",
  ];
  key.forEach((line, i) =>
    svg.append(write(0, foot + 20 + 16 * i, line, { fill: QUIET, "font-size": 12 })),
  );
  if (layers.some(({ answer }) => answer)) {
    const style = { fill: QUIET, "text-anchor": "end", "font-size": 12 };
    svg.append(
      write(next - 8, foot + 18, compact ? "after" : "answer after", style),
      write(next - 8, foot + 34, "each layer", style),
    );
  }
  // 4. The answers, and below all the open layer in detail.
  svg.append(
    part(
      "end",
      end,
      area(last, 0, room, foot),
      heading(last, 16, 4, end.title, size, room),
      ...bars(data, last, 34, room, compact),
    ),
  );
  return { height: detail(svg, data, foot + (each < ROOM_FOR_SHARE ? 92 : 78), width) };
}

/** A transparent ground, so that a part can be pressed anywhere. */
const area = (x, y, width, height) =>
  make("rect", {
    class: "ground",
    x,
    y,
    width: Math.max(0, width),
    height,
    fill: "transparent",
    rx: 6,
  });

function headTitle({ number, head, link }) {
  const name = `layer ${number}, head ${number}·${head}`;
  return link ? `${name}: ${link.words}` : name;
}

/** One layer of the wide picture: ribbons where there is room, the vectors behind it, and the answer that it would give. *each*:
 *  the width of the layers beside it. */
function column(layer, data, x, width, foot, open, each) {
  const strip = Math.max(6, Math.min(STAGE, width * 0.35)); // the width of the vectors
  const right = x + width - strip - 4;
  const { answer, attention } = layer;
  const says = open ? attention.says : `Layer ${layer.number}. Press to open it.`;
  const body = width >= ROOM ? ribbons(layer, data, x + 3, right - 2, TOP) : [];
  const style = { "text-anchor": "middle", "font-size": 12 };
  if (open) {
    const room = width + each - 2 * APART; // up to the numbers of the layers beside it
    const name = `${layer.number}·${layer.head}`;
    const whole = layer.link ? `${name}: ${layer.link.words}` : headTitle(layer);
    const line = widthOf(whole, 12) > 1.3 * room ? name : whole;
    const look = { fill: ACCENT, "font-weight": 700, ...within(line, 12, room) };
    body.push(write(x + width / 2, TOP - 10, line, { ...style, ...look }));
  } else if (width >= 14 || layer.number % 5 === 0) {
    body.push(write(x + width / 2, TOP - 10, layer.number, { ...style, fill: QUIET }));
  }
  body.push(
    stripes(layer.strip, data.colours, {
      x: right,
      y: TOP,
      width: strip,
      height: data.row * data.tokens.length,
    }),
  );
  if (answer && width >= ROOM) {
    const middle = x + width / 2;
    const isLow = layer.number % 2 === 0; // tokens, and shares in narrow layers, are on two lines by turns
    body.push(
      write(
        middle,
        foot + (isLow ? 34 : 18),
        clip(answer.token, Math.floor((2 * width - 8) / 7.3)),
        { ...style, "font-family": MONO },
      ),
      write(middle, foot + (isLow && width < ROOM_FOR_SHARE ? 64 : 50), answer.share, {
        ...style,
        fill: QUIET,
      }),
      make("title", {}, `After layer ${layer.number}: ${answer.token}, ${answer.share}`),
    );
  }
  return part(
    open ? "attention" : "layer",
    { says, door: open ? attention.door : { set: { layer: layer.number } } },
    area(x, TOP - 26, width - 2, foot + 82 - TOP),
    ...body,
  );
}

/** The open layer below the wide picture: its heads, and its feed-forward half. Returns where it ends. */
function detail(svg, data, y, width) {
  const layer = data.layers[data.open];
  const count = data.heads.length;
  const half = Math.min(width * 0.64, Math.max(300, count * 54));
  const size = Math.max(26, Math.min(48, Math.floor(half / Math.min(count, 12)) - 6));
  const lines = Math.ceil(count / Math.max(1, Math.floor(half / (size + 6))));
  svg.append(
    write(
      0,
      y + 4,
      `Layer ${layer.number}, first half: attention (${count} head${count === 1 ? "" : "s"})`,
      { "font-weight": 700 },
    ),
    ...heads(data, 0, y + 30, half, size),
    write(0, y + 20, "each word takes in something from the others", {
      fill: QUIET,
      "font-size": 12,
    }),
  );
  svg.append(
    part(
      "feed-forward",
      layer.feed_forward,
      area(half + 10, y - 12, width - half - 10, 120),
      ...feedForward(layer, data.followed, half + 18, y + 4, 60),
    ),
  );
  return y + Math.max(30 + lines * (size + 20), 120);
}

/** A phone: the parts one below the other, one layer open. */
function stacked(svg, data, width) {
  const { tokens, layers, open, pieces, end } = data;
  const rows = tokens.length + (data.others > 0);
  const foot = 24 + TOP + data.row * rows;
  const pitch = Math.min(72, (width - LABEL - 14) / data.vectors.stages.length);
  svg.append(
    part(
      "pieces",
      pieces,
      area(0, 0, LABEL, foot),
      heading(0, 16, 1, pieces.title),
      ...names(data, LABEL, 24 + TOP),
    ),
  );
  svg.append(
    part(
      "vectors",
      data.vectors,
      area(LABEL + 6, 22, width - LABEL - 6, foot - 22),
      heading(LABEL + 14, 38, 2, data.vectors.title),
      ...vectors(data, LABEL + 14 + (pitch - STAGE) / 2, 24 + TOP, pitch),
    ),
  );
  let y = foot + 34;
  svg.append(
    heading(0, y, 3, layerCount(layers)),
    write(0, y + 19, GATHERS, { fill: QUIET, "font-size": 12 }),
  );
  y += 32;
  layers.forEach((layer, i) => {
    y = i === open ? unfolded(svg, data, layer, y, width) : folded(svg, layer, y, width);
  });
  svg.append(
    part(
      "end",
      end,
      area(0, y + 8, width, 60 + 38 * end.bars.length),
      heading(0, y + 30, 4, end.title),
      ...bars(data, 0, y + 48, width),
    ),
  );
  return { height: y + 70 + 38 * end.bars.length };
}

/** A layer of the narrow picture that is closed: its number and the answer after it. Returns where it ends. */
function folded(svg, { number, answer }, y, width) {
  const says = `Layer ${number}. Press to open it.`;
  svg.append(
    part(
      "layer",
      { says, door: { set: { layer: number } } },
      area(0, y, width, 42),
      make("line", { x1: 0, x2: width, y1: y + 43, y2: y + 43, stroke: EDGE }),
      write(0, y + 26, `Layer ${number}`),
      write(width, y + 26, answer ? `${clip(answer.token, 14)} ${answer.share} ›` : "›", {
        "text-anchor": "end",
        fill: QUIET,
      }),
    ),
  );
  return y + 44;
}

/** The open layer of the narrow picture. Returns where it ends. */
function unfolded(svg, data, layer, y, width) {
  const top = y + 34;
  const foot = top + data.row * (data.tokens.length + (data.others > 0));
  const size = 40;
  const count = Math.floor(width / (size + 6));
  const lines = Math.ceil(data.heads.length / count);
  svg.append(
    part(
      "attention",
      layer.attention,
      area(0, y, width, foot - y),
      write(0, y + 22, headTitle(layer), { "font-weight": 700, fill: ACCENT }),
      ...names(data, LABEL, top),
      ...names({ ...data, others: 0 }, width - LABEL, top, "start"),
      ...ribbons(layer, data, LABEL + 6, width - LABEL - 6, top),
    ),
  );
  svg.append(
    write(0, foot + 26, `First half: attention (${data.heads.length} heads)`, {
      "font-weight": 700,
    }),
    ...heads(data, 0, foot + 36, width, size),
  );
  const below = foot + 36 + lines * (size + 20) + 18;
  svg.append(
    part(
      "feed-forward",
      layer.feed_forward,
      area(0, below - 16, width, 120),
      ...feedForward(layer, data.followed, 0, below, letters(width) + 4),
    ),
  );
  return below + 50 + 17 * (layer.raised.length ? layer.raised.length + 1 : 0);
}

/** Draw *figure* in *host*, and again when its width changes. Below it stands what the part in focus does. */
export function open(figure, host, jump, by = 1) {
  let width = 0;
  const line = document.createElement("p");
  line.className = "says";
  line.textContent = FIRST;
  const explain = ({ target }) => {
    const over = target.closest?.(".part");
    line.textContent = over ? over.getAttribute("aria-label") : FIRST;
  };
  const redraw = () => {
    const now = Math.round(host.clientWidth);
    if (!now || now === width) return;
    width = now;
    const svg = draw(figure, Math.round(width / by), jump, host.closest(".dark") !== null);
    svg.setAttribute("width", width);
    svg.setAttribute("height", by * svg.getAttribute("height"));
    for (const kind of ["pointerover", "focusin"]) svg.addEventListener(kind, explain);
    host.replaceChildren(svg, line);
  };
  redraw();
  const observer = new ResizeObserver(redraw);
  observer.observe(host);
  return () => observer.disconnect();
}
const FIRST =
  "Point at a part to read what it does; press it to look inside. Arrow keys go from part to part and from token to token.";
