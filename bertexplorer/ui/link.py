"""Link: what the address bar asks of a page that opens, and in a sentence what of it cannot be had."""

from collections.abc import Mapping
from dataclasses import asdict, replace

from bertexplorer.errors import ExplorerError
from bertexplorer.ui.explore import DEFAULTS, VIEWS, Explore
from bertexplorer.ui.state import State, from_link


def followed(explore: Explore, query: Mapping[str, str], opening: State) -> tuple[State, str]:
    """The state, and what to say; "" where there is nothing. A link that names a view but no text, as one writes by
    hand, opens the view with its first example."""
    view, told = query.get("view", opening.view), ""
    if view not in VIEWS:
        view, told = opening.view, f"There is no view {view!r:.60}. Pick one of those shown."
    if "text" not in query and view != opening.view:
        shown = VIEWS[view].EXAMPLES[0]
        options = {name: str(value) for name, value in shown.options.items()}
        query = {"text": shown.text, "pair": shown.pair, "picked": shown.picked, **options, **query}
    state = from_link({**query, "view": view}, opening, DEFAULTS)
    try:
        return replace(state, options=asdict(explore.options(state))), told
    except ExplorerError as caught:
        left = replace(state, options=DEFAULTS[view])
        return left, f"{told} {caught} The link's settings are left out.".strip()
