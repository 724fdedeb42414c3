"""What the two modules of a view must have and may have: compute.py is an Analysis, show.py a FigureModule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NewType, Protocol, runtime_checkable

from bertexplorer.charts.marks import Figure
from bertexplorer.charts.picture import Picture

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Text
    from bertexplorer.views.facts import Facts

ViewResult = NewType("ViewResult", object)  # what an analysis computes; only its own view knows what it holds
Drawing = Figure | Picture | str  # marks, a picture, or an HTML document


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

    def run(self, checkpoint: Checkpoint, text: Text | str, *, options: Any, **more: Any) -> ViewResult:
        """Compute the result. *more*: the arguments that the view lists in its `needs`."""

    def rows(self, result: ViewResult, /) -> list[dict[str, Any]]:
        """The numbers of a result."""


@runtime_checkable
class Comparable(Protocol):
    """An analysis with a number that can be compared between two results."""

    KEYS: tuple[str, ...]  # the columns that identify a row
    MEASURE: str  # the column with the number

    def rows(self, result: ViewResult, /) -> list[dict[str, Any]]:
        """The numbers of a result."""


@runtime_checkable
class OfHeads(Comparable, Protocol):
    """An analysis whose rows are of heads, the first of KEYS: of each only the largest change is drawn."""

    def name_row(self, *key: Any) -> str:
        """The name of a row in a comparison, from its KEYS."""


@runtime_checkable
class SometimesShares(Comparable, Protocol):
    """An analysis whose number is a share in some results, and in others not."""

    def is_share(self, result: ViewResult, /) -> bool:
        """Whether the numbers of *result* are shares, which are printed in per cent."""


@runtime_checkable
class Summarised(Comparable, Protocol):
    """An analysis of many cases, whose summary is compared instead of its rows."""

    def summary_rows(self, result: ViewResult, /) -> list[dict[str, Any]]:
        """The numbers to compare."""


@runtime_checkable
class HasTables(Protocol):
    """An analysis with tables in addition to its rows."""

    def tables(self, result: ViewResult, /) -> dict[str, list[dict[str, Any]]]:
        """Each table under the name that exports give it."""


@runtime_checkable
class HasComparisonTables(Protocol):
    """An analysis of cases, whose results are compared case by case."""

    def comparison_tables(
        self, names: Sequence[str], results: Sequence[ViewResult], own: int = 0, /
    ) -> dict[str, list[dict[str, Any]]]:
        """Tables about several results, each with a name, by the name that exports give them. *own*: the index of the
        result with which the others are compared."""


@runtime_checkable
class Listing(Protocol):
    """An analysis whose `rows` lists only the first of many rows."""

    def lookup(self, checkpoint: Checkpoint, result: ViewResult, key: tuple[object, ...]) -> float | None:
        """The number of a row that `rows` does not list."""


@runtime_checkable
class Alternatives(Protocol):
    """An analysis of a text with alternatives in braces."""

    def first(self, checkpoint: Checkpoint, text: Text) -> Text:
        """The text with the first alternative of each."""


@runtime_checkable
class FigureModule(Protocol):
    """The module that draws the results of one analysis."""

    def draw(self, result: ViewResult, /) -> Drawing:
        """The figure: marks, a picture, or an HTML document."""

    def say(self, result: ViewResult, /) -> str:
        """The figure as a sentence."""


@runtime_checkable
class Colouring(FigureModule, Protocol):
    """A module that colours the token strip too."""

    def colours(self, result: ViewResult, /) -> Mapping[int, float]:
        """Position -> shade."""


@runtime_checkable
class Comparing(FigureModule, Protocol):
    """A module that can describe two results together."""

    def compare(self, first: ViewResult, second: ViewResult, /) -> str:
        """What two results have in common or where they differ, as a sentence; "" if there is nothing to report."""


@runtime_checkable
class Aligning(Comparing, Protocol):
    """A module that draws two results as one figure."""

    def align(self, first: ViewResult, second: ViewResult, names: tuple[str, str], /) -> Figure | None:
        """Draw both results; None if they cannot be aligned."""


@runtime_checkable
class ComparingSeveral(Comparing, Protocol):
    """A module that draws any number of results as one figure. *own*: index of the checkpoint in use."""

    def several(self, names: Sequence[str], results: Sequence[ViewResult], own: int, /, *, ordered: bool) -> Figure:
        """*ordered*: the results are checkpoints of one training, in order."""

    def say_several(self, names: Sequence[str], results: Sequence[ViewResult], own: int, /) -> str:
        """What the results have in common, or where they differ."""


@runtime_checkable
class Tabular(Comparing, Protocol):
    """A module with a table of cases below its figure."""

    def cases(self, result: ViewResult, /, *others: ViewResult) -> dict[str, Any]:
        """A row for each case, with the answers of the *others*, and the state of the page that shows the case. *right*
        is None if answers are neither right nor wrong. *title* and *columns* are optional headings."""


@runtime_checkable
class Page(FigureModule, Protocol):
    """A module that draws an HTML document."""

    def height(self, result: ViewResult, /) -> int:
        """The height of the document in pixels."""
