"""Running a checkpoint. Imported at first use: torch takes a second to import, and the page does not need it.

activations.py  hidden states, attention and head outputs of one encoding: one pass, cached and shared by all views
inference.py    batches under a token budget, and log-probabilities at the masks
collate.py      encodings padded into batches
task_heads.py   logits of next-sentence prediction and of the fine-tuned heads, also after every layer
bi_encoder.py   the cosine of two texts, each encoded alone
vectors.py      vectors of sentences, words and tokens of many texts, without storing the rest of each pass
neurons.py      activations of neurons, what each writes, and the lines that move it most
splade.py       how much a text weighs for each piece of the vocabulary, by the MLM head
vector_parts.py what each token adds to the vector of its text
inputs.py       the vectors that add up to the input of the first layer
logit_lens.py   the hidden state of every layer through the MLM head
tuned_lens.py   an affine map for each layer, fitted so that the head can read it
gradients.py    gradients of a prediction with respect to the word vectors and the neurons, in fp32
ablation.py     passes with heads or neurons switched off or replaced, many settings at once
masking.py      which tokens pretraining asks the model to predict, and what replaces them
queues.py       separate queues for quick and slow views
progress.py     the progress of an analysis, its limit, and whether anyone still waits for it
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
        heads_off,
        mean_head_outputs,
        neurons_off,
    )
    from bertexplorer.engine.activations import (
        attentions,
        head_outputs,
        hidden_states,
        layer_halves,
        queries_and_keys,
        token_scores,
        value_norms,
    )
    from bertexplorer.engine.bi_encoder import layer_cosines, pair_cosines, select_tokens, text_positions
    from bertexplorer.engine.inference import forward, masked_log_probs
    from bertexplorer.engine.inputs import input_parts, word_similarities
    from bertexplorer.engine.logit_lens import layer_log_probs, state_log_probs
    from bertexplorer.engine.neurons import line_peaks, neuron_activations, states_without, written_lengths
    from bertexplorer.engine.splade import term_weights
    from bertexplorer.engine.task_heads import (
        layer_task_logits,
        next_sentence_logits,
        sequence_logits,
        span_logits,
        token_logits,
    )
    from bertexplorer.engine.tuned_lens import TunedLens, fit_tuned_lens, read_tuned_lens
    from bertexplorer.engine.vector_parts import Parts, token_parts
    from bertexplorer.engine.vectors import (
        prompt_of,
        sentence_encoder_of,
        sentence_vectors,
        similarities,
        similarity_measure,
        similarity_table,
        token_vectors,
        word_vectors,
    )

__all__ = [
    "Parts",
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
    "heads_off",
    "hidden_states",
    "input_parts",
    "layer_cosines",
    "layer_halves",
    "layer_log_probs",
    "line_peaks",
    "neuron_activations",
    "states_without",
    "written_lengths",
    "layer_task_logits",
    "masked_log_probs",
    "neurons_off",
    "mean_head_outputs",
    "next_sentence_logits",
    "pair_cosines",
    "prompt_of",
    "select_tokens",
    "queries_and_keys",
    "read_tuned_lens",
    "token_scores",
    "sentence_encoder_of",
    "sentence_vectors",
    "sequence_logits",
    "similarities",
    "similarity_measure",
    "similarity_table",
    "text_positions",
    "span_logits",
    "state_log_probs",
    "term_weights",
    "token_logits",
    "token_parts",
    "token_vectors",
    "value_norms",
    "word_similarities",
    "word_vectors",
]
MODULES = {
    "Parts": "vector_parts",
    "TunedLens": "tuned_lens",
    "ablated_cosines": "ablation",
    "ablated_log_probs": "ablation",
    "ablated_next_sentence": "ablation",
    "ablated_sequence_logits": "ablation",
    "ablated_token_logits": "ablation",
    "attentions": "activations",
    "fit_tuned_lens": "tuned_lens",
    "forward": "inference",
    "head_outputs": "activations",
    "heads_off": "ablation",
    "hidden_states": "activations",
    "input_parts": "inputs",
    "layer_cosines": "bi_encoder",
    "layer_halves": "activations",
    "layer_log_probs": "logit_lens",
    "line_peaks": "neurons",
    "neuron_activations": "neurons",
    "states_without": "neurons",
    "written_lengths": "neurons",
    "layer_task_logits": "task_heads",
    "masked_log_probs": "inference",
    "mean_head_outputs": "ablation",
    "neurons_off": "ablation",
    "next_sentence_logits": "task_heads",
    "pair_cosines": "bi_encoder",
    "prompt_of": "vectors",
    "select_tokens": "bi_encoder",
    "queries_and_keys": "activations",
    "read_tuned_lens": "tuned_lens",
    "token_scores": "activations",
    "sentence_encoder_of": "vectors",
    "sentence_vectors": "vectors",
    "sequence_logits": "task_heads",
    "similarities": "vectors",
    "similarity_measure": "vectors",
    "similarity_table": "vectors",
    "text_positions": "bi_encoder",
    "span_logits": "task_heads",
    "state_log_probs": "logit_lens",
    "term_weights": "splade",
    "token_logits": "task_heads",
    "token_parts": "vector_parts",
    "token_vectors": "vectors",
    "value_norms": "activations",
    "word_similarities": "inputs",
    "word_vectors": "vectors",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"bertexplorer.engine has no {name}.")
    return getattr(import_module(f"bertexplorer.engine.{MODULES[name]}"), name)
