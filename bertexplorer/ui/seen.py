"""Seen: what the page held when it sent an event, and what a person therefore asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bertexplorer.store.library import PRECISIONS
from bertexplorer.ui.explore import DEFAULTS, VIEWS, Explore
from bertexplorer.ui.state import COMPARED, State, spans_of


@dataclass(frozen=True)
class Seen:
    """*boxes* as they were filled in; *memory*, the state that was answered last: in it the view, the hidden and the
    picked spans with the texts that they count in, and the checkpoint in use (the picker may hold one that could not
    be loaded). All of it comes from the browser."""

    memory: Mapping[str, Any]
    boxes: Mapping[str, Any]  # text, pair, precision, against, other
    options: Mapping[str, Mapping[str, Any]]  # of each view, by name

    @property
    def event(self) -> int:
        """Which event of the page this is, counted from 1; 0 if it does not say (see assets/stamp.js)."""
        return number(self.memory.get("event"))

    @property
    def turn(self) -> int:
        """Whose answer the page shows."""
        return number(self.memory.get("turn"))

    def typed(self, said: Mapping[str, str]) -> "Seen":
        """With what was typed by then. *said*: text, pair or VIEW.SETTING -> what its box holds."""
        boxes = {name: said.get(name, value) for name, value in self.boxes.items()}
        options = {
            view: {name: said.get(f"{view}.{name}", value) for name, value in own.items()}
            for view, own in self.options.items()
        }
        return replace(self, boxes=boxes, options=options)

    def state(self, opening: State) -> State:
        """The state in the page's memory; whatever is odd or missing in it is as in *opening*."""
        memory = self.memory
        return replace(
            opening,
            text=str(memory.get("text", opening.text)),
            pair=str(memory.get("pair", opening.pair)),
            checkpoint=str(memory.get("checkpoint", opening.checkpoint)),
            view=memory["view"] if memory.get("view") in VIEWS else opening.view,
            hidden=spans_of(str(memory.get("hidden", ""))),
            picked=spans_of(str(memory.get("picked", ""))),
        )

    def asks(self, explore: Explore, asked: State | None, opening: State, before: "Seen | None" = None) -> State:
        """What the tab *asked* last, with what a person changed since: boxes that are not as they were at the event
        *before*, or as the answer on the screen left them if that came later. A text counts as changed when it was
        typed (see Handlers.edit), for an answer may be on its way to its box. Where nothing was asked, the boxes are
        all there is."""
        set_by_hand = {name: self.boxes[name] for name in ("precision", "against", "other")}
        if asked is None:
            state = explore.typed(self.state(opening), self.boxes["text"], self.boxes["pair"])
            return replace(state, options=self.options[state.view], **set_by_hand)
        was, own = self.baseline(asked.view, opening, before)
        changed = {name: value for name, value in set_by_hand.items() if value != was[name]}
        options = {k: v for k, v in self.options[asked.view].items() if own is not None and own.get(k, v) != v}
        return replace(asked, options={**asked.options, **options}, **changed)

    def baseline(
        self, view: str, opening: State, before: "Seen | None"
    ) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        """(boxes, settings of *view*) that a person has not touched; None for settings that no answer has shown yet."""
        if before is not None and before.turn == self.turn:
            return before.boxes, before.options[view]
        boxes = {name: self.memory.get(name, getattr(opening, name)) for name in self.boxes}
        if "view" not in self.memory:
            return boxes, DEFAULTS[view]
        held = self.memory.get("options")
        return boxes, held if self.memory["view"] == view and isinstance(held, dict) else None


def untouched(opening: State) -> Seen:
    """A page that has just been opened."""
    boxes = {name: getattr(opening, name) for name in ("text", "pair", "precision", "against", "other")}
    return Seen({}, boxes, DEFAULTS)


def read(values: tuple[Any, ...], settings: list[tuple[str, str]], opening: State) -> Seen:
    """*values* of the page's inputs. *settings*: (view, setting) of those after the boxes, in their order."""
    memory, text, pair, precision, against, other, *given = values
    options: dict[str, dict[str, Any]] = {view: {} for view in VIEWS}
    for (view, name), value in zip(settings, given, strict=True):
        options[view][name] = value
    boxes = {
        "text": str(text or ""),
        "pair": str(pair or ""),
        "precision": precision if precision in PRECISIONS else opening.precision,
        "against": against if against in COMPARED else "",
        "other": str(other or ""),
    }
    return Seen(memory if isinstance(memory, dict) else {}, boxes, options)


def number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
