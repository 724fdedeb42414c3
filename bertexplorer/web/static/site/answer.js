// Answers: a state of the page, or a link -> all that the page shows for it, as the server's POST /api/v1/view gives it.
import { defaultsOf } from "../settings.js";
import { readSpans, shiftSpans, TOKENS, writeSpans } from "../spans.js";
import { readLink } from "./links.js";
import { Refusal, Stopped } from "./refusal.js";

/** @import { Setting, ViewQuestion } from "../types.d.ts" */

const MOST = 12; // answers that are remembered
const PRESS = {
  hide: ["Press one to hide it or to show it again.", "Click any word to hide it from BERT."],
  pick: ["Press one to pick it, with Shift to pick several.", "Click a word to look at it."],
  "": ["", ""],
};

/** Answers from *bert*. *schema*: the page's views; *load* imports the module of a view; *lines* gives uploaded lines. */
export class Answers {
  #results = new Map();

  constructor(bert, schema, load, lines) {
    this.bert = bert;
    this.schema = schema;
    this.load = load;
    this.lines = lines;
  }

  /** {status, answer} to the *body* of a question, as `parse_request` of the server reads it. */
  async view(body) {
    const { state, notice } = await this.read(body);
    const view = this.schema.views[state.view];
    const out = { state, notice, checkpoint: this.bert.card };
    let encoding = null;
    try {
      if (view.text) encoding = await this.encode(state);
      const module = await this.module(state.view);
      const started = performance.now();
      const result = await this.result(state);
      const took = performance.now() - started;
      const colours = module.colours?.(result) ?? {};
      const figure = await module.draw(result);
      out.strip = encoding && strip(this.bert, encoding, view.press, colours);
      Object.assign(out, { said: module.say(result), receipt: this.receipt(took), figure });
      if (state.against) out.beside = await this.beside(state, module);
      return { status: 200, answer: out };
    } catch (error) {
      if (error instanceof Stopped) throw error;
      if (!(error instanceof Refusal)) console.error(error);
      out.strip = encoding && strip(this.bert, encoding, view.press, {});
      out.title = "Invalid request";
      out.detail = `This view failed (${error.message}). Reload the page, or change the text.`;
      if (error instanceof Refusal) out.detail = error.message;
      if (error.missing) out.missing = error.missing;
      return { status: 422, answer: out };
    }
  }

  /** The rows of a state, with those of the other text if it is compared. */
  async rows(body) {
    const { state } = await this.read(body);
    const module = await this.module(state.view);
    const isCompared = state.against === "another text" && state.other.trim();
    if (!isCompared) return { state, rows: [...module.rows(await this.result(state))] };
    const rows = [];
    for (const side of [state, other(state)]) {
      for (const row of module.rows(await this.result(side)))
        rows.push({ side: side.text, ...row });
    }
    return { state, rows };
  }

  receipt(took) {
    const { name, packed } = this.bert.card;
    return {
      short: `${name} · ${packed} · in this browser · ${Math.round(took)} ms`,
      whole: this.bert.card.provenance,
    };
  }

  async module(view) {
    if (!this.schema.views[view].offered) throw new Refusal(this.schema.views[view].instead);
    return this.load(view);
  }

