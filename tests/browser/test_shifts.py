"""Nothing jumps while a page opens: the sum of the browser's own layout shifts stays what it calls good."""

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_idle

GOOD = 0.1  # https://web.dev/articles/cls
WATCH = """window.shifts = [];
new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map((one) => one.value)))
    .observe({ type: "layout-shift", buffered: true });"""


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("view", ["fill-mask", "layers", "attention", "probe"])
def test_what_one_reads_stays_in_place_while_the_page_opens(
    browser: Browser, address: str, size: str, view: str
) -> None:
    with opened(browser, f"{address}?view={view}", size, script=WATCH) as page:
        page.wait_for_selector("bx-explore:not(.unanswered)")
        wait_until_idle(page)
        assert page.evaluate("window.shifts.reduce((a, b) => a + b, 0)") < GOOD
