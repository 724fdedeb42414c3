"""The analyses, in the order that the command line lists them: each (Checkpoint, text, Options) -> a frozen result."""

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
