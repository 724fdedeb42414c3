// What a page and its server say to each other, as the OpenAPI document describes it.
// Written by docs/api_types.py.
import type { Figure } from "./types";

export interface ViewQuestion {
  state?: {
    view?: "forward-pass" | "fill-mask" | "decoding" | "pseudo-likelihood" | "contrast" | "left-context" | "template" | "next-sentence" | "sentence-matrix" | "sentence-similarity" | "term-weights" | "late-interaction" | "whose-vectors" | "not-found" | "threshold" | "tokenization" | "input-vectors" | "nearest-pieces" | "audit" | "attention" | "query-key" | "attention-flow" | "head-roles" | "switchboard" | "bertviz" | "word-in-context" | "word-path" | "embedding-map" | "search" | "layers" | "neurons" | "answer" | "saliency" | "referee" | "masking" | "sentence-pairs" | "suite" | "probe" | "counterfactuals" | "error-analysis";
    text?: string;
    pair?: string;
    hidden?: string;
    picked?: string;
    checkpoint?: string;
    precision?: "auto" | "fp32" | "bf16";
    against?: "" | "random weights" | "another checkpoint" | "another text" | "other settings" | "its training";
    other?: string;
    options?: Record<string, any>; // Settings of the view, as GET /api/v1/page lists them.
  };
  link?: string; // Instead of a state: the query of a link to the page.
  counted_in?: {
    text?: string;
    pair?: string;
  }; // The texts in which the hidden and picked spans count, if they were edited since.
  fill?: string; // A typed mask, such as 0:4-10, in whose place the best answer is wanted.
}

/** All that the page shows for a state. */
export interface ViewAnswer {
  state: State; // The state with all its settings.
  strip: Strip | null;
  notice: string; // What could not be followed in a link.
  checkpoint: Card;
  said: string; // The result in a sentence.
  receipt: Receipt;
  figure?: Figure | null; // Panels of marks, or a picture of a model.
  document?: string | null; // BertViz only: an HTML page in place of the figure.
  height?: number | null; // Pixels of the HTML page.
  cases?: Record<string, any> | null; // The table below the figure of a suite.
  beside?: Beside | null; // The other side, if the state compares.
}

/** The views, and the state with which the page opens. */
export interface Page {
  views: Record<string, View>;
  doors: Record<string, Door>;
  precisions: string[];
  comparisons: string[];
  about: [string, string[]][]; // Title and lines of each part: limits and promises.
  watch: string; // The first checkpoint of the bundled training; empty: there is none.
  opening: State;
  lessons: Record<string, LessonLink[]>; // The lessons that show a view, by view.
}

/** Characters *start* up to, not including, *end* of a text. */
export interface Span {
  side: number; // 0: the text, 1: the pair, 2: tokens of both, counted
  start: number;
  end: number;
}

/** What a run has learned so far. A chart has panels of marks; that of an old suite may be plotly's. */
export interface Report {
  run: Run;
  can: string[]; // What can be done with it: stop, resume, again, delete, try, influence …
  pace: string; // Step, learning rate, speed, memory, precision and device.
  warnings: string[];
  links: Record<string, string>[]; // title and href of its views in Explore.
  chart: Figure | null; // The curves.
  said: string; // The curves in a sentence.
  advice?: Record<string, any> | null; // What to change if it learned nothing in a few steps.
  seeds?: Record<string, any> | null; // The other seeds of the same request.
  comparable?: Record<string, string>[]; // id and name of the runs of the same task.
  compared?: Record<string, any> | null; // With beside: what differs, and whether by chance.
  best?: Record<string, any> | null; // The best checkpoint: its step, metrics and tables.
  confusion?: Figure | null; // The confusion matrix of its labels.
  labels?: string[]; // The labels of the confusion matrix, in its order.
  rows?: Record<string, any> | null; // Wrongly answered validation rows, once it has ended.
  texts?: Record<string, string>[]; // The columns of a new row to try: name and label.
  shared?: Record<string, string> | null; // The link with which others watch it: key, address, note.
  cases?: boolean; // Suite only: whether GET /api/v1/suites/{id}/table has its cases.
}

/** A started experiment and what it has found so far. */
export interface TrialReport {
  trial: Trial;
  can: string[];
  arms: Arm[];
  verdicts: string[]; // Whether the finished runs agree with the papers, and what else to know of the comparison.
  chart: Figure | null; // The curves: panels of marks.
  said: string;
  note: string;
}

export interface Tasks {
  tasks: Task[];
  settings: Setting[]; // The settings of all tasks.
}

/** An error as RFC 9457 defines it. */
export interface Problem {
  type: string; // about:blank: the status says what kind of error it is.
  title: string;
  status: number;
  detail: string; // What was given, what was wanted and what to do, in a sentence for a person.
  retry_after?: number | null; // Seconds after which to try again, also in Retry-After.
  missing?: string | null; // What the request lacks: mask, pair, checkpoint, head, tuned or class.
}

