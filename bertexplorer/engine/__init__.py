"""How a forward pass is run. Loaded at first use: torch takes a second to import, and the page is drawn without it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertexplorer.engine.inputs import input_parts
    from bertexplorer.engine.lens import layer_log_probs
    from bertexplorer.engine.pairs import next_sentence_logits
    from bertexplorer.engine.passes import attentions, head_outputs, hidden_states, value_norms
    from bertexplorer.engine.run import forward, masked_log_probs

__all__ = [
    "attentions",
    "forward",
    "head_outputs",
    "hidden_states",
    "input_parts",
    "layer_log_probs",
    "masked_log_probs",
    "next_sentence_logits",
    "value_norms",
]
MODULES = {
    "attentions": "passes",
    "forward": "run",
    "head_outputs": "passes",
    "hidden_states": "passes",
    "input_parts": "inputs",
    "layer_log_probs": "lens",
    "masked_log_probs": "run",
    "next_sentence_logits": "pairs",
    "value_norms": "passes",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"bertexplorer.engine has no {name}.")
    return getattr(import_module(f"bertexplorer.engine.{MODULES[name]}"), name)
