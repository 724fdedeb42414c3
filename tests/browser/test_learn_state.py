"""The state of Learn: answers for each checkpoint, the offer of the first lesson, and the notice of a slow answer."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Route, expect

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
        expect(page.locator("#answering option")).not_to_have_count(1)
        listed = page.locator("#answering option").all_inner_texts()
        page.locator("#answering").select_option("mini")
        page.wait_for_url("**/learn?checkpoint=mini&lesson=sure-and-wrong")
        expect(question.get_by_label("Italy")).to_be_enabled()
        expect(page.locator("#answering option")).to_have_text(listed)
        expect(page.locator("#answering")).to_have_value("mini")
        wait_until_quiet(page)


def test_arrow_keys_choose_a_checkpoint_only_with_enter(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}learn?lesson=sure-and-wrong&checkpoint=tiny") as page:
        chosen, hint = page.locator("#answering"), page.get_by_text("Press Enter to use it.")
        expect(chosen.locator("option").nth(1)).to_be_attached()
        chosen.focus()
        page.keyboard.press("Home")
        expect(hint).to_be_visible()
        assert chosen.input_value() != "tiny" and "checkpoint=tiny" in page.url
        page.keyboard.press("Tab")
        expect(chosen).to_have_value("tiny")
        expect(hint).to_have_count(0)
        chosen.focus()
        page.keyboard.press("Home")
        name = chosen.input_value()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**checkpoint={name}**")
        expect(chosen).to_have_value(name)
        wait_until_quiet(page)


def test_a_lesson_is_handed_in_with_the_text_of_its_figure(browser: Browser, address: str, tmp_path: Path) -> None:
    held: list[Route] = []
    with opened(browser, f"{address}learn?lesson=sure-and-wrong") as page:
        question = page.locator("#paris-is")
        question.get_by_label("Italy").check()
        question.get_by_role("button", name="Lock in my guess").click()
        view = question.locator("bx-view")
        answered(view)
        text = view.locator("textarea").first.input_value()
        page.route("**/api/v1/view", lambda route: held.append(route))  # playwright marks the functions that it calls
        view.locator("textarea").first.fill("A robin is a [MASK].")
        with page.expect_download() as download:
            page.get_by_role("button", name="Hand in").click()
        download.value.save_as(tmp_path / "lesson.html")
        saved = (tmp_path / "lesson.html").read_text()
        assert f"<p>{text}</p>" in saved and "robin" not in saved
        page.unroute("**/api/v1/view")


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


def test_a_caption_does_not_say_what_to_press(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}learn?lesson=welcome") as page:
        page.locator("#hide-milk").get_by_label("Another word").check()
        page.locator("#hide-milk").get_by_role("button", name="Lock in my guess").click()
        expect(page.locator("#make-it-sure")).to_be_visible()
        page.get_by_role("button", name="Go on without answering").click()
        question = page.locator("#where-it-looks")
        view = question.locator("bx-view")
        answered(view)
        caption = view.locator(".caption")
        expect(caption).to_be_hidden()
        for word in ("car", "bought"):
            expect(caption).to_be_hidden()
            view.locator("button.chip").get_by_text(word, exact=True).click()
            wait_until_quiet(page)
        expect(question).to_have_class(re.compile("done"))
        expect(caption).to_be_visible()
        expect(caption).to_contain_text("“it” gives")
        wait_until_quiet(page)
