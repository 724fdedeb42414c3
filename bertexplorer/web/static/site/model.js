// The checkpoint in this browser: weights that travelled small, two sessions of onnxruntime-web, and what views ask of them.
import { mean, range, sum } from "../numbers.js";
import { SentenceEncoder } from "./sentence_encoder.js";
import { Tokenizer } from "./tokens.js";
import { Refusal } from "./refusal.js";
import { Weights } from "./weights.js";

const MUCH = 700e6; // bytes of memory from which on it is spared
const BUDGET = 6_000_000; // numbers of attention in one pass
const ROWS = 64; // vectors that the head reads at once
const FEW = 8; // passes asked for at once that are kept
const REMEMBERED = 30_000_000; // numbers of passes that are kept

export class Bert {
  // of the checkpoint, as site.json has them
  name = "";
  layers = 0;
  heads = 0;
  hidden_size = 0;
  word_size = 0;
  norm_eps = 0;
  rms_norm = false; // norms that neither centre nor have a bias
  pre = false; // norms come before each half of a layer, and one at the end
  activation = "";
  has = []; // its heads that predict
  /** @type {any} */
  classifier = null; // how it gives a text a label or a score
  remark = ""; // what is missing for its vectors
  /** @type {Tokenizer} */
  tokenizer;
  /** @type {SentenceEncoder} */
  sentence;
  /** @type {Weights} */
  weights;
  ort;
  pause;
  layersSession;
  readerSession; // undefined without an MLM head
  #passes = new Map(); // the ids of an encoding -> its pass, the latest last

  /** *about*: site.json; *graphs*: its ONNX files by name; *weights*: the packed weights; *ort*: onnxruntime-web; *pause*: awaited between
   *  passes with the share that is done. */
  static async open({ about, graphs, weights, ort, pause }) {
    const bert = new Bert();
    Object.assign(bert, { ...about.checkpoint, ort, pause });
    bert.tokenizer = new Tokenizer(about.tokenizer);
    bert.sentence = new SentenceEncoder(bert, about.sentence);
    bert.weights = new Weights(weights, about);
    const externalData = [{ path: "weights", data: bert.weights.asFile() }];
    const sparing = about.memory < MUCH ? "0" : "1"; // without a second copy of each matrix, which makes products quicker
    const load = (graph) =>
      ort.InferenceSession.create(graph, {
        externalData,
        executionProviders: ["wasm"],
        graphOptimizationLevel: "all",
        extra: { session: { disable_prepacking: sparing } },
      });
    bert.layersSession = await load(graphs.layers);
    bert.readerSession = graphs.reader && (await load(graphs.reader));
    return bert;
  }

  /** Whether there is a tensor *name*. */
  hasTensor(name) {
    return this.weights.places.has(name);
  }

  /** The numbers of the tensor *name*, as it is stored: {data, shape, transposed}. */
  tensor(name) {
    return this.weights.tensor(name);
  }

  /** The word vector of a piece. */
  wordVector(id) {
    return this.weights.row("encoder.embeddings.words.weight", id);
  }

  /** *x*, rows of numbers, through the linear layer *name*. */
  linear(name, x) {
    const { data, shape, transposed } = this.tensor(`${name}.weight`);
    const bias = this.hasTensor(`${name}.bias`) ? this.tensor(`${name}.bias`).data : null;
    const [out, size] = transposed ? [shape[1], shape[0]] : shape;
    const step = transposed ? out : 1; // from one number of a row of the matrix to the next
    return x.map((row) => {
      const y = new Float32Array(out);
      for (let o = 0; o < out; o += 1) {
        let total = bias ? bias[o] : 0;
        for (let i = 0, at = transposed ? o : o * size; i < size; i += 1, at += step)
          total += row[i] * data[at];
        y[o] = total;
      }
      return y;
    });
  }

  /** *x*, rows of numbers, through the layer norm *name*; as they are if there is none. */
  norm(name, x) {
    if (!this.hasTensor(`${name}.weight`)) return x;
    const { data: scale } = this.tensor(`${name}.weight`);
    const bias = this.hasTensor(`${name}.bias`) && this.tensor(`${name}.bias`).data;
    return x.map((row) => {
      const middle = this.rms_norm ? 0 : mean(row);
      const spread = Math.sqrt(mean(row.map((one) => (one - middle) ** 2)) + this.norm_eps);
      return row.map((one, i) => ((one - middle) / spread) * scale[i] + (bias ? bias[i] : 0));
    });
  }

