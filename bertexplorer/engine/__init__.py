"""Running a checkpoint. Imported at first use: torch takes a second to import, and the page does not need it."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
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
    from bertexplorer.engine.multi_vector import multi_vectors
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
        fingerprint,
        kept_sentence_vectors,
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


@cache
def modules() -> dict[str, str]:
    """Name -> its module, as the imports above say, which are not run."""
    tree = ast.parse(Path(__file__).read_text("utf-8"))
    module_of: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module_of[alias.name] = node.module or ""
    return module_of


def __getattr__(name: str) -> Any:
    module = modules().get(name, "")
    if not module.startswith(f"{__name__}."):
        raise AttributeError(f"bertexplorer.engine has no {name}.")
    return getattr(import_module(module), name)
