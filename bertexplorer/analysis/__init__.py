"""The analyses, in the order that the command line lists them: each (Checkpoint, text, Options) -> a frozen result.

forward_pass.py       the whole model on one text: input, every layer, answer
fill_mask.py          the prediction for each mask, and its entropy
decoding.py           several masks filled four ways
pseudo_likelihood.py  how likely each token is given all the others, and so how likely the sentence is
contrast.py           one mask in two sentences, compared over the whole vocabulary
left_context.py       the same mask with the right side hidden from the encoder
template.py           one sentence with alternatives, {doctor|nurse}, answered for every combination
next_sentence.py      does B follow A, in both orders, and compared with other candidates
sentence_matrix.py    a paragraph: does each sentence follow each other one
sentence_similarity.py  how similar two texts are, and which words bring it about
term_weights.py       the words by which a text would be found, in it or added by the MLM head
late_interaction.py   the best match of each token of a query in a passage
tokenization.py       the input: pieces, ids, and the norms of the vectors that add up
input_vectors.py      the vectors that add up for one token, number by number
nearest_pieces.py     the neighbours of a token in the table of word vectors
strongest_heads.py    the strongest link of each head between two words, positional heads last
heads.py              heads, neurons and layers as a person writes them: 5·3
word_merging.py       pieces merged to words, between which attention is shown
attention.py          which token looks at which, in one head, several, or all side by side
query_key.py          what each dimension of one query adds to the attention score of each token
attention_flow.py     attention rollout and attention flow through all layers
head_roles.py         what every head looks at, and which heads behave alike
switchboard.py        heads and neurons off, or heads patched, and how the answer changes
bertviz.py            the data of BertViz's three views, limited to what a browser can draw
head_relations.py     which heads follow grammar in annotated sentences, compared with fixed distances
sample_relations.py   forty annotated sentences, to measure which heads follow grammar
sample_sentences.py   built-in sentences on ten topics, and a sample of 20 more
uploads.py            uploaded rows and lines: whether they are still stored, and a balanced sample of them
vectors.py            sentence vectors, cosines, principal components, and the scores of random pairs
word_occurrences.py   where a word occurs in the text and in other sentences
word_in_context.py    one word in several sentences: cosines layer by layer, and whether senses separate
word_path.py          the path of a word's vector through the layers, in one fixed plane
embedding_map.py      tokens or sentences laid out by PCA, t-SNE or UMAP, with neighbours
search.py             semantic search over lines
attribution.py        seven measures of how much each token contributes to a prediction
saliency.py           which tokens a prediction depends on
referee.py            the faithfulness of each saliency method, compared with random orders of the tokens
masking.py            which tokens of the text pretraining would mask, roll by roll
sentence_pairs.py     draws true and random next sentences, and shows how well the head separates them
tuned_lens.py         the tuned lens of a checkpoint, and the sentences that it is fitted on
layers.py             when the answer forms: every layer read by the MLM head or a fine-tuned head
neurons.py            what the neurons of a layer write, and what the answer loses without them
board.py              the answer to a text while heads or neurons are switched off
task_head.py          what a training run left beside its checkpoint; the words and passages that heads read
question.py           one class of one answer to one text, and the number that views explain
readout.py            each kind of answer as one class: what it chooses among, and how it is read
answer.py             the answer of the fine-tuned head: labels, tags, spans
suite.py              an evaluation on many cases: the share that is right, by category, with its interval
suite_cases.py        rows of a file as cases, recognised by their columns
suite_readers.py      where an answer is read: at a mask, or at the labels of a fine-tuned head
suite_scores.py       the passes of each kind of case, and when its answer is right
suite_paired.py       paired tests of suites on the same cases
probe.py              which layer a linear probe reads a property from, compared with a control task
probe_rows.py         words or sentences with labels, located in their texts
probe_fit.py          splits by document, labels of the control task, and one linear probe
counterfactuals.py    the fewest words whose change changes the answer, and the shortest text that keeps it
edit_search.py        a beam search over replaced words, and a text shortened as long as its answer stays
edits.py              words replaced or removed, checked with the tokenizer, and replacements to try
predictions.py        the answers to changed texts, and how probable the first answer still is
bootstrap.py          intervals of means, and a test of two checkpoints on the same cases
word_scores.py        requested words, scored at a mask
facts.py              values of a result that expressions in lessons use, by name
export.py             a result as CSV, JSON and Python that repeats it, with its provenance
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bertexplorer.analysis.facts import Facts
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Text

NAMES = (
    "forward_pass",
    "fill_mask",
    "decoding",
    "pseudo_likelihood",
    "contrast",
    "left_context",
    "template",
    "next_sentence",
    "sentence_matrix",
    "sentence_similarity",
    "term_weights",
    "late_interaction",
    "tokenization",
    "input_vectors",
    "nearest_pieces",
    "attention",
    "query_key",
    "attention_flow",
    "head_roles",
    "switchboard",
    "bertviz",
    "word_in_context",
    "word_path",
    "embedding_map",
    "search",
    "layers",
    "neurons",
    "answer",
    "saliency",
    "referee",
    "masking",
    "sentence_pairs",
    "suite",
    "probe",
    "counterfactuals",
)
FIRST = {"suite": "suite", "probe": "task"}  # analysis without a text -> its first parameter; rows take its place


@runtime_checkable
class Analysis(Protocol):
    """The module of an analysis."""

    __name__: str
    __doc__: str

    @property
    def Options(self) -> type[Any]:
        """A frozen dataclass: its fields are the settings."""

    @property
    def Facts(self) -> type[Facts[Any]]:
        """Values of a result for expressions in lessons, as methods."""

    def run(self, checkpoint: Checkpoint, text: Text | str, *, options: Any, **more: Any) -> Any:
        """Compute the result. *more*: the arguments that the view lists in its `needs`."""

    def rows(self, result: Any, /) -> list[dict[str, Any]]:
        """The numbers of a result."""


@runtime_checkable
class Comparable(Protocol):
    """An analysis with a number that can be compared between two results."""

    KEYS: tuple[str, ...]  # the columns that identify a row
    MEASURE: str  # the column with the number

    def rows(self, result: Any, /) -> list[dict[str, Any]]:
        """The numbers of a result."""


@runtime_checkable
class OfHeads(Comparable, Protocol):
    """An analysis whose rows are of heads, the first of KEYS: of each only the largest change is drawn."""

    def name_row(self, *key: Any) -> str:
        """The name of a row in a comparison, from its KEYS."""


@runtime_checkable
class SometimesShares(Comparable, Protocol):
    """An analysis whose number is a share in some results, and in others not."""

    def is_share(self, result: Any, /) -> bool:
        """Whether the numbers of *result* are shares, which are printed in per cent."""


@runtime_checkable
class Summarised(Comparable, Protocol):
    """An analysis of many cases, whose summary is compared instead of its rows."""

    def summary_rows(self, result: Any, /) -> list[dict[str, Any]]:
        """The numbers to compare."""


@runtime_checkable
class HasTables(Protocol):
    """An analysis with tables in addition to its rows."""

    def tables(self, result: Any, /) -> dict[str, list[dict[str, Any]]]:
        """Each table under the name that exports give it."""


@runtime_checkable
class HasComparisonTables(Protocol):
    """An analysis of cases, whose results are compared case by case."""

    def comparison_tables(self, names: Any, results: Any, own: int = 0, /) -> dict[str, list[dict[str, Any]]]:
        """Tables about several results, each with a name, by the name that exports give them. *own*: the index of the
        result with which the others are compared."""


@runtime_checkable
class Listing(Protocol):
    """An analysis whose `rows` lists only the first of many rows."""

    def lookup(self, checkpoint: Checkpoint, result: Any, key: tuple[object, ...]) -> float | None:
        """The number of a row that `rows` does not list."""


@runtime_checkable
class Alternatives(Protocol):
    """An analysis of a text with alternatives in braces."""

    def first(self, checkpoint: Checkpoint, text: Text) -> Text:
        """The text with the first alternative of each."""


def __getattr__(name: str) -> Any:
    """ANALYSES, the modules of NAMES; imported at first use, so that one analysis does not import the others."""
    if name != "ANALYSES":
        raise AttributeError(f"bertexplorer.analysis has no {name}.")
    return tuple(import_module(f"{__name__}.{module}") for module in NAMES)
