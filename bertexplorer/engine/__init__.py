"""How a forward pass is run. Loaded at first use: torch takes a second to import, and the page does not need it.

passes.py     one pass over one encoding, cached and shared by all views
run.py        how a pass is run: batches under a token budget, log-probabilities at the masks
pairs.py      the logits of next-sentence prediction, for many pairs at once
apart.py      the cosine of two texts that are read apart
logit_lens.py the hidden state of every layer through the MLM head
tuned_lens.py an affine map for each layer, fitted so that the head can read it
task_heads.py the logits of the fine-tuned heads, for many texts at once and after every layer
inputs.py     the vectors that add up to the input of the first layer
ablation.py   passes with heads switched off or replaced, many settings at once
vectors.py    vectors of the sentences, words and tokens of many texts, without storing the rest of each pass
queues.py     separate queues for quick and slow views
progress.py   how far an analysis has come, its limit, and whether anyone still waits for it
masking.py    which tokens pretraining asks the model to guess, and what replaces them
collate.py    encodings padded into batches under a token budget
gradients.py  gradients of a prediction with respect to the word vectors, in fp32
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertexplorer.engine.ablation import (
        ablated_cosines,
        ablated_log_probs,
        ablated_next_sentence,
        ablated_sequence_logits,
        ablated_token_logits,
        mean_head_outputs,
    )
    from bertexplorer.engine.apart import layer_cosines, pair_cosines, part, sides_of
    from bertexplorer.engine.inputs import input_parts, word_similarities
    from bertexplorer.engine.logit_lens import layer_log_probs
    from bertexplorer.engine.pairs import next_sentence_logits
    from bertexplorer.engine.passes import (
        attentions,
        head_outputs,
        hidden_states,
        queries_and_keys,
        scored,
        value_norms,
    )
    from bertexplorer.engine.run import forward, masked_log_probs
    from bertexplorer.engine.task_heads import layer_task_logits, sequence_logits, span_logits, token_logits
    from bertexplorer.engine.tuned_lens import TunedLens, fit_tuned_lens
    from bertexplorer.engine.vectors import sentence_vectors, token_vectors, word_vectors

__all__ = [
    "TunedLens",
    "ablated_cosines",
    "ablated_log_probs",
    "ablated_next_sentence",
    "ablated_sequence_logits",
    "ablated_token_logits",
    "attentions",
    "fit_tuned_lens",
    "forward",
    "head_outputs",
    "hidden_states",
    "input_parts",
    "layer_cosines",
    "layer_log_probs",
    "layer_task_logits",
    "masked_log_probs",
    "mean_head_outputs",
    "next_sentence_logits",
    "pair_cosines",
    "part",
    "queries_and_keys",
    "scored",
    "sentence_vectors",
    "sequence_logits",
    "sides_of",
    "span_logits",
    "token_logits",
    "token_vectors",
    "value_norms",
    "word_similarities",
    "word_vectors",
]
MODULES = {
    "TunedLens": "tuned_lens",
    "ablated_cosines": "ablation",
    "ablated_log_probs": "ablation",
    "ablated_next_sentence": "ablation",
    "ablated_sequence_logits": "ablation",
    "ablated_token_logits": "ablation",
    "attentions": "passes",
    "fit_tuned_lens": "tuned_lens",
    "forward": "run",
    "head_outputs": "passes",
    "hidden_states": "passes",
    "input_parts": "inputs",
    "layer_cosines": "apart",
    "layer_log_probs": "logit_lens",
    "layer_task_logits": "task_heads",
    "masked_log_probs": "run",
    "mean_head_outputs": "ablation",
    "next_sentence_logits": "pairs",
    "pair_cosines": "apart",
    "part": "apart",
    "queries_and_keys": "passes",
    "scored": "passes",
    "sentence_vectors": "vectors",
    "sequence_logits": "task_heads",
    "sides_of": "apart",
    "span_logits": "task_heads",
    "token_logits": "task_heads",
    "token_vectors": "vectors",
    "value_norms": "passes",
    "word_similarities": "inputs",
    "word_vectors": "vectors",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"bertexplorer.engine has no {name}.")
    return getattr(import_module(f"bertexplorer.engine.{MODULES[name]}"), name)
