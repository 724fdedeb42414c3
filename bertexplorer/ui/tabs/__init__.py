"""The views, left to right: each has GROUP (its topic), TITLE, QUESTION, NOTE, EXAMPLES, an analysis and its figure.
CHIPS: what a press on a chip does: "hide" its token (the same without it), "pick" it for the view to be about, or "".

fill_mask.py          view: what would BERT put here?
decoding.py           view: how should several blanks be filled together?
pseudo_likelihood.py  view: how likely is this sentence, word by word?
contrast.py           view: what changes when one word of the sentence does?
left_context.py       view: what does it mean to read in both directions?
template.py           view: what does a change of one word do, case by case?
next_sentence.py      view: does B follow A?
sentence_matrix.py    view: which sentence of a paragraph follows which?
tokenization.py       view: what goes in?
input_vectors.py      view: what is added up for a token?
nearest_pieces.py     view: which tokens have similar embeddings?
attention.py          view: who looks at whom?
attention_flow.py     view: where does a token come from?
head_roles.py         view: what does each head do?
switchboard.py        view: which heads does the answer need?
bertviz.py            view: what do the heads look like in BertViz?
word_in_context.py    view: where does this word live?
word_path.py          view: where does a word go on its way through the layers?
embedding_map.py      view: what lies near what?
search.py             view: which lines mean something like this?
saliency.py           view: which words mattered?
referee.py            view: which explanation holds?
masking.py            view: how does it learn without answers?
sentence_pairs.py     view: what is “next sentence” made from?
layers.py             view: when does BERT make up its mind?
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from bertexplorer.analysis import NAMES


def __getattr__(name: str) -> Any:
    """TABS, a module for each analysis and in the same order; imported at first use."""
    if name != "TABS":
        raise AttributeError(f"bertexplorer.ui.tabs has no {name}.")
    return tuple(import_module(f"{__name__}.{module}") for module in NAMES)


def chips(tab: ModuleType) -> str:
    """What a press on a chip does: "hide", "pick" or ""."""
    return str(getattr(tab, "CHIPS", "hide"))


def slug(tab: ModuleType) -> str:
    """The view's name in a link and on the command line."""
    return tab.__name__.rpartition(".")[2].replace("_", "-")
