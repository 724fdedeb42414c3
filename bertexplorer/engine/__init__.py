"""Running a checkpoint. Imported at first use: torch takes a second to import, and the page does not need it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertexplorer.engine.ablation import (
        ablated_cosines,
        ablated_head_logits,
        ablated_log_probs,
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
        head_logits,
        layer_head_logits,
        next_sentence_logits,
    )
    from bertexplorer.engine.tuned_lens import TunedLens, fit_tuned_lens, read_tuned_lens
    from bertexplorer.engine.vector_parts import Parts, token_parts
    from bertexplorer.engine.vectors import (
        mean_of_groups,
        prompt_of,
        sentence_encoder_of,
        sentence_vectors,
        similarities,
        similarity_measure,
        similarity_table,
        token_vectors,
        word_vectors,
    )

NAMES = {  # module -> what it gives
    "ablation": (
        "ablated_cosines",
        "ablated_head_logits",
        "ablated_log_probs",
        "heads_off",
        "mean_head_outputs",
        "neurons_off",
    ),
    "activations": (
        "attentions",
        "head_outputs",
        "hidden_states",
        "layer_halves",
        "queries_and_keys",
        "token_scores",
        "value_norms",
    ),
    "bi_encoder": ("layer_cosines", "pair_cosines", "select_tokens", "text_positions"),
    "inference": ("forward", "masked_log_probs"),
    "inputs": ("input_parts", "word_similarities"),
    "logit_lens": ("layer_log_probs", "state_log_probs"),
    "neurons": ("line_peaks", "neuron_activations", "states_without", "written_lengths"),
    "splade": ("term_weights",),
    "task_heads": ("head_logits", "layer_head_logits", "next_sentence_logits"),
    "tuned_lens": ("TunedLens", "fit_tuned_lens", "read_tuned_lens"),
    "vector_parts": ("Parts", "token_parts"),
    "vectors": (
        "mean_of_groups",
        "prompt_of",
        "sentence_encoder_of",
        "sentence_vectors",
        "similarities",
        "similarity_measure",
        "similarity_table",
        "token_vectors",
        "word_vectors",
    ),
}
MODULES = {name: module for module, names in NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"bertexplorer.engine has no {name}.")
    return getattr(import_module(f"bertexplorer.engine.{MODULES[name]}"), name)
