// The head that gives a text a label or a score: a dense layer and an output, over the first token's vector or the mean over all
// tokens. `bert.classifier` says how, as site.json has it.
import { meanRow, range } from "../numbers.js";
import { ACTIVATIONS } from "./activations.js";
import { logSoftmax } from "./model.js";
import { Refusal } from "./refusal.js";

const NAME = "sequence_classifier";

/** A logit of each label for each of *encodings*. *heads*: as for `Bert.passes`. */
export async function labelLogits(bert, encodings, heads = null) {
  if (!bert.classifier)
    throw new Refusal(
      `${bert.name} has no fine-tuned head that a browser reads. Choose a checkpoint that gives labels or a score.`,
      "tuned",
    );
  const summaries = await bert.take(
    encodings,
    (pass) => summary(bert, pass.vectors(bert.layers)),
    heads,
  );
  return bert.linear(`${NAME}.output`, summaries);
}

/** A logit of each label after each layer, as if it were the last; before the first among them. */
export function labelLogitsByLayer(bert, pass) {
  const inner = range(bert.layers).map((layer) => bert.asRead(pass.vectors(layer)));
  const summaries = [...inner, pass.vectors(bert.layers)].map((vectors) => summary(bert, vectors));
  return bert.linear(`${NAME}.output`, summaries);
}

/** The vector of a text that the output reads, from the *vectors* of its tokens. */
function summary(bert, vectors) {
  const { pooling } = bert.classifier;
  if (pooling === "late") return meanRow(transform(bert, vectors));
  return transform(bert, [pooling === "mean" ? meanRow(vectors) : vectors[0]])[0];
}

function transform(bert, vectors) {
  const activate = ACTIVATIONS[bert.classifier.activation];
  const rows = bert.linear(`${NAME}.transform.dense`, vectors).map((row) => row.map(activate));
  return bert.norm(`${NAME}.transform.norm`, rows);
}

/** What a row of logits says of each label: its probability among all, its own yes or no, or its score. */
export function valuesOf({ classifier: { kind } }, logits) {
  if (kind === "score") return [...logits];
  if (kind === "labels") return Array.from(logits, (one) => 1 / (1 + Math.exp(-one)));
  return Array.from(logSoftmax(Float64Array.from(logits)), Math.exp);
}

/** {name, value} of what a re-ranker's files make of its score; the value is null if that function is not known here. */
export function relevanceOf({ classifier: { reranks, relevance: name } }, score) {
  if (!reranks) return null;
  return { name, value: ACTIVATIONS[name]?.(score) ?? null };
}