  async result(state) {
    const key = JSON.stringify([
      state.view,
      state.text,
      state.pair,
      state.hidden,
      state.picked,
      state.options,
    ]);
    if (this.#results.has(key)) return this.#results.get(key);
    const module = await this.module(state.view);
    const result = await module.run(this.bert, asText(state), this.checked(state), {
      lines: this.lines(state.options.lines),
    });
    this.#results.set(key, result);
    if (this.#results.size > MOST) this.#results.delete(this.#results.keys().next().value);
    return result;
  }

  async encode(state) {
    const module = this.schema.views[state.view].offered ? await this.module(state.view) : {},
      text = asText(state);
    if (!module.first || !text.first.includes("{")) return this.bert.tokenizer.encode(text);
    const encoding = this.bert.tokenizer.encode(module.first(this.bert, text));
    return {
      ...encoding,
      notes: [...encoding.notes, "The first of the sentences; the others are in the figure."],
    };
  }

  async beside(state, module) {
    const ours = state.text;
    if (state.against !== "another text") {
      return {
        name: state.against,
        ours,
        said: "A site compares texts. For checkpoints, settings and random weights, install the explorer.",
        figure: null,
        difference: null,
      };
    }
    if (!state.other.trim()) return undefined;
    try {
      const result = await this.result(other(state));
      const more = module.compare?.(await this.result(state), result) ?? "";
      return {
        name: state.other,
        ours,
        said: `${module.say(result)} ${more}`.trim(),
        figure: await module.draw(result),
        difference: null,
      };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { name: state.other, ours, said: error.message, figure: null, difference: null };
    }
  }

  // The question.

  /** @param {ViewQuestion} question */
  async read({ state, link, counted_in: counted, fill }) {
    if (link !== undefined) return this.follow(link);
    let now = {
      ...this.schema.opening,
      pair: "",
      against: "",
      other: "",
      hidden: "",
      picked: "",
      ...state,
      checkpoint: this.bert.card.name,
      precision: "auto",
    };
    const lost = this.lost(now.view, now.options);
    now.options = { ...this.defaults(now.view), ...this.known(now.view, now.options) };
    if (counted)
      now = this.edited(
        { ...now, text: counted.text ?? "", pair: counted.pair ?? "" },
        now.text,
        now.pair,
      );
    if (fill) now = await this.filled(now, readSpans(fill)[0]);
    return {
      state: now,
      notice: lost.length
        ? `A browser does not compute ${lost.join(" and ")}; this is without.`
        : "",
    };
  }

  /** Those of *options*, name and value, that this site lacks and that would change the answer. */
  lost(view, options = {}) {
    const { defaults } = this.schema.views[view],
      known = this.known(view, options);
    return Object.entries(options)
      .filter(([name, value]) => !Object.hasOwn(known, name) && value !== defaults[name])
      .map(([name, value]) => `${name.replaceAll("_", " ")} “${value}”`);
  }

  /** Those of *options* that this site has. */
  known(view, options = {}) {
    const settings = new Map(this.schema.views[view].settings.map((one) => [one.name, one]));
    const isKnown = ([name, value]) => {
      const setting = settings.get(name);
      return setting && (!setting.choices.length || setting.choices.includes(value));
    };
    return Object.fromEntries(Object.entries(options).filter(isKnown));
  }

  defaults(view) {
    return defaultsOf(this.schema.views[view]);
  }

  follow(link) {
    const { query, named, known, state, options: examples } = readLink(link, this.schema);
    const { settings } = this.schema.views[state.view],
      mine = this.bert.card.name;
    const options = { ...this.defaults(state.view), ...examples },
      notices = [];
    if (!known) notices.push(`There is no view '${named.slice(0, 60)}'. Pick one of those shown.`);
    try {
      for (const one of settings)
        if (query.has(one.name)) options[one.name] = check(one, query.get(one.name));
    } catch (error) {
      notices.push(`${error.message} The link's settings are left out.`);
      Object.assign(options, this.defaults(state.view));
    }
    const checkpoint = query.get("checkpoint");
    if (checkpoint && checkpoint !== mine)
      notices.push(`The link names ${checkpoint.slice(0, 60)}; this site has ${mine} alone.`);
    return {
      state: { ...state, checkpoint: mine, precision: "auto", options },
      notice: notices.join(" "),
    };
  }

  checked(state) {
    /** @type {Record<string, any>} */
    const options = {};
    for (const one of this.schema.views[state.view].settings)
      options[one.name] = check(one, state.options[one.name] ?? one.default);
    return options;
  }

  /** The state after an edit of its texts. Words stay hidden or picked if they are still there. */
  edited(state, text, pair) {
    if (state.text === text && state.pair === pair) return state;
    const prepared = (one) => {
      try {
        return [...this.bert.tokenizer.prepare(one).text];
      } catch {
        return [...one];
      }
    };
    let hidden = readSpans(state.hidden),
      picked = readSpans(state.picked).filter((span) => span.side !== TOKENS);
    [
      [state.text, text],
      [state.pair, pair],
    ].forEach(([before, after], side) => {
      const old = prepared(before),
        now = prepared(after);
      hidden = shiftSpans(hidden, side, old, now);
      picked = shiftSpans(picked, side, old, now);
    });
    return { ...state, text, pair, hidden: writeSpans(hidden), picked: writeSpans(picked) };
  }

  /** The state with the best answer in place of a typed mask. */
  async filled(state, span) {
    const encoding = this.bert.tokenizer.encode(asText(state));
    const position = encoding.masked.find(
      (at) => span && writeSpans([encoding.spans[at]]) === writeSpans([span]),
    );
    if (position === undefined) return state;
    const [[row]] = await this.bert.maskedLogProbs([encoding], [[position]]);
    const best = row.reduce((top, one, i) => (one > row[top] ? i : top), 0);
    const word = this.bert.tokenizer.join([best]).replace(/^##/, ""),
      old = encoding.texts[span.side];
    const filled = [...old.slice(0, span.start), word, ...old.slice(span.end)].join("");
    return span.side
      ? this.edited(state, state.text, filled)
      : this.edited(state, filled, state.pair);
  }
}

const other = (state) => ({
  ...state,
  text: state.other,
  hidden: "",
  picked: "",
  against: "",
  other: "",
});
const asText = ({ text, pair, hidden, picked }) => ({
  first: text,
  second: pair,
  hidden: readSpans(hidden),
  picked: readSpans(picked),
});

const KINDS = { int: "a whole number", float: "a number", bool: "yes or no", str: "text" };
const SWITCHES = { true: true, yes: true, 1: true, false: false, no: false, 0: false };
const NUMBERS = { int: /^[-+]?\d+$/, float: /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i };

/** *value* as a setting takes it.
 *  @param {Pick<Setting, "label" | "kind" | "choices" | "low" | "high">} setting */
export function check({ label, kind, choices, low, high }, value) {
  let wanted = KINDS[kind];
  if (low !== null && high !== null) wanted += ` from ${low} to ${high}`;
  if (choices.length) wanted = `one of ${choices.join(", ")}`;
  const refuse = (given = `'${String(value).slice(0, 60)}'`) => {
    throw new Refusal(`${label}: got ${given}; wanted ${wanted}.`);
  };
  if (choices.length && !choices.includes(value)) refuse();
  if (kind === "bool") {
    const word = String(value).toLowerCase();
    return Object.hasOwn(SWITCHES, word) ? SWITCHES[word] : refuse();
  }
  if (kind === "str") return String(value);
  const number = Number(value);
  if (!NUMBERS[kind].test(String(value).trim())) refuse();
  if ((low !== null && number < low) || (high !== null && number > high)) refuse(String(number));
  return number;
}

/** The label of a chip: the piece as the vocabulary spells it; for byte-level pieces, the characters. */
function labelOf(tokenizer, encoding, at) {
  if (tokenizer.kind === "WordPiece" || !encoding.spans[at]) return encoding.tokens[at];
  return tokenizer.slice(encoding, at) || tokenizer.show(encoding.originalIds[at]);
}

/** The text as chips. *press*: what a press on one does; *colours*: position -> shade. */
export function strip(bert, encoding, press, colours) {
  const { tokenizer } = bert;
  const { tokens, ids, originalIds, spans, words, segments, special, picked, cut } = encoding;
  const picks = press === "pick";
  // 1. How many pieces a word has, and which token of a side is the last.
  const sides = spans.map((span, i) => span?.side ?? segments[i]);
  const key = (i) => `${sides[i]} ${words[i]}`;
  const sizes = {};
  const last = {};
  tokens.forEach((_, i) => {
    sizes[key(i)] = (sizes[key(i)] ?? 0) + 1;
    if (spans[i]) last[spans[i].side] = i;
  });
  // 2. A chip for each token.
  const chips = spans.map((span, i) => {
    const isUnknown = ids[i] === tokenizer.unknownId || originalIds[i] === tokenizer.unknownId;
    const odd = !span || span.start === span.end || (special[i] && !isUnknown);
    const masked = ids[i] === tokenizer.maskId;
    const typed = originalIds[i] === tokenizer.maskId;
    const about = `token ${i}, id ${originalIds[i]}`;
    /** @type {import("../types.d.ts").Strip["chips"][number]} */
    const chip = {
      label: masked ? tokenizer.mask : labelOf(tokenizer, encoding, i),
      title: about,
      side: sides[i],
      word: words[i] === null || sizes[key(i)] < 2 ? -1 : words[i],
      more: i > 0 && words[i] !== null && words[i] === words[i - 1],
      special: odd,
      span: "",
      on: false,
      masked: false,
      typed: false,
      colour: null,
      cut: last[sides[i]] === i ? cut[sides[i]] : 0,
    };
    if (!press || (odd && !picks)) return chip;
    chip.span = writeSpans([odd ? { side: TOKENS, start: i, end: i + 1 } : span]);
    chip.on = picks ? picked.includes(i) : masked;
    chip.masked = masked && !picks;
    chip.typed = typed;
    if (masked && !typed) chip.title = `hidden: ${tokenizer.show(originalIds[i])}, ${about}`;
    const isTinted = colours[i] !== undefined && (picks || !masked);
    if (isTinted) chip.colour = Math.round(1000 * colours[i]) / 1000;
    return chip;
  });
  const [action, hint] = PRESS[press];
  return { press, label: `Tokens. ${action}`.trim(), hint, notes: encoding.notes, chips };
}