  /** *vectors* from inside the encoder as a head reads them: those of an encoder that ends in a norm through it. */
  asRead(vectors) {
    return this.pre ? this.norm("encoder.norm", vectors) : vectors;
  }

  /** A token's vectors after each layer, that before the first among them, as a head reads them. */
  readable(pass, position) {
    const inner = range(this.layers).map((layer) => pass.vector(layer, position));
    return [...this.asRead(inner), pass.vector(this.layers, position)];
  }

  /** The pass of one encoding, from memory if it was made lately. */
  async forward(encoding) {
    return (await this.passes([encoding]))[0];
  }

  /** The passes of *encodings*; *heads*: for each a factor on each head's output, layers x heads. */
  async passes(encodings, heads = null) {
    return this.take(encodings, (pass) => pass, heads);
  }

  /** What *read* takes from each pass, without the rest of the passes, which would fill the memory. */
  async take(encodings, read, heads = null) {
    const out = [];
    for await (const [i, pass] of this.#each(encodings, heads)) out[i] = read(pass, i);
    return out;
  }

  /** The vectors after the last layer at *positions* of each encoding. */
  async #lastVectors(encodings, positions, heads) {
    return this.take(
      encodings,
      (pass, i) => positions[i].map((at) => pass.vector(this.layers, at).slice()),
      heads,
    );
  }

