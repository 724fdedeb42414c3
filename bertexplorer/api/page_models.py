"""Models of the page: what the server tells a page of its views, and what it shows for a state."""

from typing import Any

from pydantic import BaseModel, Field

from bertexplorer.api.models import Drawing
from bertexplorer.core.strip import Chip
from bertexplorer.views.view import Chips


class StateModel(BaseModel):
    """What the page shows, as data. Spans are written as in a link: `0:4-11,1:0-3`."""

    view: str
    text: str
    pair: str
    hidden: str = Field(description="Spans that the checkpoint does not see.")
    picked: str = Field(description="Spans that the view is about.")
    checkpoint: str
    precision: str
    against: str = Field(description="The kind of comparison; empty: none.")
    other: str = Field(description="The other side of the comparison: a checkpoint, a text or a step.")
    options: dict[str, Any] = Field(description="Settings of the view.")


class StripModel(BaseModel):
    """The text as tokens, each a chip."""

    press: Chips = Field(description="What a press on a chip does; empty: nothing.")
    label: str = Field(description="For screen readers.")
    hint: str
    notes: list[str]
    chips: list[Chip]


class CardModel(BaseModel):
    """What the page shows of a checkpoint."""

    label: str
    facts: list[tuple[str, str]] = Field(description="Name and text of each.")
    layers: int
    heads: int
    kind: str = Field(description="The kind of answer of its fine-tuned head; empty: it has none.")
    series: list[tuple[str, str, float]] = Field(
        description="Name, label and megabytes of each checkpoint that its training saved."
    )


class ReceiptModel(BaseModel):
    """What the numbers of an answer come from."""

    short: str = Field(description="Checkpoint, precision and milliseconds.")
    whole: str = Field(description="The same with revision and versions.")


class BesideModel(BaseModel):
    """The other side of a compared answer."""

    name: str
    ours: str = Field(description="The name of the first side.")
    said: str
    difference: Drawing | None
    figure: Drawing | None


class ViewAnswerModel(BaseModel):
    """All that the page shows for a state."""

    state: StateModel = Field(description="The state with all its settings.")
    strip: StripModel | None
    notice: str = Field(description="What could not be followed in a link.")
    checkpoint: CardModel
    said: str = Field(description="The result in a sentence.")
    receipt: ReceiptModel
    figure: Drawing | None = Field(None, description="Panels of marks, or a picture of a model.")
    document: str | None = Field(None, description="BertViz only: an HTML page in place of the figure.")
    height: int | None = Field(None, description="Pixels of the HTML page.")
    cases: dict[str, Any] | None = Field(None, description="The table below the figure of a suite.")
    beside: BesideModel | None = Field(None, description="The other side, if the state compares.")


class ExampleModel(BaseModel):
    """A text that teaches something in a view."""

    label: str
    text: str
    pair: str
    options: dict[str, Any] = Field(description="The settings that differ from their defaults.")
    picked: str
    kind: str = Field(description="The kind of answer that the checkpoint must give; empty: any.")


class SettingModel(BaseModel):
    """A setting of a view or of a run, as a field of a form."""

    name: str
    kind: str = Field(description="int, float, bool or str")
    default: Any
    label: str
    help: str
    low: float | None
    high: float | None
    choices: list[str]
    several: bool = Field(description="Whether it takes several lines.")
    by_page: bool = Field(description="Whether the page sets it; a form leaves it out.")
    counts: str = Field(description="The number of the checkpoint that limits it: layers, heads or nothing.")


class ViewModel(BaseModel):
    """A view's texts, examples and settings."""

    title: str
    topic: str
    question: str
    note: str = Field(description="How not to misread it.")
    press: Chips = Field(description="What a press on a chip of its text does; empty: nothing.")
    as_run: bool = Field(description="Whether POST /suites/view computes it as a run.")
    upload: str = Field(description="The kind of file that it reads: lines, rows, vectors or nothing.")
    built_in: str = Field(description="What chooses something built in, which a file replaces; empty: nothing.")
    text: bool = Field(description="Whether it uses the text.")
    checkpoint: str = Field(description="The checkpoint that it opens with; empty: the page's own.")
    several: bool = Field(description="Whether one figure compares any number of checkpoints.")
    examples: list[ExampleModel]
    settings: list[SettingModel]


class DoorModel(BaseModel):
    """What many people come for."""

    about: str
    views: list[str] = Field(description="It opens the first one.")


class LessonLinkModel(BaseModel):
    slug: str
    title: str


class PageModel(BaseModel):
    """The views, and the state with which the page opens."""

    views: dict[str, ViewModel]
    doors: dict[str, DoorModel]
    precisions: list[str]
    comparisons: list[str]
    about: list[tuple[str, list[str]]] = Field(description="Title and lines of each part: limits and promises.")
    watch: str = Field(description="The first checkpoint of the bundled training; empty: there is none.")
    opening: StateModel
    lessons: dict[str, list[LessonLinkModel]] = Field(description="The lessons that show a view, by view.")
