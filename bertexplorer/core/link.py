"""Links: the state that a link describes, and a message about parts of it that cannot be used."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from urllib.parse import parse_qsl

from bertexplorer.answers.readout import tuned_readout
from bertexplorer.core.ask import DEFAULTS, Answerer, with_example
from bertexplorer.core.state import State, from_link, to_link
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.views import VIEWS


def opening_for(answerer: Answerer, checkpoint: str, opening: State) -> State:
    """*opening*, or, if *checkpoint* has a fine-tuned head but none for masks, the view that shows its answer, with a
    fitting example."""
    try:
        loaded = answerer.registry.get(checkpoint, opening.precision)
    except ExplorerError:  # the view reports the error
        return opening
    readout = tuned_readout(loaded)
    if readout is None or "masked_lm" in loaded.heads:
        return opening
    examples = VIEWS[readout.view].examples
    fitting = [example for example in examples if example.kind == readout.kind]
    example = fitting[0] if fitting else examples[0]
    return with_example(example, replace(opening, view=readout.view))


def restore_state(answerer: Answerer, query: Mapping[str, str], opening: State) -> tuple[State, str]:
    """Return (state, message about parts that cannot be used, or "").

    A link without a text, such as one written by hand, leads to the opening state or the view's first example, with
    everything else that the link names."""
    if query.get("checkpoint") and "view" not in query and "text" not in query:
        opening = opening_for(answerer, query["checkpoint"], opening)
    view = query.get("view", opening.view)
    notice = ""
    if view not in VIEWS:
        notice = f"There is no view {view!r:.60}. Pick one of those shown."
        view = opening.view
    if "checkpoint" not in query and opening.checkpoint == Settings().checkpoint:
        opening = replace(opening, checkpoint=VIEWS[view].checkpoint or opening.checkpoint)
    if "text" not in query:
        default_state = opening
        if view != opening.view:
            default_state = with_example(VIEWS[view].examples[0], replace(opening, view=view))
        query = {**dict(parse_qsl(to_link(default_state, DEFAULTS[view])[1:])), **query}
    state = from_link(query, opening, DEFAULTS)
    try:
        return replace(state, options=asdict(answerer.options(state))), notice
    except ExplorerError as error:
        return replace(state, options=DEFAULTS[view]), f"{notice} {error} The link's settings are left out.".strip()
