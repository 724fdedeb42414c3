"""Figures: each module has `draw(result)`, a chart or a picture, and `say(result)`, the figure as a sentence.

style.py              the style of figures: colours, fonts, readable numbers
kit.py                the parts of figures: cells, bars, lines, text, panels, axes
difference.py         two results of one analysis, starting with the numbers that differ most
forward_pass.py       the whole model: what goes in, every layer, what comes out
fill_mask.py          a bar for each answer, mask by mask
decoding.py           the order and the words of each method; its claimed and its real probability
pseudo_likelihood.py  how surprising each token is, and the colours of the strip
contrast.py           each piece at its probability in one sentence and in the other
left_context.py       two lists of answers, each with its attention mask
template.py           a row for each filling, a column for each word
next_sentence.py      both orders with their logits, the segments, the candidates ranked
sentence_matrix.py    a cell for every pair of sentences, the true neighbours framed
sentence_similarity.py  a cell for each two words of two sentences, and what chance gives
term_weights.py       bars for the words of a text, the added ones, and those that two texts share
passages.py           bars for passages by rank, each to open
late_interaction.py   a cell for each two tokens of a query and a passage, the best match framed
tokenization.py       the norms of the vectors, token by token
alignment.py          the pieces of two tokenizers above the characters that they cover
input_vectors.py      a stripe of colours for each vector, and their cosines
nearest_pieces.py     a bar for each neighbour, and the range of all other pieces
tiles.py              many matrices as one PNG, and the shades of attention
arcs.py               lines from the tokens that attend to their targets
attention.py          all heads as tiles, one map, or lines
attention_flow.py     token by token and layer by layer, next to raw attention
query_key.py          the products of a query with each key, dimension by dimension, and the weights
head_roles.py         a cell for each head with its role, or a map of heads
switchboard.py        a grid of heads to switch off, and the answer with and without them
bertviz.py            BertViz's own scripts in one sandboxed document
scatter.py            points with names that do not overlap
word_in_context.py    a cell for each pair of occurrences, and the cosine layer by layer
word_path.py          a line through the layers, and its distance from its start
embedding_map.py      points in a plane or in space, and the neighbours of one of them
search.py             the lines found, compared with the score of two random sentences
saliency.py           a bar for each token for or against the answer; several methods as columns
referee.py            deletion and insertion curves, random orders as a band
masking.py            a row for each token and a column for each roll; cells show the change to the token
sentence_pairs.py     drawn pairs with the head's answer
pretraining.py        pretraining runs in one figure
learning.py           how a run learns, by epoch, from before the first step
confusion.py          a cell for each correct and predicted label
layers.py             a row for each layer, and the rank of words through them
neurons.py            a bar for each neuron and its words, the answer without several, and where the open one answers
answer.py             a bar for each label, each tagged word, or each span of the passage
suite.py              a bar with its interval for all cases and each category
suite_table.py        the table of cases of a suite, and caveats about the rows of a suite or a probe
probe.py              accuracy layer by layer, the control task, and the table of held-out rows
counterfactuals.py    each edit with its words marked, and the answers' probabilities before and after
notebook.py           a figure in a notebook, with the sentence above it
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from bertexplorer.charts.chart import Chart as Chart
from bertexplorer.charts.picture import Picture as Picture


@runtime_checkable
class FigureModule(Protocol):
    """The module that draws the results of one analysis."""

    def draw(self, result: Any, /) -> Chart | Picture | str:
        """The figure: a chart, a picture, or an HTML document."""

    def say(self, result: Any, /) -> str:
        """The figure as a sentence."""


@runtime_checkable
class Colouring(FigureModule, Protocol):
    """A module that colours the token strip too."""

    def colours(self, result: Any, /) -> Mapping[int, float]:
        """Position -> shade."""


@runtime_checkable
class Scaled(FigureModule, Protocol):
    """A module whose bars of probabilities fill their panel, which hides how they grow while a checkpoint learns."""

    def fix_scale(self, figure: Chart, /) -> None:
        """Give the bars of *figure* an axis from 0 to 1."""


@runtime_checkable
class Comparing(FigureModule, Protocol):
    """A module that can describe two results together."""

    def compare(self, first: Any, second: Any, /) -> str:
        """What two results have in common or where they differ, as a sentence; "" if there is nothing to report."""


@runtime_checkable
class Aligning(Comparing, Protocol):
    """A module that draws two results as one figure."""

    def align(self, first: Any, second: Any, names: tuple[str, str], /) -> Chart | None:
        """Draw both results; None if they cannot be aligned."""


@runtime_checkable
class ComparingSeveral(Comparing, Protocol):
    """A module that draws any number of results as one figure. *own*: index of the checkpoint in use."""

    def several(self, names: Sequence[str], results: Sequence[Any], own: int, /, *, ordered: bool) -> Chart:
        """*ordered*: the results are checkpoints of one training, in order."""

    def say_several(self, names: Sequence[str], results: Sequence[Any], own: int, /) -> str:
        """What the results have in common, or where they differ."""


@runtime_checkable
class Tabular(Comparing, Protocol):
    """A module with a table of cases below its figure."""

    def cases(self, result: Any, /, *others: Any) -> dict[str, Any]:
        """A row for each case, with the answers of the *others*, and the state of the page that shows the case. *right*
        is None if answers are neither right nor wrong. *title* and *columns* are optional headings."""


@runtime_checkable
class Page(FigureModule, Protocol):
    """A module that draws an HTML document."""

    def height(self, result: Any, /) -> int:
        """The height of the document in pixels."""
