"""Handlers: what happens at each event of the page: the screen read, a question answered, the screen written."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

from bertexplorer.engine.lanes import Lanes
from bertexplorer.engine.progress import Stopped
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import TOKENS, Span
from bertexplorer.ui import pieces
from bertexplorer.ui.explore import DEFAULTS, SLOW, VIEWS, Answer, Explore
from bertexplorer.ui.link import followed, no_view
from bertexplorer.ui.screen import Screen, Updates, remembered, shown_in
from bertexplorer.ui.seen import Seen, number, read, untouched
from bertexplorer.ui.state import State, spans_of
from bertexplorer.ui.turns import Turns


@dataclass(eq=False)
class Handlers:
    """One method an event. Each says how it changes what its tab of a browser asked last, and gets that answered."""

    explore: Explore
    screen: Screen
    turns: Turns = field(default_factory=Turns)
    lanes: Lanes = field(default_factory=Lanes)
    who: str = ""  # whose place in a line it is

    def of(self, owner: str) -> "Handlers":
        """The same for who asks: it sees what *owner* may see."""
        return replace(self, explore=self.explore.of(owner), who=owner)

    @property
    def opening(self) -> State:
        return self.screen.opening

    def seen(self, values: tuple[Any, ...]) -> Seen:
        return read(values, [(view, name) for view, name, _ in self.screen.settings()], self.opening)

    def take(self, tab: str, seen: Seen, change: Callable[[State], State] = lambda state: state) -> int:
        """The turn of what *change* makes of what is asked; 0 for an event that a later one has overtaken."""

        def asks(asked: State | None, before: Seen | None) -> State:
            return change(seen.asks(self.explore, asked, self.opening, before))

        return self.turns.take(tab, asks, seen)

    def ask(self, request: gr.Request, seen: Seen, change: Callable[[State], State] = lambda state: state) -> Updates:
        """The answer to what is asked for once *change* is made."""
        tab = tab_of(request)
        return self.answer(tab, self.take(tab, seen, change), seen)

    def answer(self, tab: str, turn: int, seen: Seen) -> Updates:
        """The answer to *turn*, and what it fills of the boxes that are not as it has them; nothing if the same tab
        asked for another meanwhile. *seen*: what the page held then."""
        state = self.turns.asked(tab)
        if not turn or state is None or not self.turns.holds(tab, turn):
            return self.screen.unchanged
        try:
            stale = partial(self.turns.overtaken, tab, turn)
            with self.lanes.work(self.who, tab, slow=state.view in SLOW, stale=stale):
                return self.shown(tab, turn, seen, self.explore.answer(state))
        except (ExplorerError, Stopped) as told:
            return self.shown(tab, turn, seen, Answer(state, error=str(told)))

    def shown(self, tab: str, turn: int, seen: Seen, answer: Answer) -> Updates:
        """What *answer* changes on the page; nothing if it is not the one to *turn* of *tab* that is waited for."""
        if not self.turns.holds(tab, turn):
            return self.screen.unchanged
        state = answer.state
        shown = self.turns.tab(tab)
        there = seen.memory if seen.turn and seen.turn == shown.answered else {}
        shown.answered = 0 if answer.error else turn
        out = self.screen.show(answer, there)
        if answer.figure is not None:
            shown.drawn = state.view
        elif shown.drawn != state.view:  # a figure never stands under the heading of another view
            out |= self.screen.blank()
            shown.drawn = ""
        out |= {self.screen.memory: {**remembered(state), "turn": turn}, self.screen.typed: pieces.turn(turn)}
        # an earlier answer may be on its way to boxes that a person fills at this moment
        surprised = seen.turn < self.turns.filled(tab)
        filled = self.screen.fill(state, None if surprised else seen)
        if filled and not surprised:
            self.turns.fill(tab, turn)
        return self.screen.joined(out, filled)

    def choose(self, request: gr.Request, *values: Any) -> Updates:
        """A person chose another setting."""
        return self.ask(request, self.seen(values))

    def edit(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """A person typed; the browser says what the boxes hold that were typed in (see assets/typed.js)."""
        typed = event._data.get("typed")
        said = {str(k): str(v) for k, v in typed.items()} if isinstance(typed, dict) else {}

        def change(state: State) -> State:
            return self.explore.typed(state, said.get("text", state.text), said.get("pair", state.pair))

        return self.ask(request, self.seen(values).typed(said), change)

    def switch(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """Another view of the same text. Heading, settings, figure and sentence come in one answer. (They came in two,
        of a generator; gradio turns one into the next in place, and a figure that was not drawn yet was lost.)"""
        seen, view, link = self.seen(values), event._data.get("view"), event._data.get("link")
        if isinstance(link, str):  # Back or Forward
            state, _ = followed(self.explore, dict(parse_qsl(link.removeprefix("?"))), self.opening)
            return self.with_picker(self.ask(request, seen, lambda _: state))
        if view not in VIEWS:
            self.take(tab_of(request), seen)
            return {self.screen.message: pieces.message(no_view(view))}

        def change(state: State) -> State:
            return state if state.view == view else replace(state, view=view, options=seen.options[view])

        return self.ask(request, seen, change)

    def unhide(self, request: gr.Request, *values: Any) -> Updates:
        return self.ask(request, self.seen(values), lambda state: replace(state, hidden=(), picked=()))

    def press(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """A chip was pressed. The browser says which spans are hidden or picked now, and which typed mask to fill."""
        data, seen = event._data, self.seen(values)

        def spans(kind: str, state: State) -> tuple[Span, ...]:
            """Those of the text on the screen, in the text that is asked for by now."""
            found, there = spans_of(str(data.get(kind, ""))), seen.state(state)
            if (there.text, there.pair) == (state.text, state.pair):
                return found
            there = replace(there, hidden=tuple(span for span in found if span.side != TOKENS), picked=())
            return self.explore.typed(there, state.text, state.pair).hidden

        def change(state: State) -> State:
            fill = spans("fill", state)
            hidden = spans("hidden", state) if "hidden" in data else state.hidden
            picked = spans("picked", state) if "picked" in data else state.picked
            state = replace(state, hidden=hidden, picked=picked)
            return self.explore.filled(state, fill[0]) if fill else state

        try:
            out = self.ask(request, seen, change)
        except ExplorerError as error:
            return {self.screen.message: pieces.message(str(error))}
        if isinstance(out.get(self.screen.strip), str):  # tells the browser which of its presses this answers
            told = f'data-press="{number(data.get("press"))}"'
            out[self.screen.strip] = out[self.screen.strip].replace('data-press=""', told, 1)
        return out

    def jump(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """A point of the figure was pressed that leads somewhere: to other settings, another view, a picked token."""
        data = event._data

        def change(state: State) -> State:
            view = data.get("view") if data.get("view") in VIEWS else state.view
            wanted = data.get("set") if isinstance(data.get("set"), dict) else {}
            options = {name: value for name, value in wanted.items() if name in DEFAULTS[view]}
            held = state.options if view == state.view else DEFAULTS[view]
            picked = spans_of(str(data.get("picked", ""))) or state.picked
            return replace(state, view=view, picked=picked, options={**held, **options})

        return self.ask(request, self.seen(values), change)

    def upload(self, request: gr.Request, *values: Any) -> Updates:
        """Lines were uploaded: they are kept, and the view is about them."""
        seen, file = self.seen(values[:-1]), values[-1]
        try:
            key, told = self.explore.keep_lines(Path(file or ""))
        except (ExplorerError, OSError) as error:
            return {self.screen.message: pieces.message(str(error))}
        out = self.ask(request, seen, lambda s: replace(s, options={**s.options, "lines": key}))
        known = out.get(self.screen.message) == pieces.message("")
        return {**out, self.screen.message: pieces.message(told, error=False)} if known else out

    def move(self, request: gr.Request, *values: Any) -> Updates:
        """The slider through a training was moved: the same with the checkpoint of that moment."""
        tab, seen, at = tab_of(request), self.seen(values[:-1]), values[-1]
        series = self.explore.library.series(seen.asks(self.explore, self.turns.asked(tab), self.opening).checkpoint)
        if not 0 <= int(at) < len(series):
            return {self.screen.message: pieces.message("That moment of the training is no longer there.")}
        turn = self.take(tab, seen, lambda state: replace(state, checkpoint=series[int(at)].name))
        out = self.with_picker(self.answer(tab, turn, seen))
        if isinstance(out.get(self.screen.moment), dict):
            out[self.screen.moment].pop("value", None)  # a person may be dragging it still
        return out

    def compare(self, request: gr.Request, *values: Any) -> Updates:
        """Something else is asked for beside the answer, or nothing any more."""
        tab, seen = tab_of(request), self.seen(values)
        turn = self.take(tab, seen)
        state = self.turns.asked(tab)
        if not turn or state is None:
            return self.screen.unchanged
        another = state.against.startswith("another")
        out = self.screen.joined(self.answer(tab, turn, seen), {self.screen.other: gr.update(visible=another)})
        if another and not state.other.strip() and out.get(self.screen.message) == pieces.message(""):
            out[self.screen.message] = pieces.message(pieces.OTHER[state.against], error=False)
        return out

    def pick(self, request: gr.Request, event: gr.EventData, *values: Any) -> Updates:
        """An example was pressed: its text and its settings take the place of the person's."""
        at = event._data.get("example")

        def change(state: State) -> State:
            examples = VIEWS[state.view].EXAMPLES
            if not isinstance(at, int) or not 0 <= at < len(examples):
                raise ExplorerError("There is no such example. Pick one of those shown.")
            return shown_in(examples[at], state)

        try:
            return self.ask(request, self.seen(values), change)
        except ExplorerError as error:
            return {self.screen.message: pieces.message(str(error))}

    def open(self, request: gr.Request) -> Iterator[Updates]:
        """What the page's link asks for, or the opening example, made ready to be answered by `opened`."""
        tab = tab_of(request)
        state, error = followed(self.explore, dict(request.query_params), self.opening)
        turn = self.turns.open(tab, state)
        yield self.screen.unchanged
        if not turn:
            return
        try:
            for line in self.explore.fetch(state.checkpoint):
                yield {self.screen.message: pieces.message(line, error=False)}
            self.explore.library.get(state.checkpoint, state.precision)
        except ExplorerError as caught:
            error = f"{error} {caught} Shown with {self.opening.checkpoint} instead.".strip()
            state = replace(state, checkpoint=self.opening.checkpoint, precision=self.opening.precision)
        held = self.turns.replace(tab, turn, state)
        yield {self.screen.message: pieces.message(error, stands=True)} if error or held else self.screen.unchanged

    def opened(self, request: gr.Request, said: str | None) -> Updates:
        """The first answer, unless a person was quicker. *said*: the message on the page; what the link could not have
        stays there beside the answer."""
        tab = tab_of(request)
        turn = self.turns.tab(tab).turn
        if not self.turns.opening(tab):
            return self.screen.unchanged
        out = self.with_picker(self.answer(tab, turn, untouched(self.opening)))
        if said and out.get(self.screen.message) == pieces.message(""):
            del out[self.screen.message]
        return out

    def fetch(self, request: gr.Request, name: str | None, *values: Any) -> Iterator[Updates]:
        """Another checkpoint was chosen: bring it here and load it; *ready* names it if that went well."""
        asked, name = self.turns.asked(tab_of(request)), (name or "").strip()
        state = self.seen(values).asks(self.explore, asked, self.opening)
        self.turns.tab(tab_of(request)).fetching = name
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
        if not ready or ready != self.turns.tab(tab_of(request)).fetching:  # another was chosen meanwhile
            return {self.screen.ready: ""}
        return self.with_picker(self.ask(request, self.seen(values), lambda state: replace(state, checkpoint=ready)))

    def with_picker(self, out: Updates) -> Updates:
        """An answer with the picker in line with the checkpoint in use, its list with what is on this disk by now."""
        memory = out.get(self.screen.memory)
        if memory is None:
            return out
        choices = pieces.choices(self.explore.library.offline(), self.explore.library.trained())
        picker = gr.update(value=memory["checkpoint"], choices=choices)
        return {**out, self.screen.checkpoint: picker, self.screen.precision: memory["precision"]}

    def export(self, request: gr.Request, kind: str, *values: Any) -> tuple[str, str]:
        """(what the browser saves, message)"""
        stale = partial(self.lanes.presence.gone, tab_of(request))
        try:
            state = self.seen(values).asks(self.explore, None, self.opening)
            with self.lanes.work(self.who, slow=state.view in SLOW, stale=stale):
                name, content = self.explore.export(state, kind)
        except ExplorerError as error:
            return "", pieces.message(f"There is nothing to export yet. {error}", missing=error.missing)
        except Stopped as stopped:
            return "", pieces.message(str(stopped))
        return json.dumps({"name": name, "content": content}), ""


def tab_of(request: gr.Request) -> str:
    """What tells one open page from another; it is new at every reload."""
    return request.session_hash or ""
