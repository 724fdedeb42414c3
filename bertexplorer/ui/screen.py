"""Screen: the components of the page, read into a State, and an Answer written back to them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.ui import pieces
from bertexplorer.ui.example import Example
from bertexplorer.ui.explore import DEFAULTS, VIEWS, Answer
from bertexplorer.ui.forms import Form, layers
from bertexplorer.ui.seen import Seen
from bertexplorer.ui.state import State, spans_of, write_spans

Updates = dict[Any, Any]
COUNTED = {"layer": "num_layers", "head": "num_heads"}  # settings that end where the checkpoint does


@dataclass(eq=False)
class Screen:
    """What a person sees and sets. *memory* keeps the state that was answered last, see Seen."""

    opening: State
    text: gr.Textbox
    pair: gr.Textbox
    typed: gr.HTML  # hears what is typed, and which turn's answer is shown
    strip: gr.HTML
    examples: gr.HTML
    against: gr.Radio
    other: gr.Textbox
    comparing: gr.Row
    upload: gr.UploadButton
    memory: gr.JSON
    message: gr.HTML
    nav: gr.HTML
    question: gr.HTML
    plot: gr.Plot
    frame: gr.HTML
    caption: gr.HTML
    ours: gr.HTML
    aside: gr.Column
    heading: gr.HTML
    other_plot: gr.Plot
    other_caption: gr.HTML
    difference: gr.Plot
    points: gr.HTML
    receipt: gr.HTML
    drawer: gr.Accordion
    checkpoint: gr.Dropdown
    precision: gr.Radio
    facts: gr.HTML
    ready: gr.Textbox
    moment: gr.Slider
    forms: dict[str, Form]

    def settings(self) -> list[tuple[str, str, Component]]:
        """(view, setting, component) for every setting of every view."""
        return [(view, name, c) for view, form in self.forms.items() for name, c in form.components.items()]

    @property
    def inputs(self) -> list[Component]:
        boxes = [self.memory, self.text, self.pair, self.precision, self.against, self.other]
        return [*boxes, *(c for _, _, c in self.settings())]

    @property
    def outputs(self) -> list[Any]:
        """What an answer may change."""
        return [
            *(self.memory, self.typed, self.strip, self.message, self.plot, self.frame, self.caption, self.receipt),
            *(self.nav, self.question, self.examples, self.drawer, self.facts, self.upload, self.moment),
            *(self.ours, self.aside, self.heading, self.other_plot, self.other_caption, self.difference),
            *(form.row for form in self.forms.values()),
            *(self.text, self.pair, self.checkpoint, self.precision, self.ready),
            *(self.against, self.other, self.comparing, *(c for _, _, c in self.settings())),
        ]

    @property
    def unchanged(self) -> Updates:
        return {self.message: gr.skip()}

    def show(self, answer: Answer, there: Mapping[str, Any]) -> Updates:
        """An answer as updates; what has no answer keeps its old, dimmed content. *there*: the state whose answer the
        page shows, for what need not be sent again; empty where that is not known."""
        state, checkpoint, tab = answer.state, answer.checkpoint, VIEWS[answer.state.view]
        out: Updates = {self.message: pieces.message(answer.error, missing=answer.missing)}
        if there.get("view") != state.view:
            out |= self.view(state.view)
        if answer.strip is not None:
            out[self.strip] = answer.strip
        loaded = ("view", "checkpoint", "precision")
        if checkpoint is not None and (answer.series or any(there.get(n) != getattr(state, n) for n in loaded)):
            label = f"{answer.title} · {checkpoint.num_parameters / 1e6:,.1f} M parameters · {checkpoint.precision}"
            out |= {self.drawer: gr.update(label=label), self.facts: pieces.facts(checkpoint)}
            out[self.moment] = at_moment(answer)
            own = self.forms[state.view].components
            counts = {name: getattr(checkpoint.config, count) for name, count in COUNTED.items() if name in own}
            out |= {own[name]: ended(own[name], most) for name, most in counts.items()}
        if answer.figure is not None and checkpoint is not None:
            framed = isinstance(answer.figure, str)
            out[self.frame] = pieces.framed(str(answer.figure), answer.height) if framed else ""
            if not framed:
                out[self.plot] = answer.figure
            out[self.caption] = pieces.caption(answer.said, tab.NOTE)
            out[self.receipt] = pieces.receipt(checkpoint, answer.took_ms, answer.title)
            if answer.beside or there.get("against") != "":
                out |= self.compared(answer)
        return out

    def blank(self) -> Updates:
        """No figure and nothing said of one."""
        hidden = {self.aside: gr.update(visible=False), self.difference: gr.update(visible=False)}
        return {self.plot: None, self.frame: "", self.caption: "", self.receipt: "", self.ours: "", **hidden}

    def view(self, chosen: str) -> Updates:
        """What belongs to a view before anything is computed: its question, examples and settings."""
        tab = VIEWS[chosen]
        return {
            self.question: pieces.question(tab),
            self.examples: pieces.examples(tab),
            self.nav: pieces.nav(chosen),
            self.upload: gr.update(visible="lines" in getattr(tab.analysis, "NEEDS", ())),
            **{form.row: gr.update(visible=view == chosen or "hidden") for view, form in self.forms.items()},
        }

    def compared(self, answer: Answer) -> Updates:
        """What stands beside an answer, or nothing."""
        beside, state = answer.beside, answer.state
        if beside is None:
            return {self.aside: gr.update(visible=False), self.difference: gr.update(visible=False), self.ours: ""}
        return {
            self.aside: gr.update(visible=True),
            self.ours: pieces.heading(state.text if state.against == "another text" else beside.ours),
            self.heading: pieces.heading(beside.name),
            self.other_plot: gr.update(value=beside.figure, visible=beside.figure is not None),
            self.other_caption: pieces.caption(beside.said, ""),
            self.difference: gr.update(visible=beside.difference is not None, value=beside.difference),
        }

    def fill(self, state: State, seen: Seen | None) -> Updates:
        """The boxes and settings of the view that *seen* has otherwise than *state*; all of them if it is None."""
        another, own = state.against.startswith("another"), self.forms[state.view].components
        boxes: dict[str, Updates] = {
            "text": {self.text: gr.update(value=state.text)},
            "pair": {self.pair: gr.update(value=state.pair, visible=bool(state.pair))},
            "against": {
                self.against: gr.update(value=state.against),
                self.comparing: gr.update(visible=True) if state.against else gr.skip(),
            },
            "other": {self.other: gr.update(value=state.other, visible=another)},
        }
        out: Updates = {}
        for name, update in boxes.items():
            if seen is None or seen.boxes[name] != getattr(state, name):
                out |= update
        for name, value in state.options.items():
            if name in own and (seen is None or seen.options[state.view][name] != value):
                out[own[name]] = gr.update(value=value)
        return out

    def joined(self, out: Updates, more: Updates) -> Updates:
        """Both, and where both change one component, both its changes."""
        both = {c: {**out[c], **change} for c, change in more.items() if isinstance(out.get(c), dict)}
        return {**out, **more, **both}


def ended(component: Component, last: int) -> Any:
    """A setting that is a layer or a head, ended where the checkpoint ends."""
    return gr.update(choices=layers(last)) if isinstance(component, gr.Dropdown) else gr.update(maximum=last)


def at_moment(answer: Answer) -> Any:
    """The slider through a training, at the checkpoint in use; away where it is of no training."""
    names = [saved.name for saved in answer.series]
    if answer.state.checkpoint not in names or len(names) < 2:
        return gr.update(visible=False)
    at = names.index(answer.state.checkpoint)
    label = f"Training: {answer.series[at].label.rpartition(', ')[2]}"
    return gr.update(visible=True, maximum=len(names) - 1, value=at, label=label)


def remembered(state: State) -> dict[str, Any]:
    return {**asdict(state), "hidden": write_spans(state.hidden), "picked": write_spans(state.picked)}


def shown_in(example: Example, state: State) -> State:
    """*state* with the text and the settings of *example*."""
    options: Mapping[str, Any] = {**DEFAULTS[state.view], **example.options}
    return replace(
        state, text=example.text, pair=example.pair, hidden=(), picked=spans_of(example.picked), options=options
    )
