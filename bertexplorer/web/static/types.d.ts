// The types of what the scripts hand to each other, for readers, editors and tsc. No browser loads this file.

import type * as api from "./api_json";
import type { Figure as Marks } from "./figure_json";

export type { Chip, Report, Run, Setting, Span, State, Strip, Task, Tasks, TrialReport, ViewAnswer } from "./api_json";
export type * from "./figure_json";

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

/** What is asked of a view. Its state may name a view of another package. */
export interface ViewQuestion extends Omit<api.ViewQuestion, "state"> {
  state?: Partial<api.State>;
}

/** The answer of a view, or why there is none: then it has a *detail*. */
export interface Answer extends Partial<Omit<api.ViewAnswer, "checkpoint">> {
  checkpoint?: Card;
  detail?: string;
  missing?: string;  // what the text or the checkpoint lacks
  recorded?: string;  // of a site: that its answer was recorded
  words?: string[];  // above a saved figure
}

/** What a page shows of a checkpoint: the server's, or that of a site. */
export interface Card extends Partial<api.Card> {
  name?: string;
  packed?: string;
  provenance?: string;
}

// The page

/** What the server says of the page, and a site of itself. */
export interface Page extends Omit<api.Page, "views"> {
  views: Record<string, View>;
  site?: boolean;
  several?: boolean;  // of a site: whether it has other checkpoints
  twins?: Record<string, string>;  // of a site: view -> the script that computes it
  card?: Card;  // of a site
}

export interface View extends api.View {
  offered?: boolean;  // of a site: whether a browser computes it
  instead?: string;  // of a site: where else it is computed
  defaults?: Record<string, any>;  // of a site: its settings
}

/** Markdown as the server reads it: text, and elements with their attributes and children. */
export type Prose = (string | [string, Record<string, string>, Prose])[];

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
