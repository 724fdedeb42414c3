"""The state of Learn: answers for each checkpoint, the offer of the first lesson, and the notice of a slow answer."""

import re

from playwright.sync_api import Browser, expect

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_quiet
from tests.browser.test_access import has_focus
from tests.browser.test_learn import answered


def test_the_checkpoint_is_kept_and_has_its_own_progress(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}?view=contrast&checkpoint=tiny") as page:
        lesson = page.get_by_role("link", name="Sure and wrong")
        expect(lesson).to_have_attribute("href", "learn?lesson=sure-and-wrong&checkpoint=tiny")
        lesson.click()
        question = page.locator("#paris-is")
        question.get_by_label("Italy").check()
        question.get_by_role("button", name="Lock in my guess").click()
        expect(question.locator(".feedback")).not_to_contain_text("But a true word need not be the likeliest")
        answered(question.locator("bx-view"))
        expect(page.get_by_role("link", name="Next:")).to_have_attribute("href", re.compile("checkpoint=tiny"))
        expect(page.locator("#answering")).to_have_value("tiny")
        page.locator("#answering").select_option("mini")
        page.wait_for_url("**/learn?checkpoint=mini&lesson=sure-and-wrong")
        expect(question.get_by_label("Italy")).to_be_enabled()
        wait_until_quiet(page)


def test_the_first_lesson_is_offered_until_it_was_opened(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        offer = page.get_by_role("link", name="New here?")
        expect(offer).to_be_visible()
        page.goto(f"{address}learn?lesson=welcome")
        expect(page.locator("bx-question").first).to_be_visible()
        page.goto(address)
        expect(page.locator("#text-box")).to_be_visible()
        expect(offer).to_have_count(0)
        page.evaluate("localStorage.clear()")
        page.reload()
        page.get_by_role("button", name="Do not show this again").click()
        expect(offer).to_have_count(0)
        assert has_focus(page, "#text-box")
        wait_until_quiet(page)


def test_a_slow_answer_is_announced(browser: Browser, address: str) -> None:
    with opened(browser, address + "learn?lesson=next-sentence") as page:
        question, delayed = page.locator("#first-guess"), []
        page.route("**/lessons/next-sentence/first-guess?*", lambda route: delayed.append(route))
        question.get_by_label("Penguins").check()
        question.get_by_role("button", name="Lock in my guess").click()
        expect(question.locator(".feedback")).to_have_text("Computing…")
        delayed[0].continue_()
        answered(question.locator("bx-view"))
