"""Links: the state that an address asks for, and a sentence on what of it cannot be followed."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from urllib.parse import parse_qsl

from bertexplorer.analysis.task_head import kind_of
from bertexplorer.errors import ExplorerError
from bertexplorer.ui.explore import DEFAULTS, Explore, shown_in
from bertexplorer.ui.state import State, from_link, to_link
from bertexplorer.ui.tabs import VIEWS


def no_view(name: object) -> str:
    return f"There is no view {name!r:.60}. Pick one of those shown."


def suited(explore: Explore, checkpoint: str, opening: State) -> State:
    """*opening*, or the view Answer with a text that fits if *checkpoint* has a fine-tuned head and none for masks."""
    try:
        found = explore.library.get(checkpoint, opening.precision)
    except ExplorerError:  # the view says why
        return opening
    if "masked_lm" in found.heads or not (kind := kind_of(found)):
        return opening
    first, *others = VIEWS["answer"].examples
    pairs = [one for one in others if one.pair]
    example = {"span": pairs[0], "similarity": pairs[-1]}.get(kind, first)
    return shown_in(example, replace(opening, view="answer"))


def followed(explore: Explore, query: Mapping[str, str], opening: State) -> tuple[State, str]:
    """(the state, a sentence on what cannot be followed, "" if nothing).

    A link without a text, as people write by hand, leads to the opening state or the view's first example, with
    everything else that it names."""
    if query.get("checkpoint") and "view" not in query and "text" not in query:
        opening = suited(explore, query["checkpoint"], opening)
    view, notice = query.get("view", opening.view), ""
    if view not in VIEWS:
        view, notice = opening.view, no_view(view)
    if "text" not in query:
        shown = opening if view == opening.view else shown_in(VIEWS[view].examples[0], replace(opening, view=view))
        query = {**dict(parse_qsl(to_link(shown, DEFAULTS[view])[1:])), **query}
    state = from_link(query, opening, DEFAULTS)
    try:
        return replace(state, options=asdict(explore.options(state))), notice
    except ExplorerError as caught:
        left = replace(state, options=DEFAULTS[view])
        return left, f"{notice} {caught} The link's settings are left out.".strip()
