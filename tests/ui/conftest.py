"""The handlers of the page, without a page."""

import pytest

from bertexplorer.settings import Settings
from bertexplorer.store.library import Library
from bertexplorer.ui import page
from bertexplorer.ui.handlers import Handlers


@pytest.fixture(scope="module")
def handlers() -> Handlers:
    """The handlers of the page that `build` makes."""
    found = []
    wire, page.wire = page.wire, lambda handlers, *rest: found.append(handlers)
    try:
        page.build(Library(), Settings())
    finally:
        page.wire = wire
    return found[0]
