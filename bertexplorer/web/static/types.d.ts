// The types of what the scripts hand to each other, for readers, editors and tsc. No browser loads this file.

import type { Figure as Marks } from "./figure_json";

export type * from "./figure_json";

/** What a link of the page says: the fields of `State` in Python. Spans are written as in a link: "0:4-11,1:0-3". */
export interface State {
  view: string;
  text: string;
  pair: string;
  hidden: string;
  picked: string;
  checkpoint: string;
  precision: string;
  against: string;
  other: string;
  options: Record<string, any>;
}

/** Characters of a text, in code points: side 0 or 1 of the pair. Side 2 counts tokens instead. */
export interface Span {
  side: number;
  start: number;
  end: number;
}

// Questions and answers

/** What is asked of a server, a kernel or a worker. */
export interface Question {
  body?: any;  // an object or a form; without it, a GET
  signal?: AbortSignal;
  tell?: (news: any) => void;  // hears what is reported before the answer
}

/** How a question ends: the status of HTTP, and the JSON, or a file as {content, name}. */
export interface Reply {
  status: number;
  answer: any;
}

export type Ask = (path: string, question?: Question) => Promise<Reply>;

/** The answer of a view, or why there is none: then it has a *detail*. */
export interface Answer {
  state?: State;
  strip?: Strip;
  notice?: string;
  checkpoint?: Card;
  said?: string;
  receipt?: { short: string; whole: string };
  figure?: Figure;
  beside?: { name: string; ours: string; said: string; figure: Figure | null; difference: Figure | null };
  recorded?: string;
  detail?: string;
  missing?: string;  // what the text or the checkpoint lacks
  words?: string[];  // above a saved figure
}

/** What a page shows of a checkpoint. */
export interface Card {
  name?: string;
  label?: string;
  facts?: [string, string][];
  layers?: number;
  heads?: number;
  packed?: string;
  provenance?: string;
}

/** The text as chips. *press*: what a press on one does. */
export interface Strip {
  press: "hide" | "pick" | "";
  label: string;
  hint: string;
  notes: string[];
  chips: Chip[];
}

export interface Chip {
  label: string;
  title: string;
  side: number;
  word: number;  // -1: of no word, or alone in it
  special: boolean;
  span: string;  // "": it cannot be pressed
  colour: number | null;  // a share, negative if it speaks against
  more?: boolean;  // it goes on with the word of the chip before
  on?: boolean;
  masked?: boolean;
  typed?: boolean;  // a mask that was typed
  cut?: number;  // tokens left out behind it
}

// The page

/** What the server says of the page. */
export interface Page {
  views: Record<string, View>;
  opening: State;
  doors?: Record<string, any>;
  site?: boolean;
  twins?: Record<string, string>;  // of a site: view -> the script that computes it
  card?: Card;
  [more: string]: any;
}

export interface View {
  title: string;
  settings: Setting[];
  examples: { label: string; text: string; pair: string; picked: string; options: Record<string, any> }[];
  text: boolean;
  press: string;
  checkpoint: string;
  offered?: boolean;  // of a site: whether a browser computes it
  [more: string]: any;
}

/** A field of a view's Options. */
export interface Setting {
  name: string;
  kind: "int" | "float" | "bool" | "str";
  default: any;
  label: string;
  help: string;
  low: number | null;
  high: number | null;
  choices: string[];
  several: boolean;
  by_page: boolean;
  counts: string;
}

// Figures

/** What a view shows: panels of marks; a picture of a model; or a chart of plotly. */
export interface Figure extends Partial<Marks> {
  picture?: any;
  data?: any;
  layout?: any;
}

// A site

/** Text or a pair as tokens: what `Tokenizer.encode` makes. Lists have an item for each token. */
export interface Encoding {
  texts: string[][];  // both sides, in characters
  tokens: string[];
  originalIds: number[];  // before anything was hidden
  ids: number[];
  segments: number[];
  spans: (Span | null)[];
  words: (number | null)[];
  special: boolean[];
  picked: number[];
  masked: number[];
  cut: number[];  // tokens left out of each side
  leftOut: number;
  secondStart: number;
  notes: string[];
}

/** The tokenizer of site.json. */
export interface Vocabulary {
  pieces: string[];
  special: Record<string, string>;
  special_ids: number[];
  [more: string]: any;
}

declare global {
  const VERSION: string;  // in sw.js, of the site
  const FILES: string[];  // in sw.js, of the site
  const SOURCES: Record<string, string>;  // in embedded_loader.js: the modules
  const ENTRY: string;  // in embedded_loader.js: the name of the first module
  const clients: Clients;  // of a service worker
  function skipWaiting(): Promise<void>;

  // What has the focus, or a place in a page, is HTML.
  interface Element {
    readonly dataset: DOMStringMap;
    hidden: boolean | string;
  }

  interface Window {
    Plotly: any;
  }
  interface Navigator {
    connection?: { saveData: boolean };
  }

  // What a selector finds here is HTML; where it is SVG, the scripts use what both have.
  interface ParentNode {
    querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
    querySelector(selectors: string): any;
    querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
    querySelectorAll(selectors: string): NodeListOf<any>;
  }
}
