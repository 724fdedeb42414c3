"""Handlers: the components of the page, read into a State, and an Answer written back to them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import gradio as gr
from gradio.components import Component

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Span
from bertexplorer.store.library import PRECISIONS
from bertexplorer.ui import pieces
from bertexplorer.ui.example import Example
from bertexplorer.ui.explore import DEFAULTS, VIEWS, Answer, Explore
from bertexplorer.ui.forms import Form
from bertexplorer.ui.state import State, from_link, spans_of, write_spans
from bertexplorer.ui.turns import Turns

Updates = dict[Any, Any]
EXAMPLES = {example.text for tab in VIEWS.values() for example in tab.EXAMPLES}


@dataclass(eq=False)
class Handlers:
    """One method an event. *memory* keeps the state that was answered last: in it the hidden spans with the texts that
    they count in, and the checkpoint in use (the box may hold one that could not be loaded)."""

    explore: Explore
    opening: State
    text: gr.Textbox
    pair: gr.Textbox
    strip: gr.HTML
    examples: gr.HTML
    memory: gr.JSON
    message: gr.HTML
    view: gr.Radio
    question: gr.HTML
    plot: gr.Plot
    caption: gr.HTML
    receipt: gr.HTML
    drawer: gr.Accordion
    checkpoint: gr.Dropdown
    precision: gr.Radio
    facts: gr.HTML
    ready: gr.Textbox
    forms: dict[str, Form]
    turns: Turns = field(default_factory=Turns)

    def settings(self) -> list[tuple[str, str, Component]]:
        """(view, setting, component) for every setting of every view."""
        return [(view, name, c) for view, form in self.forms.items() for name, c in form.components.items()]

    @property
    def inputs(self) -> list[Component]:
        return [self.memory, self.text, self.pair, self.precision, self.view, *(c for _, _, c in self.settings())]

    @property
    def shown(self) -> list[Any]:
        """What every answer may change."""
        return [
            *(self.memory, self.strip, self.message, self.plot, self.caption, self.receipt),
            *(self.question, self.examples, self.drawer, self.facts),
            *(form.row for form in self.forms.values()),
        ]

    @property
    def all(self) -> list[Any]:
        """What a link, an example or another checkpoint may change besides: what a person sets."""
        boxes = [self.text, self.pair, self.view, self.checkpoint, self.precision, self.ready]
        return [*self.shown, *boxes, *(c for _, _, c in self.settings())]

    def state(self, tab: str, values: tuple[Any, ...], hidden: tuple[Span, ...] | None = None) -> State:
        """What the components say, after an edit of the text if there was one. What they do not say is as this *tab* of
        a browser asked last, or else as its memory has it. *hidden*: the spans hidden since."""
        memory, text, pair, precision, view, *given = values
        before = self.turns.asked(tab) or recalled(memory, self.opening)
        before = replace(
            before,
            hidden=before.hidden if hidden is None else hidden,
            precision=precision if precision in PRECISIONS else self.opening.precision,
            view=view if view in VIEWS else self.opening.view,
        )
        options = {
            name: value for (of, name, _), value in zip(self.settings(), given, strict=True) if of == before.view
        }
        return replace(self.explore.typed(before, text, pair), options=options)

    def show(self, answer: Answer) -> Updates:
        """An answer as updates; what has no answer keeps its old, dimmed content."""
        state, checkpoint, tab = answer.state, answer.checkpoint, VIEWS[answer.state.view]
        out: Updates = {
            self.memory: remembered(state),
            self.message: pieces.message(answer.error),
            self.question: pieces.question(tab),
            self.examples: pieces.examples(tab),
            **{form.row: gr.update(visible=view == state.view or "hidden") for view, form in self.forms.items()},
        }
        if answer.strip is not None:
            out[self.strip] = answer.strip
        if checkpoint is not None:
            label = f"{checkpoint.name} · {checkpoint.num_parameters / 1e6:,.1f} M parameters · {checkpoint.precision}"
            out |= {self.drawer: gr.update(label=label), self.facts: pieces.facts(checkpoint)}
        if answer.figure is not None and checkpoint is not None:
            out[self.plot] = answer.figure
            out[self.caption] = pieces.caption(answer.said, tab.NOTE)
            out[self.receipt] = pieces.receipt(checkpoint, answer.took_ms)
        return out

    def boxes(self, state: State) -> Updates:
        """The boxes and settings that a person fills, where something else fills them."""
        own = self.forms[state.view].components
        settings = {own[name]: value for name, value in state.options.items() if name in own}
        return {self.text: state.text, self.pair: gr.update(value=state.pair, visible=bool(state.pair)), **settings}

    def newest(
        self, tab: str, state: State, more: Callable[[State], Updates] | None = None, instead: State | None = None
    ) -> Updates:
        """The answer to *state* and what *more* adds; nothing if the same browser tab asked for another meanwhile.
        *instead*: what to answer, boxes and all, if *state* has no answer."""
        turn = self.turns.take(tab, state)
        answer = self.explore.answer(state)
        if not self.turns.holds(tab, turn):
            return {self.message: gr.skip()}
        if answer.error and instead is not None:
            return self.newest(tab, instead, self.boxes)
        return {**self.show(answer), **(more(answer.state) if more else {})}

    def edit(self, request: gr.Request, *values: Any) -> Updates:
        """A box or a setting changed, by a person or by the answer to another event, which then is on the screen."""
        tab = tab_of(request)
        state = self.state(tab, values)
        opening = values[0] is None and (state.text, state.pair) == (self.opening.text, "")
        if opening or values[0] == remembered(state):
            return {self.message: gr.skip()}
        return self.newest(tab, state)

    def switch(self, request: gr.Request, *values: Any) -> Updates:
        """Another view, or another precision. A view that cannot answer an example of another one takes its own."""
        tab = tab_of(request)
        state = self.state(tab, values)
        untouched = state.text in EXAMPLES and not state.hidden
        return self.newest(tab, state, instead=shown_in(VIEWS[state.view].EXAMPLES[0], state) if untouched else None)

    def unhide(self, request: gr.Request, *values: Any) -> Updates:
        tab = tab_of(request)
        return self.newest(tab, self.state(tab, values, hidden=()))

    def press(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """A chip was pressed. The browser says which spans are hidden now, and which typed mask to fill, if any."""
        tab = tab_of(request)
        state = self.state(tab, values, spans_of(str(event._data.get("hidden", ""))))
        fill = spans_of(str(event._data.get("fill", "")))
        if fill:
            turn = self.turns.take(tab, state)
            try:
                state = self.explore.filled(state, fill[0])
            except ExplorerError as error:
                return {self.message: pieces.message(str(error))}
            if not self.turns.holds(tab, turn):
                return {self.message: gr.skip()}
        out = self.newest(tab, state, self.boxes if fill else None)
        if isinstance(out.get(self.strip), str):  # tells the browser which of its presses this answers
            number = int(event._data.get("press", 0))
            out[self.strip] = out[self.strip].replace('data-press=""', f'data-press="{number}"', 1)
        return out

    def pick(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """An example was pressed: its text and its settings take the place of the person's."""
        tab = tab_of(request)
        state = self.state(tab, values)
        examples = VIEWS[state.view].EXAMPLES
        number = event._data.get("example")
        if not isinstance(number, int) or not 0 <= number < len(examples):
            return {self.message: pieces.message("There is no such example. Pick one of those shown.")}
        return self.newest(tab, shown_in(examples[number], state), self.boxes)

    def open(self, request: gr.Request) -> Iterator[Updates]:
        """The page as its link asks for it, or with the opening example."""
        tab = tab_of(request)
        if self.turns.asked(tab):  # the person was quicker
            yield {self.message: gr.skip()}
            return
        state, error = from_link(dict(request.query_params), self.opening, DEFAULTS), ""
        try:
            state = replace(state, options=asdict(self.explore.options(state)))
        except ExplorerError as caught:
            state, error = replace(state, options=DEFAULTS[state.view]), f"{caught} The link's settings are left out."
        turn = self.turns.take(tab, None)
        try:
            for line in self.explore.fetch(state.checkpoint):
                yield {self.message: pieces.message(line, error=False)}
            self.explore.library.get(state.checkpoint, state.precision)
        except ExplorerError as caught:
            error = f"{caught} Shown with {self.opening.checkpoint} instead."
            state = replace(state, checkpoint=self.opening.checkpoint, precision=self.opening.precision)
        if not self.turns.holds(tab, turn):  # typed while this was on its way
            yield {self.message: pieces.message(error)} if error else {self.message: gr.skip()}
            return
        out = self.newest(tab, state, lambda state: {**self.boxes(state), self.view: state.view, **self.chosen(state)})
        yield {**out, self.message: pieces.message(error)} if error else out

    def fetch(self, request: gr.Request, name: str | None, *values: Any) -> Iterator[Updates]:
        """Another checkpoint was chosen: bring it here and load it; *ready* names it if that went well."""
        state, name = self.state(tab_of(request), values), (name or "").strip()
        try:
            for line in self.explore.fetch(name):
                yield {self.message: pieces.message(line, error=False), self.ready: ""}
            self.explore.library.get(name, state.precision)
        except ExplorerError as error:
            yield {self.message: pieces.message(f"{error} Still using {state.checkpoint}."), self.ready: ""}
            return
        yield {self.ready: name}

    def use(self, request: gr.Request, ready: str | None, *values: Any) -> Updates:
        """The view answered again with the checkpoint that was fetched, for the text as it stands by now."""
        if not ready:
            return {self.ready: ""}
        tab = tab_of(request)
        return self.newest(tab, replace(self.state(tab, values), checkpoint=ready), self.chosen)

    def chosen(self, state: State) -> Updates:
        """The picker in line with the checkpoint in use, its list with what is on this disk by now."""
        choices = pieces.choices(self.explore.library.offline())
        return {self.checkpoint: gr.update(value=state.checkpoint, choices=choices), self.precision: state.precision}

    def export(self, kind: str, *values: Any) -> tuple[str, str]:
        """(what the browser saves, message)"""
        try:
            name, content = self.explore.export(self.state("", values), kind)
        except ExplorerError as error:
            return "", pieces.message(str(error))
        return json.dumps({"name": name, "content": content}), ""


def tab_of(request: gr.Request) -> str:
    """What tells one open page from another; it is new at every reload."""
    return request.session_hash or ""


def remembered(state: State) -> dict[str, Any]:
    return {**asdict(state), "hidden": write_spans(state.hidden)}


def recalled(memory: Any, opening: State) -> State:
    """The state in a page's memory, which comes from the browser: whatever is odd in it is as in *opening*."""
    memory = memory if isinstance(memory, dict) else {}
    return replace(
        opening,
        text=str(memory.get("text", opening.text)),
        pair=str(memory.get("pair", "")),
        checkpoint=str(memory.get("checkpoint", opening.checkpoint)),
        hidden=spans_of(str(memory.get("hidden", ""))),
    )


def shown_in(example: Example, state: State) -> State:
    """*state* with the text and the settings of *example*."""
    options = {**DEFAULTS[state.view], **example.options}
    return replace(state, text=example.text, pair=example.pair, hidden=(), options=options)