/** What the page shows, as data. Spans are written as in a link: `0:4-11,1:0-3`. */
export interface State {
  view: string;
  text: string;
  pair: string;
  hidden: string; // Spans that the checkpoint does not see.
  picked: string; // Spans that the view is about.
  checkpoint: string;
  precision: string;
  against: string; // The kind of comparison; empty: none.
  other: string; // The other side of the comparison: a checkpoint, a text or a step.
  options: Record<string, any>; // Settings of the view.
}

/** The text as tokens, each a chip. */
export interface Strip {
  press: "hide" | "pick" | ""; // What a press on a chip does; empty: nothing.
  label: string; // For screen readers.
  hint: string;
  notes: string[];
  chips: Chip[];
}

/** What the page shows of a checkpoint. */
export interface Card {
  label: string;
  facts: [string, string][]; // Name and text of each.
  layers: number;
  heads: number;
  kind: string; // The kind of answer of its fine-tuned head; empty: it has none.
  series: [string, string, number][]; // Name, label and megabytes of each checkpoint that its training saved.
}

/** What the numbers of an answer come from. */
export interface Receipt {
  short: string; // Checkpoint, precision and milliseconds.
  whole: string; // The same with revision and versions.
}

/** The other side of a compared answer. */
export interface Beside {
  name: string;
  ours: string; // The name of the first side.
  said: string;
  difference: Figure | null;
  figure: Figure | null;
}

/** A view's texts, examples and settings. */
export interface View {
  title: string;
  topic: string;
  question: string;
  note: string; // How not to misread it.
  press: "hide" | "pick" | ""; // What a press on a chip of its text does; empty: nothing.
  as_run: boolean; // Whether POST /suites/view computes it as a run.
  upload: string; // The kind of file that it reads: lines, rows, vectors or nothing.
  built_in: string; // What chooses something built in, which a file replaces; empty: nothing.
  text: boolean; // Whether it uses the text.
  checkpoint: string; // The checkpoint that it opens with; empty: the page's own.
  several: boolean; // Whether one figure compares any number of checkpoints.
  examples: Example[];
  settings: Setting[];
}

/** What many people come for. */
export interface Door {
  about: string;
  views: string[]; // It opens the first one.
}

export interface LessonLink {
  slug: string;
  title: string;
}

/** The current state of a run. */
export interface Run {
  id: string;
  name: string;
  kind: string; // finetuning, pretraining or suite
  task: string;
  state: string; // queued, starting, running, stopping, stopped, finished, failed, interrupted or deleted
  message: string; // More about its state, for people.
  status: string; // Its state, progress and message in one line.
  progress: number; // From 0 to 1.
  step: number;
  seconds_left: number | null;
  created: number; // Unix seconds.
  group: string; // Shared by the seeds of one request.
  best: string; // The name of its best checkpoint, for the field checkpoint of an analysis; or empty.
  spec: Record<string, any>; // What it learns from and how.
}

/** A started experiment in a line. */
export interface Trial {
  id: string;
  name: string;
  state: string;
  status: string;
  progress: number;
  created: number;
}

/** A run of a started experiment. */
export interface Arm {
  name: string;
  run: Run;
  measured: Record<string, number | null>; // What was measured last, and after how many tokens.
}

/** A task that a checkpoint can be fine-tuned for. */
export interface Task {
  name: string;
  title: string;
  about: string;
  columns: Record<string, any>[]; // What its rows have: name, label, info, whether optional.
  features: boolean; // Whether it can learn from further columns (the field beside of a run).
  defaults: Record<string, any>; // Defaults of the settings of all tasks that differ for this one.
  settings: Setting[]; // Its own settings.
}

/** A setting of a view or of a run, as a field of a form. */
export interface Setting {
  name: string;
  kind: string; // int, float, bool or str
  default: any;
  label: string;
  help: string;
  low: number | null;
  high: number | null;
  choices: string[];
  several: boolean; // Whether it takes several lines.
  by_page: boolean; // Whether the page sets it; a form leaves it out.
  counts: string; // The number of the checkpoint that limits it: layers, heads or nothing.
}

/** One token as the browser shows it. */
export interface Chip {
  label: string;
  title: string;
  side: number;
  word: number;
  more: boolean;
  special: boolean;
  span?: string;
  on?: boolean;
  masked?: boolean;
  typed?: boolean;
  colour?: number | null;
  cut?: number;
}

/** A text that teaches something in a view. */
export interface Example {
  label: string;
  text: string;
  pair: string;
  options: Record<string, any>; // The settings that differ from their defaults.
  picked: string;
  kind: string; // The kind of answer that the checkpoint must give; empty: any.
}
