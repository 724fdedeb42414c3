"""Figures: the parts that views draw with, and what the module of a view must and may have."""

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
