"""View: an analysis and its figure, with a question, a note and examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from bertexplorer.options import OptionSpec, option_specs

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Text
    from bertexplorer.views.protocols import Analysis, FigureModule, ViewResult

Chips = Literal["hide", "pick", ""]
Upload = Literal["lines", "rows", "vectors"]  # a file of which a setting has the key
Input = Literal[Upload, "index"]


@dataclass(frozen=True)
class Example:
    """A text that teaches something in a view. *label*: the text of its chip; *options*: the settings that differ from
    their defaults; *picked*: the picked spans, as in a link ("0:4-10"); *kind*: the kind of answer that the checkpoint
    must give, else the page does not offer it; *shows*: what it is there to show, an expression over the facts of the
    view (docs/lessons.md)."""

    label: str
    text: str
    pair: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    picked: str = ""
    kind: str = ""
    shows: str = ""

    @property
    def as_json(self) -> dict[str, Any]:
        """The example as the page gets it."""
        return {
            "label": self.label,
            "text": self.text,
            "pair": self.pair,
            "options": dict(self.options),
            "picked": self.picked,
            "kind": self.kind,
        }


@dataclass(frozen=True, eq=False)
class View:
    """A view. It imports its analysis on first use.

    *package*: its folder, `__package__`, whose last name is that of the view. *place*: among the views of its topic,
    from 1 on. *note*: how not to misread it. *papers*: those that describe what it computes, such as "Devlin et al.,
    2019, BERT". *chips*: the action of a press on a chip: "hide" its token, "pick" it as the subject of the view, or
    nothing. *slow*: whether it uses the queue of slow views. *needs*: the inputs of its analysis besides a text:
    uploaded "lines", "rows" or "vectors", or the search "index". *text*: whether it uses the text at the top. *tuned*:
    whether its checkpoint must be fine-tuned. *checkpoint*: the bundled one that it opens with, if that is not the
    page's own. *first*: the setting whose value takes the place of the text in a call, for a view without one.
    *most_lines*: of a file that Python or a command reads for it; the page takes 10,000."""

    package: str
    topic: str
    place: int
    title: str
    question: str
    note: str
    papers: tuple[str, ...]
    examples: tuple[Example, ...]
    chips: Chips = "hide"
    slow: bool = False
    needs: tuple[Input, ...] = ()
    text: bool = True
    tuned: bool = False
    checkpoint: str = ""
    first: str = ""
    most_lines: int = 10_000

    @property
    def name(self) -> str:
        """The name of its analysis in Python."""
        return self.package.rpartition(".")[2]

    @property
    def slug(self) -> str:
        """The view's name in a link and on the command line."""
        return self.name.replace("_", "-")

    @property
    def analysis(self) -> Analysis:
        return cast("Analysis", import_module(f"{self.package}.compute"))

    @property
    def folder(self) -> Path:
        """Where its modules lie."""
        return Path(import_module(self.package).__path__[0])

    @property
    def browser(self) -> Path:
        """The script that computes it in a visitor's browser. It need not exist."""
        return self.folder / "browser.js"

    @property
    def upload(self) -> Upload | None:
        """The kind of file that it reads; None if it reads none."""
        return next((kind for kind in get_args(Upload) if kind in self.needs), None)

    @property
    def takes(self) -> tuple[str, ...]:
        """Which of text, pair and pick a form asks for."""
        examples = self.examples
        asks = {
            "text": self.text,
            "pair": any(example.pair for example in examples),
            "pick": self.chips == "pick" or any(example.picked for example in examples),
        }
        return tuple(name for name, wanted in asks.items() if wanted)

    @property
    def settings(self) -> tuple[OptionSpec, ...]:
        """The settings that a form shows: all Options but those that only the page sets."""
        return tuple(setting for setting in option_specs(self.analysis.Options) if not setting.option.by_page)

    @property
    def figure(self) -> FigureModule:
        return cast("FigureModule", import_module(f"{self.package}.show"))

    def run(self, checkpoint: Checkpoint, text: Text | str, options: Any, **inputs: Any) -> ViewResult:
        """The result for *text*, whoever asks: the only call of an analysis. *inputs*: what it needs besides the text
        (see *needs*). Raises ExplorerError as the analysis does."""
        return self.analysis.run(checkpoint, text, options=options, **inputs)
