// The JSON of a figure, in which what is as usual is left out; charts/marks.py describes each field.
// Written by docs/figure_types.py.

export type Tone = "blue" | "pale" | "orange" | "green" | "grey" | "pink" | "ochre" | "sky" | "brown";
export type Palette = "shades" | "signed" | "root" | "strong" | "groups";
export type Dash = "solid" | "dash" | "dot";
export type Unit = "" | "share";
export type Door = Record<string, any>;
export type Mark = Bars | Columns | Histogram | Rule | Band | Cells | Tiles | Lines | Points | Arcs | Tokens | Spans | TextLines;

export interface Tick {
  value: number;
  tone?: Tone;
}

export interface Bar {
  label: string;
  value: number;
  text?: string;
  tone?: Tone;
  hover?: string;
  door?: Door | null;
  behind?: number | null;
  low?: number | null;
  high?: number | null;
  ticks?: Tick[];
  bold?: boolean;
  faint?: boolean;
  down?: number | null;
}

export interface Bars {
  kind: "bars";
  bars: Bar[];
  low?: number | null;
  high?: number | null;
  tokens?: boolean;
  above?: boolean;
  axis?: boolean;
  unit?: Unit;
}

export interface Columns {
  kind: "columns";
  bars: Bar[];
  low?: number | null;
  high?: number | null;
  tokens?: boolean;
}

export interface Histogram {
  kind: "histogram";
  at: ArrayLike<number>;
  values: ArrayLike<number>;
  tone?: Tone;
  hover?: string[];
  low?: number | null;
  high?: number | null;
}

export interface Rule {
  kind: "rule";
  at: number;
  tone?: Tone;
  dash?: Dash;
  label?: string;
}

export interface Band {
  kind: "band";
  low: number;
  high: number;
  label?: string;
}

export interface Cells {
  kind: "cells";
  rows: string[];
  columns: string[];
  values: ArrayLike<number | null>[];
  palette?: Palette;
  low?: number | null;
  high?: number | null;
  text?: string[][];
  hover?: string[][];
  doors?: Door[][];
  tokens?: boolean;
  framed?: [number, number][];
  crossed?: [number, number][];
  numbers?: ArrayLike<number | null>[];
  verb?: string;
  unit?: Unit;
}

export interface Tiles {
  kind: "tiles";
  picture: string;
  rows: string[];
  columns: string[];
  hover: string[][];
  doors?: Door[][];
  framed?: [number, number][];
}

export interface Line {
  name: string;
  values: ArrayLike<number>;
  end?: string | null;
  tone?: Tone;
  dash?: Dash;
  hover?: string[];
  low?: number[] | ndarray | null;
  high?: number[] | ndarray | null;
  at?: ArrayLike<number>;
  look?: "both" | "line" | "points";
  faint?: boolean;
}

export interface Lines {
  kind: "lines";
  steps: string[];
  lines: Line[];
  scale?: "linear" | "rank";
  low?: number | null;
  high?: number | null;
  chosen?: number | null;
  doors?: Door[];
  unit?: Unit;
  at_unit?: Unit;
}

export interface Points {
  kind: "points";
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  tone?: Tone;
  size?: "none" | "dot" | "small" | "usual" | "large";
  tones?: Tone[];
  opacity?: ArrayLike<number>;
  names?: string[];
  tokens?: boolean;
  letters?: string[];
  hover?: string[];
  doors?: Door[];
  chosen?: number | null;
  hollow?: boolean[];
  joined?: boolean;
  dash?: Dash;
  log?: boolean;
  square?: boolean;
  z?: ArrayLike<number>;
}

export interface Arcs {
  kind: "arcs";
  left: string[];
  right: string[];
  links: [number, number, number][];
  strong?: number[];
  notes?: string[];
  unit?: Unit;
}

export interface Token {
  text: string;
  note?: string;
  tone?: Tone;
  hover?: string;
  door?: Door | null;
}

export interface Tokens {
  kind: "tokens";
  tokens: Token[];
}

export interface MarkedSpan {
  start: number;
  end: number;
  tone?: Tone;
  hover?: string;
}

export interface Spans {
  kind: "spans";
  texts: string[];
  rows: MarkedSpan[][];
}

export interface StyledWords {
  text: string;
  tone?: Tone;
  bold?: boolean;
  door?: Door | null;
}

export interface TextLines {
  kind: "text";
  lines: (StyledWords | StyledWords[])[];
}

export interface Panel {
  marks: Mark[];
  title?: string;
  x?: string;
  y?: string;
  beside?: boolean;
  share?: number;
}

export interface Button {
  text: string;
  door: Door;
}

export interface Figure {
  marks: 1;
  panels: Panel[];
  buttons?: Button[];
}
