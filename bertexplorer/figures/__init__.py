"""Results drawn: each module has `draw(result) -> Figure` and `say(result)`, the figure in a sentence.

style.py              how figures look: one hue, numbers as people say them
kit.py                the parts of figures: cells, bars, lines, text, panels, axes
difference.py         two results of one analysis, beginning with the numbers that differ most
fill_mask.py          a bar for each answer, blank by blank
decoding.py           what each method puts where and when; what it claims against what it is worth
pseudo_likelihood.py  how surprising each token is, and the colours of the strip
contrast.py           each piece at its probability in the one sentence and in the other
left_context.py       two lists of answers, and under each which token may look at which
template.py           a row for each filling, a column for each word
next_sentence.py      both orders with their logits, the segments, the candidates ranked
sentence_matrix.py    a cell for every pair of sentences, the true neighbours framed
tokenization.py       the norms of the vectors, token by token
alignment.py          the pieces of two tokenizers above the characters that they cover
input_vectors.py      a stripe of colours for each vector, and their cosines
nearest_pieces.py     a bar for each neighbour, and where all other pieces lie
tiles.py              many matrices as one PNG, and the shades of attention
arcs.py               lines from the tokens that look to those looked at
attention.py          all heads as tiles, one map, or lines
attention_flow.py     token by token and layer by layer, next to raw attention
query_key.py          the products of a query with each key, dimension by dimension, and the weights beside them
head_roles.py         a cell for each head with what it does, or a map of heads
switchboard.py        a cell for each head to press, and the answer with and without
bertviz.py            BertViz's own scripts in one sandboxed document
scatter.py            points with names that do not touch
word_in_context.py    a cell for each pair of occurrences, and the cosine layer by layer
word_path.py          a line through the layers, and how far it gets from its start
embedding_map.py      points in a plane or in space, and the neighbours of one
search.py             the lines found, compared with the score of two random sentences
saliency.py           a bar for each token for or against the answer; several methods as columns
referee.py            deletion and insertion curves, random orders as a band
masking.py            a row for each token and a column for each roll; cells show what became of the token
sentence_pairs.py     drawn pairs with the head's answer
pretraining.py        pretraining runs over each other
learning.py           how a run learns, by epoch, from before the first step
confusion.py          which labels were mistaken for which
layers.py             a row for each layer, and the rank of words through them
answer.py             a bar for each label, each tagged word, or each span of the passage
suite.py              a bar with its interval for all cases and each category, and the table of cases
probe.py              accuracy layer by layer beside the control task, and the table of held-out rows
counterfactuals.py    each edit with its words marked, and the answers' probabilities before and after
notebook.py           a figure in a notebook, with the sentence above it
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from plotly.graph_objects import Figure

__all__ = ["Aligning", "Colouring", "Comparing", "Figure", "FigureModule", "Page", "Several", "Tabular"]


@runtime_checkable
class FigureModule(Protocol):
    """The module that draws the results of one analysis."""

    def draw(self, result: Any, /) -> Figure | str:
        """The figure, or an HTML document."""

    def say(self, result: Any, /) -> str:
        """The figure in a sentence."""


@runtime_checkable
class Colouring(FigureModule, Protocol):
    """A module that colours the token strip too."""

    def colours(self, result: Any, /) -> Mapping[int, float]:
        """Position -> shade."""


@runtime_checkable
class Comparing(FigureModule, Protocol):
    """A module with something to say of two results beside each other."""

    def compare(self, first: Any, second: Any, /) -> str:
        """What two results have in common, or where they differ, in a sentence; "" if nothing can be said."""


@runtime_checkable
class Aligning(Comparing, Protocol):
    """A module that draws two results as one figure."""

    def align(self, first: Any, second: Any, names: tuple[str, str], /) -> Figure | None:
        """Both results; None where they do not fit together."""


@runtime_checkable
class Several(Comparing, Protocol):
    """A module that draws any number of results as one figure. *own*: index of the checkpoint in use."""

    def several(self, names: Sequence[str], results: Sequence[Any], own: int, /, *, ordered: bool) -> Figure:
        """*ordered*: they are one training in its order."""

    def say_several(self, names: Sequence[str], results: Sequence[Any], own: int, /) -> str:
        """What they have in common, or where they differ."""


@runtime_checkable
class Tabular(Comparing, Protocol):
    """A module with a table of cases below its figure."""

    def cases(self, result: Any, other: Any = None, /) -> dict[str, Any]:
        """A row for each case, with the answer in the *other* result, if there is one, and the state of the page that
        shows the case. *right* is None where no answer is right or wrong. *title* and *columns*, if given, head it."""


@runtime_checkable
class Page(FigureModule, Protocol):
    """A module that draws an HTML document."""

    def height(self, result: Any, /) -> int:
        """The height of the document in pixels."""
