"""Result: the answer of an analysis as rows, as a sentence and as a figure, with its provenance."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.charts import adaptors, marks
from bertexplorer.charts.picture import Picture
from bertexplorer.core import export
from bertexplorer.csv_safety import as_csv
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.views import view_of

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.views.protocols import Analysis, FigureModule
    from bertexplorer.views.view import View

IMAGE_SUFFIXES = (".png", ".svg", ".pdf", ".webp", ".jpeg", ".jpg")
PRINTED_ROWS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The answer of an analysis. Notebooks show its figure, and terminals its rows.

    Two results are equal if the analysis, text, options and rows are equal.

    Example:
        >>> result = bx.fill_mask("Paris is the [MASK] of France.", top=1)
        >>> result.rows[0]["token"]
        'capital'
    """

    analysis: str  # its name in the package, such as "fill_mask"
    value: Any  # the frozen dataclass of the analysis: arrays in fp32 on the CPU
    checkpoint: Checkpoint
    text: Text
    options: Any  # the analysis's Options, all of them
    sources: export.Sources = field(default_factory=dict)  # of the rows or lines that were given

    @property
    def view(self) -> View:
        """The view of the analysis."""
        return view_of(self.analysis)

    @property
    def module(self) -> Analysis:
        """The module of the analysis: its Options, run, rows and Facts."""
        return self.view.analysis

    @property
    def drawing(self) -> FigureModule:
        """The module of the figure: its draw and say."""
        return self.view.figure

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The numbers, a dictionary for each row, as in an exported CSV."""
        return list(self.module.rows(self.value))

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Further tables, by name.

        A suite has "summary", the score overall and by category; a probe "mistakes", what each layer got wrong; head
        roles "gallery", if show is "gallery". Other analyses have none.
        """
        return export.tables(self.view, self.value)

    @cached_property
    def said(self) -> str:
        """The result in a sentence."""
        return str(self.drawing.say(self.value))

    @cached_property
    def figure(self) -> Figure | str:
        """The figure, an object of plotly; of BertViz and the forward pass, an HTML document."""
        drawn = self.drawing.draw(self.value)
        if isinstance(drawn, Picture):
            return drawn.document(self.said)
        return drawn if isinstance(drawn, str) else plotly_figure(drawn)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tokenizer says of the text: tokens that are cut or unknown, characters that are removed."""
        return self.checkpoint.tokenizer.encode(self.text).notes if self.text.first else ()

    @property
    def provenance(self) -> dict[str, str]:
        """Checkpoint, revision, precision, device and versions behind the numbers."""
        return export.provenance(self.checkpoint)

    def to_rows(self) -> list[dict[str, Any]]:
        """A copy of the rows."""
        return [dict(row) for row in self.rows]

    def to_pandas(self, table: str = "") -> Any:
        """The rows, or another table, as a pandas DataFrame.

        Args:
            table: a name of `tables`; "" for the rows.

        Returns:
            A DataFrame with a row for each dictionary.

        Raises:
            ExplorerError: if pandas is not installed, and for an unknown table.
        """
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as error:
            raise ExplorerError("A DataFrame needs pandas, which is not installed: pip install pandas.") from error
        return pandas.DataFrame(self.rows_of(table))

    def to_csv(self, table: str = "") -> str:
        """The rows, or another table, as CSV (RFC 4180).

        Args:
            table: a name of `tables`; "" for the rows.

        Returns:
            The text of the file. Cells that a spreadsheet would run as formulas begin with an apostrophe.

        Raises:
            ExplorerError: for an unknown table.
        """
        return as_csv(self.rows_of(table))

    def rows_of(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table.

        Args:
            table: a name of `tables`; "" for `rows`.

        Returns:
            A dictionary for each row.

        Raises:
            ExplorerError: for an unknown table.
        """
        if table and table not in self.tables:
            names = ", ".join(self.tables) or "none"
            raise ExplorerError(f"There is no table {table!r:.40} of {self.analysis}; wanted one of: {names}.")
        return self.tables[table] if table else self.rows

    def to_json(self) -> str:
        """The rows with the sentence, notes, text, options and provenance, as JSON."""
        return export.as_json(
            self.view,
            self.checkpoint,
            self.text,
            self.options,
            self.rows,
            sources=self.sources,
            more=self.tables,
            said={"said": self.said, "notes": self.notes},
        )

    def code(self) -> str:
        """A program that computes this result again."""
        return export.as_python(self.view, *self.question)

    @property
    def question(self) -> export.Origin:
        """What the result answers, as `export` takes it."""
        return export.Origin(self.checkpoint, self.text, self.options, sources=self.sources)

    def save(self, path: str | Path) -> Path:
        """Write the result to a file.

        Args:
            path: the file. Its suffix is the format: .csv, .json or .py, the figure as .html or as an image: .png,
                .svg, .pdf, .webp, .jpeg (needs kaleido).

        Returns:
            The path.

        Raises:
            ExplorerError: for another suffix, for an image of BertViz or the forward pass, whose figures are pages, and
                if the file cannot be written.

        Example:
            >>> bx.fill_mask("Paris is the [MASK] of France.").save("answers.csv")  # doctest: +SKIP
        """
        path = Path(path)
        suffix = path.suffix.lower()
        writers = {".csv": self.to_csv, ".json": self.to_json, ".py": self.code, ".html": self.to_html}
        try:
            if suffix in writers:
                path.write_text(writers[suffix](), "utf-8", newline="")
            elif suffix in IMAGE_SUFFIXES:
                path.write_bytes(self.image(suffix[1:]))
            else:
                wanted = ", ".join([*writers, *IMAGE_SUFFIXES])
                raise ExplorerError(f"The file name {path.name!r:.60} ends in {suffix!r}; wanted one of {wanted}.")
        except OSError as error:
            raise ExplorerError(f"{path} cannot be written: {error.strerror}. Choose another path.") from error
        return path

    def to_html(self) -> str:
        """The figure as an HTML page that works without a network."""
        if isinstance(self.figure, str):
            return self.figure
        page = self.figure.to_html(include_plotlyjs=True, include_mathjax=False, full_html=True)
        return str(page).replace("</body>", f"<p>{html.escape(self.said)}</p></body>")

    def image(self, kind: str) -> bytes:
        """The figure as an image.

        Args:
            kind: the format, such as "png" or "svg".

        Returns:
            The bytes of an image file.

        Raises:
            ExplorerError: for a figure that is a page, as those of BertViz and the forward pass, and if kaleido or
                Chrome is missing.
        """
        if isinstance(self.figure, str):
            raise ExplorerError(f"The figure of {self.analysis} is a page, not an image. Save it as .html.")
        try:
            return bytes(self.figure.to_image(format=kind))
        except (ValueError, RuntimeError) as error:
            advice = 'Images are drawn by kaleido and Chrome: pip install "bertexplorer[images]", or save .html.'
            raise ExplorerError(f"The figure cannot be written as {kind}. {advice}") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        same_question = (self.analysis, self.text, self.options) == (other.analysis, other.text, other.options)
        return same_question and self.rows == other.rows

    def __hash__(self) -> int:
        return hash((self.analysis, self.text))

    def __repr__(self) -> str:
        said = " ".join([self.said, *self.notes])
        lines = [f"{self.analysis} ({self.checkpoint.name}): {said}", as_table(self.rows[:PRINTED_ROWS])]
        more = len(self.rows) - PRINTED_ROWS
        if more > 0:
            lines.append(f"… and {more:,} more rows")
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if isinstance(self.figure, str):
            page = f'<iframe sandbox="allow-scripts" width="100%" height="500" srcdoc="{html.escape(self.figure)}">'
            return {"text/html": f"{page}</iframe>", "text/plain": repr(self)}
        from bertexplorer.charts.notebook import bundle

        return {**bundle(self.figure, self.said), "text/plain": repr(self)}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Results of one analysis: for two checkpoints, texts or options, or of a suite for more.

    `compare` makes it. Notebooks show its figure.
    """

    first: Result
    second: Result
    names: tuple[str, ...]
    others: tuple[Result, ...] = ()  # the third and those after it

    @property
    def results(self) -> tuple[Result, ...]:
        """All results, in the order in which they were given."""
        return (self.first, self.second, *self.others)

    @cached_property
    def figure(self) -> Figure | None:
        """All results in one figure: side by side where the view can align them, else the numbers that differ most.

        It is None where the analysis has no number to compare.
        """
        from bertexplorer.views import difference
        from bertexplorer.views.protocols import ComparingSeveral

        drawing = self.first.drawing
        if self.others:
            assert isinstance(drawing, ComparingSeveral)
            values = [result.value for result in self.results]
            return plotly_figure(drawing.several(self.names, values, 0, ordered=False))
        drawn = difference.draw_comparison(
            drawing,
            self.first.module,
            self.first.value,
            self.second.value,
            names=(self.names[0], self.names[1]),
            checkpoints=(self.first.checkpoint, self.second.checkpoint),
        )
        return None if drawn is None else plotly_figure(drawn)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all results. *side* names the result that a row belongs to."""
        rows = []
        for name, result in zip(self.names, self.results, strict=True):
            rows += [{"side": name, **row} for row in result.rows]
        return rows

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """The tables of all results, by name.

        "sides" has what made each. Suites also have "tests", each paired test against the first result, and
        "differences", the cases that some get right and others wrong.
        """
        values = [result.value for result in self.results]
        checkpoints = [result.checkpoint for result in self.results]
        return export.comparison_tables(self.first.view, self.names, values, checkpoints)

    def to_json(self) -> str:
        """The rows and tables with the options and provenance, as JSON."""
        return export.as_json(
            self.first.view,
            self.first.checkpoint,
            self.first.text,
            self.first.options,
            self.rows,
            sources=self.first.sources,
            more=self.tables,
            said={"said": self.said},
        )

    @property
    def said(self) -> str:
        """The sentence of each result, and what a test of the difference says where the analysis has one."""
        from bertexplorer.views.protocols import Comparing, ComparingSeveral

        drawing = self.first.drawing
        values = [result.value for result in self.results]
        said = [f"{name}: {result.said}" for name, result in zip(self.names, self.results, strict=True)]
        if self.others:
            assert isinstance(drawing, ComparingSeveral)
            said.append(drawing.say_several(self.names, values, 0))
        elif isinstance(drawing, Comparing):
            said.append(drawing.compare(*values))
        return " ".join(said).rstrip()

    def code(self) -> str:
        """A program that computes this comparison again."""
        others = [result.question for result in self.results[1:]]
        return export.as_python(self.first.view, *self.first.question, others)

    def __repr__(self) -> str:
        return "\n\n".join(f"{name}:\n{result!r}" for name, result in zip(self.names, self.results, strict=True))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from bertexplorer.charts.notebook import bundle

        shown = {} if self.figure is None else bundle(self.figure, self.said)
        return {**shown, "text/plain": repr(self)}


