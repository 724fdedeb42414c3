"""Everybody can use the page: axe-core finds nothing on any view, in any colours or size; a keyboard is enough."""

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from bertexplorer.ui.tabs import TABS
from tests.browser.conftest import opened
from tests.browser.steps import choose_view, expect_message, wait_until_idle, write

LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = "levels => axe.run(document, {runOnly: {type: 'tag', values: levels}, resultTypes: ['violations']})"


def wrong(page: Page) -> list[str]:
    """What axe-core finds on the page as it is now, a line for each element."""
    page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate(RUN, LEVELS)["violations"]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary'].splitlines()[1].strip()}"
        for rule in found
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_axe_finds_nothing(browser: Browser, address: str, size: str, scheme: str) -> None:
    found: dict[str, list[str]] = {}
    with opened(browser, address, size, scheme=scheme) as page:
        page.wait_for_selector("#figure .bars")
        wait_until_idle(page)
        page.add_style_tag(content="*, ::before, ::after { transition: none !important; animation: none !important }")
        for tab in TABS:
            choose_view(page, tab.TITLE)
            wait_until_idle(page)
            with page.expect_response("**/api/v1/view"):
                page.locator("button.example").first.click()
            wait_until_idle(page)
            for more in page.locator("#forms .more:not([open]) > summary").all():
                more.click()
            found[tab.TITLE] = wrong(page)
        choose_view(page, "One mask")
        write(page, "Paris is the capital.")
        expect_message(page, "Nothing is hidden")
        found["an error"] = wrong(page)
        write(page, "Paris is a [MASK].")
        page.locator("#do-compare").click()
        page.get_by_label("random weights").check()
        wait_until_idle(page)
        found["a comparison"] = wrong(page)
        page.locator("#picker > summary").click()
        page.locator(".catalogue summary").click()
        expect(page.locator("#picker tbody tr").first).to_be_visible()
        found["the drawer"] = wrong(page)
        wait_until_idle(page)
    assert not {where: lines for where, lines in found.items() if lines}
