"""The analyses, in the order that the command line lists them: each (Checkpoint, text, Options) -> a frozen result."""

from types import ModuleType

from bertexplorer.analysis import contrast, decoding, fill_mask, left_context, pseudo_likelihood, template

ANALYSES: tuple[ModuleType, ...] = (fill_mask, decoding, pseudo_likelihood, contrast, left_context, template)
