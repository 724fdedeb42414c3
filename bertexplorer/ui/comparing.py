"""Compare: the same view of another checkpoint, of several, of random weights, or of another text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bertexplorer.engine.queues import Busy
from bertexplorer.errors import ExplorerError
from bertexplorer.figures import Comparing, Figure, Several, difference
from bertexplorer.ui.state import State, scrub
from bertexplorer.ui.tabs import VIEWS

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.store.registry import CheckpointRegistry

MOST = 12  # sides


@dataclass(frozen=True)
class Beside:
    """What an answer is compared with."""

    name: str
    figure: Figure | None  # None: there is nothing to show next to the other figure
    said: str
    difference: Figure | None
    ours: str  # what people call the checkpoint in use
    result: Any = None


@dataclass(frozen=True)
class Side:
    """One side of a comparison. *checkpoint* None: the one in use."""

    name: str
    state: State
    checkpoint: Checkpoint | None = None


def beside(
    library: CheckpointRegistry, state: State, result: Any, analyse: Callable[[Checkpoint, State], Any]
) -> Beside:
    """What the *result* of *state* is compared with, or the reason why it cannot be. *analyse*: computes the result of
    another side."""
    try:
        every = sides(library, state)
        found = [analyse(one.checkpoint, one.state) if one.checkpoint else result for one in every]
        return pair(library, state, every, found) if len(every) == 2 else several(state, every, found)
    except Busy:
        raise
    except ExplorerError as error:
        name = state.other if state.other and state.against.startswith("another") else state.against
        if state.against == "another checkpoint":
            name = ", ".join(map(library.title, named(name)))
        return Beside(name, None, str(error), None, library.title(state.checkpoint))


def sides(library: CheckpointRegistry, state: State) -> list[Side]:
    """All sides of the comparison, with that of *state* itself: first, or where it belongs in its training. Raises
    ExplorerError if there is nothing to compare with."""
    own = Side(library.title(state.checkpoint), state)
    if state.against == "random weights":
        control = library.control(state.checkpoint, state.precision)
        return [own, Side(f"{own.name}, random weights", state, control)]
    if state.against == "another text":
        if not VIEWS[state.view].text:
            raise ExplorerError("This view is not about the text. Compare with another checkpoint or random weights.")
        other = replace(state, text=state.other, hidden=(), picked=())
        checkpoint = library.get(state.checkpoint, state.precision)
        return [Side(scrub(state.text), state), Side(scrub(other.text), other, checkpoint)]
    names = training(library, state) if state.against == "its training" else [state.checkpoint, *named(state.other)]
    if len(names) > MOST:
        raise ExplorerError(f"{len(names)} checkpoints were named; {MOST} fit side by side.")
    return [
        own
        if name == state.checkpoint
        else Side(library.title(name), replace(state, checkpoint=name), library.get(name, state.precision))
        for name in names
    ]


def named(other: str) -> list[str]:
    """The checkpoints that a person named, separated by commas."""
    return [name.strip() for name in other.split(",") if name.strip()]


def training(library: CheckpointRegistry, state: State) -> list[str]:
    """The checkpoints of the training that the one in use belongs to, in order; of many, evenly spread ones. Raises
    ExplorerError if it belongs to none."""
    names = [saved.name for saved in library.series(state.checkpoint)]
    if len(names) < 2:
        raise ExplorerError(
            f"{library.title(state.checkpoint)} does not come from a training whose checkpoints were kept. Choose "
            "tiny, or a run with snapshots."
        )
    if len(names) <= MOST:
        return names
    kept = {names[round(i * (len(names) - 1) / (MOST - 2))] for i in range(MOST - 1)} | {state.checkpoint}
    return [name for name in names if name in kept]


def pair(library: CheckpointRegistry, state: State, every: Sequence[Side], results: Sequence[Any]) -> Beside:
    """Two sides: both figures, and their difference."""
    view = VIEWS[state.view]
    own, other = every if every[0].checkpoint is None else every[::-1]
    result, found = results if every[0].checkpoint is None else results[::-1]
    checkpoints = (library.get(state.checkpoint, state.precision), other.checkpoint)
    names = (own.name, other.name)
    drawn = difference.between(view.figure, view.analysis, result, found, names, checkpoints)
    figure, said = view.figure.draw(found), view.figure.say(found)
    if isinstance(view.figure, Comparing):
        said = f"{said} {view.figure.compare(result, found)}".strip()
    called = library.title(state.checkpoint)
    if isinstance(figure, str):
        said = f"{said} {view.title} draws one at a time; the numbers are side by side below."
        return Beside(other.name, None, said, drawn, called)
    return Beside(other.name, figure, said, drawn, called, found)


def several(state: State, every: Sequence[Side], results: Sequence[Any]) -> Beside:
    """Any number of sides in one figure."""
    view = VIEWS[state.view]
    if not isinstance(view.figure, Several):
        raise ExplorerError(f"{view.title} draws two checkpoints side by side. Name one; Suite draws several.")
    own = next(i for i, one in enumerate(every) if one.checkpoint is None)
    names = [one.name for one in every]
    drawn = view.figure.several(names, results, own, ordered=state.against == "its training")
    said = view.figure.say_several(names, results, own)
    return Beside(f"{len(every)} checkpoints", drawn, said, None, names[own])
