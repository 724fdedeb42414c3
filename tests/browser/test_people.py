"""Several people and several tabs: each sees their own state, and the sixth tab opens like the first."""

import re
import time
from contextlib import ExitStack
from urllib.parse import urlencode

from playwright.sync_api import Browser, expect

from tests.browser.conftest import opened
from tests.browser.steps import choose_view, expect_message, expect_said, wait_until_idle, wait_until_quiet, write


def test_two_people_see_their_own_texts(browser: Browser, address: str) -> None:
    pages = [browser.new_context().new_page() for _ in range(2)]
    for page, word in zip(pages, ("robin", "piano"), strict=True):
        page.goto(address)
        write(page, f"A {word} is a [MASK].")
    for page, word, other in zip(pages, ("robin", "piano"), ("piano", "robin"), strict=True):
        expect(page.locator(".strip")).to_contain_text(word)
        expect(page.locator(".strip")).not_to_contain_text(other)
        page.context.close()


def test_eight_tabs_of_one_browser_are_answered(browser: Browser, address: str) -> None:
    context = browser.new_context()
    for _ in range(8):
        page = context.new_page()
        page.goto(address)
        expect_said(page, "It would put “paris”")
    context.close()


def test_a_waiting_person_sees_the_queue_position(browser: Browser, address: str) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(opened(browser, address)) for _ in range(3)]
        for page in pages:
            page.wait_for_selector("#figure .bars")
            choose_view(page, "Referee")
            expect_said(page, "random order")
        for page, word in zip(pages, ("blue", "old", "small"), strict=True):
            write(page, f"The {word} boat went out to the sea every day until the storm came over the [MASK].")
        shown = "[...document.querySelectorAll('#figure')].map(one => one.dataset.line || '').join()"
        seen, begun = "", time.monotonic()
        while not seen and time.monotonic() - begun < 30:
            seen = "".join(page.evaluate(shown) for page in pages)
        assert re.fullmatch(r"(Place [12] in line, about \d+ s)+", seen)
        for page in pages:
            expect(page.locator("#figure[data-line]")).to_have_count(0)
            expect(page.locator(".strip")).to_contain_text("storm")


def test_a_request_rejected_by_a_full_queue_is_retried(browser: Browser, address: str) -> None:
    with opened(browser, address, gone=True) as page:  # a rejection is logged on the console
        expect_said(page, "It would put “paris”")
        wait_until_quiet(page)
        refusals = [{"status": 503, "json": {"detail": "Busy", "retry_after": 2}}]
        join = "**/api/v1/view"
        page.route(join, lambda route: route.fulfill(**refusals.pop()) if refusals else route.continue_())
        write(page, "A robin is a [MASK].")
        expect(page.locator("#figure[data-line='The server is busy. Asking again in 2 s.']")).to_have_count(1)
        expect(page.locator(".strip")).to_contain_text("robin")
        expect(page.locator("#figure[data-line]")).to_have_count(0)
        page.unroute(join)


def test_long_work_shows_its_progress_and_can_be_stopped(browser: Browser, address: str) -> None:
    words = "The quick brown fox jumped over the lazy dog near the old river bank while seven farmers watched . " * 20
    with opened(browser, address, "phone") as page:
        asked = urlencode({"view": "referee", "orders": 50, "points": 64, "text": f"{words} The farmers [MASK]."})
        page.goto(f"{page.url.partition('?')[0]}?{asked}")  # much to do
        expect(page.locator("#under-way span")).to_have_text(re.compile(r"About \d+ s left"))
        box = page.locator("#under-way").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        page.locator("#under-way button", has_text="Stop").click()
        expect_message(page, "Stopped before it was done")
        expect(page.locator("#under-way")).to_be_hidden()
        wait_until_idle(page)
