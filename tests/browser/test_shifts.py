"""Nothing jumps while a page opens, and nothing of gradio is fetched for it."""

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_idle, wait_until_quiet

STILL = 0.05  # the sum of the browser's own layout shifts; https://web.dev/articles/cls calls 0.1 good
WATCH = """window.shifts = [];
new PerformanceObserver((list) => window.shifts.push(...list.getEntries().map((one) => one.value)))
    .observe({ type: "layout-shift", buffered: true });"""
MOVED = "window.shifts.reduce((a, b) => a + b, 0)"
FETCHED = "performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("view", ["fill-mask", "layers", "attention", "probe"])
def test_what_one_reads_stays_in_place_while_the_page_opens(
    browser: Browser, address: str, size: str, view: str
) -> None:
    with opened(browser, f"{address}?view={view}", size, script=WATCH) as page:
        page.wait_for_selector("bx-explore:not(.unanswered)")
        wait_until_idle(page)
        assert page.evaluate(MOVED) < STILL


@pytest.mark.parametrize("name", ["", "learn", "train", "pretrain"])
def test_a_page_fetches_nothing_of_gradio(browser: Browser, address: str, name: str) -> None:
    with opened(browser, address + name) as page:
        page.wait_for_selector("h1")
        wait_until_quiet(page)
        fetched = page.evaluate(FETCHED)
    assert len(fetched) > 10
    assert [path for path in fetched if not path.startswith(("/scripts/", "/api/v1/"))] == []


@pytest.mark.parametrize(("asked", "dark"), [("", True), ("?__theme=light", False), ("?__theme=dark", True)])
def test_the_address_chooses_the_theme_else_the_browser(browser: Browser, address: str, asked: str, dark: bool) -> None:
    with opened(browser, f"{address}learn{asked}", scheme="dark") as page:
        page.wait_for_selector("h1")
        wait_until_quiet(page)
        assert page.evaluate("document.body.matches('.dark')") == dark