  /** [index, pass] of each of *encodings*, batch by batch; those of like length share a batch. */
  async *#each(encodings, heads) {
    // 1. Those that are remembered.
    const key = (one) => `${one.ids} ${one.segments}`;
    const open = []; // the indices of the others
    for (const [i, one] of encodings.entries()) {
      const kept = heads ? undefined : this.#passes.get(key(one));
      if (kept) {
        this.#remember(key(one), kept);
        yield [i, kept];
      } else open.push(i);
    }
    // 2. The others, the shortest first.
    open.sort((a, b) => encodings[a].ids.length - encodings[b].ids.length);
    const total = sum(open.map((i) => encodings[i].ids.length));
    let done = 0;
    while (open.length) {
      const batch = [open.shift()];
      let longest = encodings[batch[0]].ids.length;
      const fits = (length) =>
        (batch.length + 1) * length * length * this.layers * this.heads <= BUDGET;
      while (open.length && fits(encodings[open[0]].ids.length)) {
        batch.push(open.shift());
        longest = encodings[batch.at(-1)].ids.length;
      }
      const passes = await this.#run(
        batch.map((i) => encodings[i]),
        longest,
        heads && batch.map((i) => heads[i]),
      );
      if (!heads && encodings.length <= FEW)
        batch.forEach((i, row) => this.#remember(key(encodings[i]), passes[row]));
      for (const [row, i] of batch.entries()) yield [i, passes[row]];
      done += sum(batch.map((i) => encodings[i].ids.length));
      if (open.length) await this.pause(done / total);
    }
  }

  #remember(key, pass) {
    this.#passes.delete(key);
    this.#passes.set(key, pass);
    let numbers = 0;
    for (const [name, one] of [...this.#passes].reverse()) {
      numbers += one.weights.length + one.hidden.length;
      if (numbers > REMEMBERED && name !== key) this.#passes.delete(name);
    }
  }

  async #run(batch, tokens, heads) {
    const size = this.word_size,
      rows = batch.length,
      { Tensor } = this.ort;
    const words = new Float32Array(rows * tokens * size);
    const segments = new BigInt64Array(rows * tokens);
    const mask = new BigInt64Array(rows * tokens);
    const switches = new Float32Array(rows * this.layers * this.heads).fill(1);
    batch.forEach(({ ids, segments: given }, row) =>
      ids.forEach((id, i) => {
        words.set(this.wordVector(id), (row * tokens + i) * size);
        segments[row * tokens + i] = BigInt(given[i]);
        mask[row * tokens + i] = 1n;
      }),
    );
    heads?.forEach((one, row) => switches.set(one.flat(), row * this.layers * this.heads));
    const feeds = {
      words: new Tensor("float32", words, [rows, tokens, size]),
      segments: new Tensor("int64", segments, [rows, tokens]),
      mask: new Tensor("int64", mask, [rows, tokens]),
      heads: new Tensor("float32", switches, [rows, this.layers, this.heads]),
    };
    for (const name of Object.keys(feeds))
      if (!this.layersSession.inputNames.includes(name)) delete feeds[name];
    const { hidden, attention } = await this.layersSession.run(feeds);
    return batch.map(
      ({ ids }, row) =>
        new Pass(this, hidden.data, attention.data, { row, rows, tokens, length: ids.length }),
    );
  }

  /** Logits over the vocabulary for each of *vectors*, which the MLM head reads. */
  async logits(vectors) {
    if (!this.readerSession)
      throw new Refusal(
        `${this.name} has no head that predicts words. Choose a checkpoint with one.`,
        "head",
      );
    if (!vectors.length) return [];
    const size = this.hidden_size,
      out = [];
    for (let start = 0; start < vectors.length; start += ROWS) {
      const some = vectors.slice(start, start + ROWS),
        flat = new Float32Array(some.length * size);
      some.forEach((vector, i) => flat.set(vector, i * size));
      const { logits } = await this.readerSession.run({
        vectors: new this.ort.Tensor("float32", flat, [some.length, size]),
      });
      const width = logits.dims[1];
      some.forEach((_, i) => out.push(logits.data.subarray(i * width, (i + 1) * width)));
      if (out.length < vectors.length) await this.pause(out.length / vectors.length);
    }
    return out;
  }

  /** Their natural-log probabilities. */
  async logProbs(vectors) {
    return (await this.logits(vectors)).map(logSoftmax);
  }

  /** For each encoding, log-probabilities at its masks, or at *positions* of each. */
  async maskedLogProbs(encodings, positions = encodings.map((one) => one.masked), heads = null) {
    const rows = await this.logProbs((await this.#lastVectors(encodings, positions, heads)).flat());
    return positions.map((one) => rows.splice(0, one.length));
  }

  /** Logits of (is next, is not next) for each encoding. */
  async nextSentence(encodings, heads = null) {
    if (!this.has.includes("next_sentence")) {
      throw new Refusal(
        `${this.name} has no next-sentence head. Choose a checkpoint with one.`,
        "head",
      );
    }
    const places = encodings.map(() => [0]);
    const first = (await this.#lastVectors(encodings, places, heads)).flat();
    const pooled = this.linear("pooler.dense", first).map((row) => row.map(Math.tanh));
    return this.linear("next_sentence.output", pooled);
  }
}

/** One encoding's pass. Layer 0 of the vectors is the input of the first layer; of the attention, the first layer. */
class Pass {
  constructor(bert, hidden, attention, { row, rows, tokens, length }) {
    this.bert = bert;
    this.hidden = hidden;
    this.weights = attention;
    this.row = row;
    this.rows = rows;
    this.tokens = tokens;
    this.length = length;
  }

  /** The vector of a token after a layer. */
  vector(layer, position) {
    const size = this.bert.hidden_size,
      at = ((layer * this.rows + this.row) * this.tokens + position) * size;
    return this.hidden.subarray(at, at + size);
  }

  vectors(layer) {
    return Array.from({ length: this.length }, (_, i) => this.vector(layer, i));
  }

  /** How a token divides its attention in a head, both from 0: a weight for each token. */
  attention(layer, head, position) {
    const at =
      (((layer * this.rows + this.row) * this.bert.heads + head) * this.tokens + position) *
      this.tokens;
    return this.weights.subarray(at, at + this.length);
  }
}

export function logSoftmax(logits) {
  // with loops: a function called for each of 30,000 words is much slower
  const size = logits.length,
    out = new Float32Array(size);
  let most = -Infinity,
    total = 0;
  for (let i = 0; i < size; i += 1) if (logits[i] > most) most = logits[i];
  for (let i = 0; i < size; i += 1) total += Math.exp(logits[i] - most);
  const less = most + Math.log(total);
  for (let i = 0; i < size; i += 1) out[i] = logits[i] - less;
  return out;
}
