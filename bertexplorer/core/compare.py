"""Compare: the same view of another checkpoint, of several, of random weights, of another text, with other settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bertexplorer.charts.marks import Figure
from bertexplorer.charts.picture import Picture
from bertexplorer.core.state import NAMED, State, scrub
from bertexplorer.engine.queues import Busy
from bertexplorer.errors import ExplorerError
from bertexplorer.options import option_specs
from bertexplorer.views import VIEWS, difference
from bertexplorer.views.protocols import Comparing, ComparingSeveral, ViewResult

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.store.registry import CheckpointRegistry

MAX_SIDES = 12  # sides
BEFORE_NAME = re.compile(r",\s*(?=\w+\s*=)")  # the comma before a setting; a value may have others


@dataclass(frozen=True)
class ComparedAnswer:
    """The other side of a compared answer, or all sides in one figure."""

    name: str
    figure: Figure | Picture | None  # None: nothing to draw next to the answer's figure
    said: str
    difference: Figure | None
    own_title: str  # display name of the checkpoint in use
    others: tuple[tuple[str, ViewResult], ...] = ()  # the name and the result of each other side


@dataclass(frozen=True)
class Side:
    """One side of a comparison. *checkpoint* None: the one in use."""

    name: str
    state: State
    checkpoint: Checkpoint | None = None


def compare_answer(
    registry: CheckpointRegistry, state: State, result: ViewResult, analyse: Callable[[Checkpoint, State], ViewResult]
) -> ComparedAnswer:
    """Compare *result*, the answer to *state*, with the other sides; errors become the comparison's message. *analyse*
    computes the result of another side."""
    try:
        sides = comparison_sides(registry, state)
        results = []
        for side in sides:
            if side.checkpoint is None:
                results.append(result)
            else:
                results.append(analyse(side.checkpoint, side.state))
        if len(sides) == 2:
            return compare_pair(registry, state, sides, results)
        return compare_several(state, sides, results)
    except Busy:
        raise
    except ExplorerError as error:
        name = state.against
        if state.other and state.against in NAMED:
            name = state.other
        if state.against == "another checkpoint":
            name = ", ".join(registry.title(part) for part in split_names(name))
        own_title = registry.title(state.checkpoint)
        return ComparedAnswer(name, figure=None, said=str(error), difference=None, own_title=own_title)


def comparison_sides(registry: CheckpointRegistry, state: State) -> list[Side]:
    """All sides of the comparison. The side of *state* itself comes first, or at its place in its training. Raises
    ExplorerError if there is nothing to compare with."""
    own = Side(registry.title(state.checkpoint), state)
    if state.against == "random weights":
        control = registry.control(state.checkpoint, state.precision)
        return [own, Side(f"{own.name}, random weights", state, control)]
    if state.against == "another text":
        if not VIEWS[state.view].text:
            raise ExplorerError("This view is not about the text. Compare with another checkpoint or random weights.")
        other_state = replace(state, text=state.other, hidden=(), picked=())
        checkpoint = registry.get(state.checkpoint, state.precision)
        return [Side(scrub(state.text), state), Side(scrub(other_state.text), other_state, checkpoint)]
    if state.against == "other settings":
        other_state = with_other_settings(state)
        checkpoint = registry.get(state.checkpoint, other_state.precision)
        return [own, Side(f"{own.name}, {scrub(state.other)}", other_state, checkpoint)]
    names = [state.checkpoint, *split_names(state.other)]
    if state.against == "its training":
        names = training_series(registry, state)
    if len(names) > MAX_SIDES:
        raise ExplorerError(f"{len(names)} checkpoints were named; {MAX_SIDES} fit side by side.")
    sides = []
    for name in names:
        if name == state.checkpoint:
            sides.append(own)
        else:
            checkpoint = registry.get(name, state.precision)
            sides.append(Side(registry.title(name), replace(state, checkpoint=name), checkpoint))
    return sides


def with_other_settings(state: State) -> State:
    """*state* with what its field `other` names, such as "pooling=mean, precision=fp32": settings of its view, by the
    names that links have, and the precision. The values are checked where they are used. Raises ExplorerError for
    another name."""
    settings = [spec.name for spec in option_specs(VIEWS[state.view].analysis.Options) if not spec.option.by_page]
    changed: dict[str, str] = {}
    for part in BEFORE_NAME.split(state.other):
        name, _, value = part.partition("=")
        changed[name.strip()] = value.strip()
    for name in changed:
        if name not in (*settings, "precision"):
            raise ExplorerError(
                f"{VIEWS[state.view].title} has no setting {name!r:.60}. Name what differs, such as precision=fp32; "
                f"wanted {', '.join((*settings, 'precision'))}."
            )
    precision = changed.pop("precision", state.precision)
    return replace(state, precision=precision, options={**state.options, **changed})


def own_index(sides: Sequence[Side]) -> int:
    """The index of the side of the checkpoint in use."""
    return next(i for i, side in enumerate(sides) if side.checkpoint is None)


def split_names(other: str) -> list[str]:
    """Split the names of checkpoints in *other*, separated by commas."""
    return [name.strip() for name in other.split(",") if name.strip()]


def training_series(registry: CheckpointRegistry, state: State) -> list[str]:
    """The checkpoints of the training that the one in use belongs to, in order; if there are too many, an evenly
    spread selection. Raises ExplorerError if it belongs to no training."""
    names = [saved.name for saved in registry.series(state.checkpoint)]
    if len(names) < 2:
        raise ExplorerError(
            f"{registry.title(state.checkpoint)} has no checkpoints from earlier in its training. Choose tiny, or a "
            "run with snapshots."
        )
    if len(names) <= MAX_SIDES:
        return names
    selected = {state.checkpoint}
    for i in range(MAX_SIDES - 1):  # from the first to the last, in even steps
        selected.add(names[round(i * (len(names) - 1) / (MAX_SIDES - 2))])
    return [name for name in names if name in selected]


def compare_pair(
    registry: CheckpointRegistry, state: State, sides: Sequence[Side], results: Sequence[ViewResult]
) -> ComparedAnswer:
    """Compare two sides: the other figure, and the difference of the two."""
    view = VIEWS[state.view]
    own = own_index(sides)
    other = 1 - own
    name = sides[other].name
    checkpoint = registry.get(state.checkpoint, state.precision)
    difference_figure = difference.draw_comparison(
        view.figure,
        view.analysis,
        results[own],
        results[other],
        names=(sides[own].name, name),
        checkpoints=(checkpoint, sides[other].checkpoint or checkpoint),
    )
    figure = view.figure.draw(results[other])
    said = view.figure.say(results[other])
    if isinstance(view.figure, Comparing):
        said = f"{said} {view.figure.compare(results[own], results[other])}".strip()
    own_title = registry.title(state.checkpoint)
    if isinstance(figure, str):  # a document of its own
        said = f"{said} {view.title} draws one at a time; the numbers are side by side below."
        return ComparedAnswer(name, None, said, difference_figure, own_title)
    return ComparedAnswer(name, figure, said, difference_figure, own_title, others=((name, results[other]),))


def compare_several(state: State, sides: Sequence[Side], results: Sequence[ViewResult]) -> ComparedAnswer:
    """Compare any number of sides in one figure. Raises ExplorerError if the view has none for several."""
    view = VIEWS[state.view]
    if not isinstance(view.figure, ComparingSeveral):
        raise ExplorerError(f"{view.title} draws two checkpoints side by side. Name one; Suite draws several.")
    own = own_index(sides)
    names = [side.name for side in sides]
    figure = view.figure.several(names, results, own, ordered=state.against == "its training")
    said = view.figure.say_several(names, results, own)
    others = tuple((names[i], result) for i, result in enumerate(results) if i != own)
    return ComparedAnswer(
        f"{len(sides)} checkpoints", figure, said, difference=None, own_title=names[own], others=others
    )
