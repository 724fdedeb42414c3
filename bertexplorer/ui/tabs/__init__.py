"""The views, left to right: each has GROUP (its topic), TITLE, QUESTION, NOTE, EXAMPLES, an analysis and its figure.
CHIPS: what a press on a chip does: "hide" its token (the same without it), "pick" it for the view to be about, or "".
"""

from types import ModuleType

from bertexplorer.ui.tabs import (
    attention,
    attention_flow,
    bertviz,
    contrast,
    decoding,
    embedding_map,
    fill_mask,
    head_roles,
    input_vectors,
    layers,
    left_context,
    masking,
    nearest_pieces,
    next_sentence,
    pseudo_likelihood,
    referee,
    saliency,
    search,
    sentence_matrix,
    sentence_pairs,
    switchboard,
    template,
    tokenization,
    word_in_context,
    word_path,
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
    input_vectors,
    nearest_pieces,
    attention,
    attention_flow,
    head_roles,
    switchboard,
    bertviz,
    word_in_context,
    word_path,
    embedding_map,
    search,
    layers,
    saliency,
    referee,
    masking,
    sentence_pairs,
)


def chips(tab: ModuleType) -> str:
    """What a press on a chip does: "hide", "pick" or ""."""
    return str(getattr(tab, "CHIPS", "hide"))


def slug(tab: ModuleType) -> str:
    """The view's name in a link and on the command line."""
    return tab.__name__.rpartition(".")[2].replace("_", "-")
