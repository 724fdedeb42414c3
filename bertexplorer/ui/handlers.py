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
from bertexplorer.ui.explore import DEFAULTS, VIEWS, Answer, Explore
from bertexplorer.ui.forms import Form
from bertexplorer.ui.state import State, from_link, spans_of, write_spans
from bertexplorer.ui.turns import Turns

Updates = dict[Any, Any]


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
        return [self.memory, self.strip, self.message, self.plot, self.caption, self.receipt]

    @property
    def all(self) -> list[Any]:
        """What a link, an example, another view or another checkpoint may change."""
        boxes = [self.text, self.pair, self.view, self.question, self.examples, self.ready]
        chooser = [self.drawer, self.checkpoint, self.precision, self.facts]
        forms = [*(form.row for form in self.forms.values()), *(c for _, _, c in self.settings())]
        return [*self.shown, *boxes, *chooser, *forms]

    def state(self, values: tuple[Any, ...], hidden: tuple[Span, ...] | None = None) -> State:
        """What the components say, after an edit of the text if there was one. *hidden*: the spans hidden since."""
        memory, text, pair, precision, view, *given = values
        memory = memory if isinstance(memory, dict) else {}
        before = State(
            text=str(memory.get("text", self.opening.text)),
            pair=str(memory.get("pair", "")),
            hidden=spans_of(str(memory.get("hidden", ""))) if hidden is None else hidden,
            checkpoint=str(memory.get("checkpoint", self.opening.checkpoint)),
            precision=precision if precision in PRECISIONS else self.opening.precision,
            view=view if view in VIEWS else self.opening.view,
        )
        options = {
            name: value for (of, name, _), value in zip(self.settings(), given, strict=True) if of == before.view
        }
        return replace(self.explore.typed(before, text, pair), options=options)

    def show(self, answer: Answer) -> Updates:
        """An answer as updates; what has no answer keeps its old, dimmed content."""
        state = answer.state
        out: Updates = {
            self.memory: {**asdict(state), "hidden": write_spans(state.hidden)},
            self.message: pieces.message(answer.error),
        }
        if answer.strip is not None:
            out[self.strip] = answer.strip
        if answer.figure is not None and answer.checkpoint is not None:
            out[self.plot] = answer.figure
            out[self.caption] = pieces.caption(answer.said, VIEWS[state.view].NOTE)
            out[self.receipt] = pieces.receipt(answer.checkpoint, answer.took_ms)
        return out

    def show_all(self, answer: Answer) -> Updates:
        """The same, with the view, its settings and the picker brought in line with the state."""
        state, checkpoint = answer.state, answer.checkpoint
        out = {
            **self.show(answer),
            self.view: state.view,
            self.question: pieces.question(VIEWS[state.view]),
            self.examples: pieces.examples(VIEWS[state.view]),
            **{form.row: gr.update(visible=view == state.view) for view, form in self.forms.items()},
        }
        own = self.forms[state.view].components
        out |= {own[name]: value for name, value in state.options.items() if name in own}
        if checkpoint is not None:
            label = f"{checkpoint.name} · {checkpoint.num_parameters / 1e6:,.1f} M parameters · {checkpoint.precision}"
            out |= {self.drawer: gr.update(label=label), self.facts: pieces.facts(checkpoint)}
            out |= {self.checkpoint: state.checkpoint, self.precision: state.precision}
        return out

    def newest(self, request: gr.Request, answer: Callable[[], Updates], turn: int = 0) -> Updates:
        """The updates of *answer*, without what it shows if the same browser tab has asked for another meanwhile: since
        now, or since it took *turn*."""
        tab = request.session_hash or ""
        turn = turn or self.turns.take(tab)
        out = answer()
        if self.turns.holds(tab, turn):
            return out
        late = [*self.shown, self.text, self.pair]
        return {key: value for key, value in out.items() if key not in late} or {self.message: gr.skip()}

    def boxes(self, state: State) -> Updates:
        """The text boxes, where something else than the person's typing fills them."""
        return {self.text: state.text, self.pair: gr.update(value=state.pair, visible=bool(state.pair))}

    def edit(self, request: gr.Request, *values: Any) -> Updates:
        """A box or a setting changed, by a person or by the answer to another event, which then is on the screen."""
        state = self.state(values)
        if isinstance(values[0], dict) and values[0] == {**asdict(state), "hidden": write_spans(state.hidden)}:
            return {self.message: gr.skip()}
        return self.newest(request, lambda: self.show(self.explore.answer(state)))

    def switch(self, request: gr.Request, *values: Any) -> Updates:
        """Another view, or another precision."""
        return self.newest(request, lambda: self.show_all(self.explore.answer(self.state(values))))

    def unhide(self, request: gr.Request, *values: Any) -> Updates:
        return self.newest(request, lambda: self.show(self.explore.answer(self.state(values, hidden=()))))

    def press(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """A chip was pressed. The browser says which spans are hidden now, and which typed mask to fill, if any."""
        turn = self.turns.take(request.session_hash or "")
        state = self.state(values, spans_of(str(event._data.get("hidden", ""))))
        fill = spans_of(str(event._data.get("fill", "")))
        if fill:
            try:
                state = self.explore.filled(state, fill[0])
            except ExplorerError as error:
                return {self.message: pieces.message(str(error))}
        boxes = self.boxes(state) if fill else {}
        out = self.newest(request, lambda: {**self.show(self.explore.answer(state)), **boxes}, turn)
        if isinstance(out.get(self.strip), str):  # tells the browser which of its presses this answers
            number = int(event._data.get("press", 0))
            out[self.strip] = out[self.strip].replace('data-press=""', f'data-press="{number}"', 1)
        return out

    def pick(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """An example was pressed: its text and its settings take the place of the person's."""
        state = self.state(values)
        examples = VIEWS[state.view].EXAMPLES
        number = event._data.get("example")
        if not isinstance(number, int) or not 0 <= number < len(examples):
            return {self.message: pieces.message("There is no such example. Pick one of those shown.")}
        example = examples[number]
        options = {**DEFAULTS[state.view], **example.options}
        state = replace(state, text=example.text, pair=example.pair, hidden=(), options=options)
        return self.newest(request, lambda: {**self.show_all(self.explore.answer(state)), **self.boxes(state)})

    def open(self, request: gr.Request) -> Iterator[Updates]:
        """The page as its link asks for it, or with the opening example."""
        turn = self.turns.take(request.session_hash or "")
        state, error = from_link(dict(request.query_params), self.opening, DEFAULTS), ""
        try:
            state = replace(state, options=asdict(self.explore.options(state)))
        except ExplorerError as caught:
            state, error = replace(state, options=DEFAULTS[state.view]), f"{caught} The link's settings are left out."
        try:
            for line in self.explore.fetch(state.checkpoint):
                yield {self.message: pieces.message(line, error=False)}
            self.explore.library.get(state.checkpoint, state.precision)
        except ExplorerError as caught:
            error = f"{caught} Shown with {self.opening.checkpoint} instead."
            state = replace(state, checkpoint=self.opening.checkpoint, precision=self.opening.precision)
        out = self.newest(request, lambda: {**self.show_all(self.explore.answer(state)), **self.boxes(state)}, turn)
        yield {**out, self.message: pieces.message(error)} if error else out

    def fetch(self, name: str | None, *values: Any) -> Iterator[Updates]:
        """Another checkpoint was chosen: bring it here and load it; *ready* names it if that went well."""
        state, name = self.state(values), (name or "").strip()
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
        state = replace(self.state(values), checkpoint=ready)
        return self.newest(request, lambda: self.show_all(self.explore.answer(state)))

    def export(self, kind: str, *values: Any) -> tuple[str, str]:
        """(what the browser saves, message)"""
        try:
            name, content = self.explore.export(self.state(values), kind)
        except ExplorerError as error:
            return "", pieces.message(str(error))
        return json.dumps({"name": name, "content": content}), ""
