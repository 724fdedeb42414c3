"""Handlers: what happens at each event of the page: the screen read, a question answered, the screen written."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.ui import pieces
from bertexplorer.ui.explore import DEFAULTS, VIEWS, Explore
from bertexplorer.ui.screen import Screen, Updates, remembered, shown_in
from bertexplorer.ui.state import State, from_link, spans_of
from bertexplorer.ui.tabs import chips
from bertexplorer.ui.turns import Turns

SENT = "sent"  # what assets/stamp.js adds to the memory
EXAMPLES = {example.text for tab in VIEWS.values() for example in tab.EXAMPLES}


@dataclass(eq=False)
class Handlers:
    """One method an event."""

    explore: Explore
    screen: Screen
    turns: Turns = field(default_factory=Turns)

    @property
    def opening(self) -> State:
        return self.screen.opening

    def state(self, tab: str, values: tuple[Any, ...], **changed: Any) -> State:
        """What this *tab* of a browser asks for now. *changed*: what an event says beside the components. Where an
        event comes late, after one that was sent later, the boxes are as that one had them."""
        asked, (memory, *boxes) = self.turns.asked(tab), values
        if self.turns.late(tab, sent(memory)) and asked:
            boxes[:5] = asked.text, asked.pair, asked.precision, asked.against, asked.other
        return self.screen.state(self.explore, asked, (memory, *boxes), **changed)

    def newest(
        self,
        tab: str,
        state: State,
        more: Callable[[State], Updates] | None = None,
        *,
        filled: State | None = None,
        instead: State | None = None,
        turn: int = 0,
    ) -> Updates:
        """The answer to *state* and what *more* adds; nothing if the same browser tab asked for another meanwhile.
        *filled*: what stood in the boxes that the answer is to fill, if it is. *instead*: what to answer, boxes and
        all, if *state* has no answer. *turn*: what was taken for it already, 0 if nothing was."""
        turn = turn or self.turns.take(tab, state)
        answer = self.explore.answer(state)
        if not self.turns.holds(tab, turn):
            return {self.screen.message: gr.skip()}
        if answer.error and instead is not None:
            return self.newest(tab, instead, filled=state)
        if filled:
            more = more or self.screen.boxes
            self.turns.fill(tab, filled)
        return {**self.screen.show(answer), **(more(answer.state) if more else {})}

    def choose(self, request: gr.Request, *values: Any) -> Updates:
        """A person chose another setting."""
        tab = tab_of(request)
        return self.newest(tab, self.state(tab, values))

    def edit(self, request: gr.Request, *values: Any) -> Updates:
        """A box changed, by a person or by the answer to another event, which then is on the screen."""
        tab = tab_of(request)
        state = self.state(tab, values)
        if self.turns.settling(tab, state):
            return {self.screen.message: gr.skip()}
        known = {key: value for key, value in (values[0] or {}).items() if key != SENT}
        opening = not known and (state.text, state.pair) == (self.opening.text, "")
        if opening or known == remembered(state):
            return {self.screen.message: gr.skip()}
        return self.newest(tab, state)

    def switch(self, request: gr.Request, event: gr.EventData, *values: Any) -> Iterator[Updates]:
        """Another view: its question at once, its figure when it is there. One that cannot answer an example of another
        view takes its own."""
        tab, view = tab_of(request), event._data.get("view")
        if view not in VIEWS:
            yield {self.screen.message: pieces.message(f"There is no view {view!r:.60}. Pick one of those shown.")}
            return
        state = self.state(tab, values, view=view)
        untouched = state.text in EXAMPLES and not state.hidden
        turn = self.turns.take(tab, state)  # before the first yield: what a person does meanwhile is newer
        yield self.screen.view(state.view)
        instead = shown_in(VIEWS[view].EXAMPLES[0], state) if untouched else None
        yield self.newest(tab, state, instead=instead, turn=turn)

    def unhide(self, request: gr.Request, *values: Any) -> Updates:
        tab = tab_of(request)
        return self.newest(tab, self.state(tab, values, hidden=(), picked=()))

    def press(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """A chip was pressed. The browser says which spans are hidden or picked now, and which typed mask to fill."""
        tab, data = tab_of(request), event._data
        number = data.get("press") if isinstance(data.get("press"), int) else 0
        if self.turns.overtaken(tab, number):
            return {self.screen.message: gr.skip()}
        changed = {kind: spans_of(str(data[kind])) for kind in ("hidden", "picked") if kind in data}
        state = self.state(tab, values, **changed)
        fill = spans_of(str(data.get("fill", "")))
        known = state
        if fill and chips(VIEWS[state.view]) == "hide":
            turn = self.turns.take(tab, state)
            try:
                state = self.explore.filled(state, fill[0])
            except ExplorerError as error:
                return {self.screen.message: pieces.message(str(error))}
            if not self.turns.holds(tab, turn):
                return {self.screen.message: gr.skip()}
        out = self.newest(tab, state, filled=known if fill else None)
        if isinstance(out.get(self.screen.strip), str):  # tells the browser which of its presses this answers
            out[self.screen.strip] = out[self.screen.strip].replace('data-press=""', f'data-press="{number}"', 1)
        return out

    def jump(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """A point of the figure was pressed that leads somewhere: to other settings, another view, a picked token."""
        tab, data = tab_of(request), event._data
        known = self.state(tab, values)
        view = data.get("view") if data.get("view") in VIEWS else known.view
        wanted = data.get("set") if isinstance(data.get("set"), dict) else {}
        picked = spans_of(str(data.get("picked", ""))) or known.picked
        state = self.state(tab, values, view=view, picked=picked)
        options = {name: value for name, value in wanted.items() if name in DEFAULTS[view]}
        held = state.options if view == known.view else DEFAULTS[view]
        return self.newest(tab, replace(state, options={**held, **options}), filled=state)

    def upload(self, request: gr.Request, file: str | None, *values: Any) -> Updates:
        """Lines were uploaded: they are kept, and the view is about them."""
        tab = tab_of(request)
        state = self.state(tab, values)
        try:
            key, told = self.explore.keep_lines(Path(file or ""))
        except (ExplorerError, OSError) as error:
            return {self.screen.message: pieces.message(str(error))}
        out = self.newest(tab, replace(state, options={**state.options, "lines": key}), filled=state)
        known = out.get(self.screen.message) == pieces.message("")
        return {**out, self.screen.message: pieces.message(told, error=False)} if known else out

    def move(self, request: gr.Request, at: float, *values: Any) -> Updates:
        """The slider through a training was moved: the same with the checkpoint of that moment."""
        tab = tab_of(request)
        state = self.state(tab, values)
        series = self.explore.library.series(state.checkpoint)
        if not 0 <= int(at) < len(series):
            return {self.screen.message: pieces.message("That moment of the training is no longer there.")}
        return self.newest(tab, replace(state, checkpoint=series[int(at)].name), self.chosen)

    def compare(self, request: gr.Request, *values: Any) -> Updates:
        """Something else is asked for beside the answer, or nothing any more."""
        tab = tab_of(request)
        state = self.state(tab, values)
        shown = {self.screen.other: gr.update(visible=state.against.startswith("another"))}
        if state.against.startswith("another") and not state.other.strip():
            return {**shown, self.screen.message: pieces.message(pieces.OTHER[state.against], error=False)}
        return {**self.newest(tab, state), **shown}

    def pick(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """An example was pressed: its text and its settings take the place of the person's."""
        tab = tab_of(request)
        state = self.state(tab, values)
        examples = VIEWS[state.view].EXAMPLES
        number = event._data.get("example")
        if not isinstance(number, int) or not 0 <= number < len(examples):
            return {self.screen.message: pieces.message("There is no such example. Pick one of those shown.")}
        return self.newest(tab, shown_in(examples[number], state), filled=state)

    def open(self, request: gr.Request) -> Iterator[Updates]:
        """The page as its link asks for it, or with the opening example."""
        tab = tab_of(request)
        if self.turns.asked(tab):  # the person was quicker
            yield {self.screen.message: gr.skip()}
            return
        state, error = from_link(dict(request.query_params), self.opening, DEFAULTS), ""
        try:
            state = replace(state, options=asdict(self.explore.options(state)))
        except ExplorerError as caught:
            state, error = replace(state, options=DEFAULTS[state.view]), f"{caught} The link's settings are left out."
        turn = self.turns.take(tab, None)
        try:
            for line in self.explore.fetch(state.checkpoint):
                yield {self.screen.message: pieces.message(line, error=False)}
            self.explore.library.get(state.checkpoint, state.precision)
        except ExplorerError as caught:
            error = f"{caught} Shown with {self.opening.checkpoint} instead."
            state = replace(state, checkpoint=self.opening.checkpoint, precision=self.opening.precision)
        if not self.turns.holds(tab, turn):  # typed while this was on its way
            yield {self.screen.message: pieces.message(error)} if error else {self.screen.message: gr.skip()}
            return
        out = self.newest(
            tab,
            state,
            lambda state: {**self.screen.boxes(state), **self.chosen(state)},
            filled=replace(self.opening, view=state.view, options=DEFAULTS[state.view]),
        )
        yield {**out, self.screen.message: pieces.message(error)} if error else out

    def fetch(self, request: gr.Request, name: str | None, *values: Any) -> Iterator[Updates]:
        """Another checkpoint was chosen: bring it here and load it; *ready* names it if that went well."""
        state, name = self.state(tab_of(request), values), (name or "").strip()
        try:
            for line in self.explore.fetch(name):
                yield {self.screen.message: pieces.message(line, error=False), self.screen.ready: ""}
            self.explore.library.get(name, state.precision)
        except ExplorerError as error:
            yield {
                self.screen.message: pieces.message(f"{error} Still using {state.checkpoint}."),
                self.screen.ready: "",
            }
            return
        yield {self.screen.ready: name}

    def use(self, request: gr.Request, ready: str | None, *values: Any) -> Updates:
        """The view answered again with the checkpoint that was fetched, for the text as it stands by now."""
        if not ready:
            return {self.screen.ready: ""}
        tab = tab_of(request)
        return self.newest(tab, replace(self.state(tab, values), checkpoint=ready), self.chosen)

    def chosen(self, state: State) -> Updates:
        """The picker in line with the checkpoint in use, its list with what is on this disk by now."""
        choices = pieces.choices(self.explore.library.offline(), self.explore.library.trained())
        return {
            self.screen.checkpoint: gr.update(value=state.checkpoint, choices=choices),
            self.screen.precision: state.precision,
        }

    def export(self, kind: str, *values: Any) -> tuple[str, str]:
        """(what the browser saves, message)"""
        try:
            name, content = self.explore.export(self.state("", values), kind)
        except ExplorerError as error:
            return "", pieces.message(str(error))
        return json.dumps({"name": name, "content": content}), ""


def sent(memory: Any) -> float:
    """When the page sent an event, in ms of its own clock; 0 where it does not say."""
    at = memory.get(SENT) if isinstance(memory, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def tab_of(request: gr.Request) -> str:
    """What tells one open page from another; it is new at every reload."""
    return request.session_hash or ""