def compare(first: Result, second: Result, *others: Result) -> Comparison:
    """Compare results of one analysis.

    Args:
        first: the result that the others are compared with.
        second: the result to compare with it.
        *others: further results, for a suite.

    Returns:
        The comparison, its results named by their difference.

    Raises:
        ExplorerError: for results of two analyses, and for more than two results of an analysis that compares only
            pairs.

    Example:
        >>> bert = bx.load("mini")
        >>> both = bx.compare(bert.fill_mask("A [MASK] film."), bert.control().fill_mask("A [MASK] film."))
        >>> both.names
        ('mini', 'mini, random weights')
    """
    from bertexplorer.views.protocols import ComparingSeveral

    arguments = [("first", first), ("second", second)]
    arguments += [("others", other) for other in others]
    for name, result in arguments:
        if not isinstance(result, Result):
            raise ExplorerError(f"{name}: got {result!r:.60}; wanted a result, such as that of fill_mask.")
    for other in (second, *others):
        if first.analysis != other.analysis:
            raise ExplorerError(
                f"A result of {first.analysis} cannot be compared with one of {other.analysis}. Compare two of one "
                "kind."
            )
    if others and not isinstance(first.drawing, ComparingSeveral):
        raise ExplorerError(f"{2 + len(others)} results of {first.analysis} were given; it compares two. Give two.")
    return Comparison(first, second, side_names((first, second, *others)), others)


def plotly_figure(drawn: marks.Figure) -> Figure:
    """Marks as an object of plotly."""
    return adaptors.chart(drawn).plotly


def side_names(results: Sequence[Result]) -> tuple[str, ...]:
    """A name for each result: its checkpoint, its text, or the last option in which all differ; else its number."""
    options = [asdict(result.options) for result in results]
    candidates = [[result.checkpoint.name for result in results], [result.text.first for result in results]]
    for name in reversed(options[0]):
        candidates.append([f"{name} {values[name]}" for values in options])
    for names in candidates:
        if len(set(names)) == len(names):
            return tuple(names)
    if len(results) == 2:
        return ("first", "second")
    return tuple(f"result {number}" for number in range(1, len(results) + 1))


def as_table(rows: list[dict[str, Any]]) -> str:
    """Rows, which have the same columns, as a text with aligned columns."""
    if not rows:
        return "no rows"
    table = [list(rows[0])]
    for row in rows:
        table.append([f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)
