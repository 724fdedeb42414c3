"""The views, left to right: each has GROUP (its topic), TITLE, QUESTION, NOTE, EXAMPLES, an analysis and its figure.
CHIPS = "pick": a press on a chip picks the token that the view is about, instead of hiding it."""

from types import ModuleType

from bertexplorer.ui.tabs import (
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

TABS: tuple[ModuleType, ...] = (
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


def picks(tab: ModuleType) -> bool:
    """Whether a press on a chip picks it; else it hides it."""
    return getattr(tab, "CHIPS", "hide") == "pick"


def slug(tab: ModuleType) -> str:
    """The view's name in a link and on the command line."""
    return tab.__name__.rpartition(".")[2].replace("_", "-")
