"""The analyses, in the order that the command line lists them: each (Checkpoint, text, Options) -> a frozen result."""

from types import ModuleType

from bertexplorer.analysis import (
    contrast,
    decoding,
    fill_mask,
    layers,
    left_context,
    next_sentence,
    pseudo_likelihood,
    sentence_matrix,
    template,
    tokenization,
)

ANALYSES: tuple[ModuleType, ...] = (
    fill_mask,
    decoding,
    pseudo_likelihood,
    contrast,
    left_context,
    template,
    next_sentence,
    sentence_matrix,
    tokenization,
    layers,
)
