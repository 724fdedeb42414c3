"""The server in a real browser: its security policy breaks nothing, and two people see their own runs."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_quiet

WATCH = """window.__v = []; document.addEventListener('securitypolicyviolation',
 e => window.__v.push(e.violatedDirective + ' ' + e.blockedURI))"""
SHOWN = {
    "?text=The+cat+sat+on+the+mat.&view=bertviz": "#figure iframe",
    "train": "#looked table",
    "pretrain": "#experiment",
}


@pytest.mark.parametrize("path", SHOWN)
def test_no_page_violates_the_security_policy(browser: Browser, address: str, path: str) -> None:
    with opened(browser, address) as page:
        page.add_init_script(WATCH)
        page.goto(address + path)
        page.wait_for_selector(SHOWN[path])
        wait_until_quiet(page)
        for frame in page.frames:
            assert frame.evaluate("window.__v") == []
        if "bertviz" in path:
            expect(page.frame_locator("#figure iframe").locator("svg").first).to_be_visible()
        page.locator(".about summary").click()
        expect(page.locator(".about")).to_contain_text("Only a cookie identifies your browser")


COUNT_FRAMES = """{ const frame = requestAnimationFrame.bind(window); window.__frames = 0;
 window.requestAnimationFrame = (f) => { window.__frames += 1; return frame(f); }; }"""


@pytest.mark.parametrize("path", ["", "learn", "train", "pretrain"])
def test_a_page_that_nobody_touches_draws_no_frames(browser: Browser, address: str, path: str) -> None:
    with opened(browser, address + path, script=COUNT_FRAMES) as page:
        page.wait_for_selector(".bx h1")
        wait_until_quiet(page)
        for _ in range(20):  # the loading sign comes to rest
            before = page.evaluate("window.__frames")
            page.wait_for_timeout(1000)
            if page.evaluate("window.__frames") - before < 5:
                return
        raise AssertionError(f"{page.evaluate('window.__frames') - before} frames in a second")


def start(page: Page, address: str, name: str) -> None:
    page.goto(address + "train")
    wait_until_quiet(page)
    page.get_by_label("Name of the run").fill(name)
    page.locator("#start").click()
    expect(page.locator("#runs")).to_contain_text(name)
    page.locator("#run-actions").get_by_role("button", name="Stop").click()


def test_two_people_see_their_own_runs(browser: Browser, address: str) -> None:
    with opened(browser, address) as first, opened(browser, address) as second:
        start(first, address, "Run of Ada")
        start(second, address, "Run of Ben")
        expect(second.locator("#runs")).not_to_contain_text("Ada")
        first.reload()
        expect(first.locator("#runs")).to_contain_text("Run of Ada")
        expect(first.locator("#runs")).not_to_contain_text("Ben")
