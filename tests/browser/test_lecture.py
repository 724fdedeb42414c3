"""A lecture in two windows: the screen for the class, and the teacher's desk beside it."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_quiet
from tests.browser.test_access import wrong
from tests.browser.test_class import choose, phone

LECTURE = "learn?lecture=bert"


def test_a_lecture_with_a_vote(browser: Browser, address: str) -> None:
    with opened(browser, address + LECTURE) as screen:
        bar = screen.get_by_role("navigation", name="Lecture")
        expect(screen.locator(".lecture-words")).to_have_text("BERT fills gaps")
        expect(screen.locator("bx-view .said").first).to_contain_text("It would put")
        expect(bar).to_contain_text("1 of 10")
        # 1. The teacher's window: what is typed on the screen stays, and the screen has no notes.
        with screen.context.expect_page() as second:
            bar.get_by_role("button", name="Teacher’s window").click()
        desk = second.value
        expect(desk.locator(".desk-step")).to_contain_text("Let the class say the word first.")
        assert "Let the class say the word first." not in screen.locator("bx-lecture").inner_text()
        expect(screen.locator("bx-lecture")).to_have_class(re.compile("desked"))
        screen.locator("bx-view textarea").first.fill("The capital of Spain is [MASK].")
        desk.get_by_role("button", name="Begin the time now").click()
        expect(desk.locator(".clock")).to_have_text("0 of 45 min · this step should end at 4")
        # 2. Both windows are at the same step; the class votes.
        desk.get_by_role("button", name="Open the class").click()
        code = desk.locator(".join .code").inner_text()
        expect(desk.locator("bx-board button").first).to_have_text("Close the door")  # no vote: this step asks nothing
        desk.get_by_role("button", name="Next →").click()
        expect(screen.locator(".join.large .code")).to_have_text(code)
        assert not screen.get_by_role("button", name="Start the vote").is_visible()
        with phone(browser, address, code) as student:
            desk.get_by_role("button", name="Start the vote").click()
            choose(student, "Another word")
            desk.get_by_role("button", name="Close the vote").click()
            expect(desk.locator(".advice")).to_have_text("1 of 1 were right (100 %). Go on.")
            expect(desk.locator(".shares .value").nth(1)).to_have_text("1")  # the teacher sees the votes first
            expect(screen.locator(".advice, .shares")).to_have_count(0)
            desk.get_by_role("button", name="Show the votes on the screen").click()
            expect(screen.locator(".shares .value").nth(1)).to_have_text("1")
            desk.get_by_role("button", name="Show BERT’s answer").click()
            expect(screen.locator(".shares .right")).to_contain_text("Another word")
            # 3. Back and on again by the keys of a remote control; the text of the first step is still there.
            screen.keyboard.press("PageUp")
            expect(screen.locator("bx-view textarea").first).to_have_value("The capital of Spain is [MASK].")
            expect(desk.locator(".desk-plan [aria-current]")).to_contain_text("BERT fills gaps")
            # 4. The next vote begins with its own question, though the last one still shows its answer.
            desk.locator(".desk-plan button").nth(3).click()
            expect(screen.locator(".join.large .code")).to_have_text(code)
            desk.get_by_role("button", name="Start the vote").click()
            expect(screen.locator(".prompt")).to_contain_text("cut into pieces")
            choose(student, "gpu")
            # 5. An earlier vote does not show the question of a later one.
            screen.keyboard.press("PageUp")
            screen.keyboard.press("PageUp")
            expect(screen.locator("bx-board .asked")).to_have_text(
                "This vote is over. The class is at question 2 of 5."
            )
            desk.locator(".desk-plan button").nth(3).click()
            expect(screen.locator(".prompt")).to_contain_text("cut into pieces")
        wait_until_quiet(screen, 0.1)
        desk.once("dialog", lambda dialog: dialog.accept())
        desk.get_by_role("button", name="End and delete").click()
        expect(screen.get_by_role("button", name="Open the class")).to_be_visible()
        desk.close()
        expect(screen.locator("bx-lecture")).not_to_have_class(re.compile("desked"))


@pytest.mark.parametrize(("screen", "desk"), [("light", "dark"), ("dark", "light")])
def test_axe_finds_nothing(browser: Browser, address: str, screen: Any, desk: Any) -> None:
    step = 1 if screen == "light" else 2
    for window, scheme in (("", screen), ("&desk=1", desk)):
        with opened(browser, f"{address}{LECTURE}&step={step}{window}", scheme=scheme) as page:
            expect(page.locator(".desk-step, .lecture-words, .lecture-vote").first).to_be_visible()
            wait_until_quiet(page)
            assert wrong(page) == []


def test_a_lecture_opens_at_its_step_and_says_what_is_missing(browser: Browser, address: str) -> None:
    with opened(browser, address + LECTURE + "&step=3") as screen:
        expect(screen.locator(".lecture-words")).to_have_text("What goes in: pieces")
        screen.get_by_role("link", name="End").click()
        expect(screen.locator(".lesson-card strong").first).to_have_text("Attention in 20 minutes")
    with opened(browser, address + "learn?lecture=nothing", gone=True) as page:
        expect(page.locator(".message.error")).to_contain_text("There is no lecture 'nothing'; there are attention")


def test_without_a_teachers_window_the_vote_begins_on_the_screen_whose_bar_covers_nothing(
    browser: Browser, address: str
) -> None:
    with opened(browser, f"{address}learn?lecture=bert&step=2") as screen:
        screen.get_by_role("button", name="Open the class").click()
        expect(screen.get_by_role("button", name="Start the vote")).to_be_visible()
        stage, bar = (screen.locator(part).bounding_box() for part in (".lecture-stage", ".lecture-bar"))
        assert stage and bar and stage["y"] + stage["height"] <= bar["y"] + 1
        with screen.expect_popup() as second:
            screen.get_by_role("button", name="Teacher’s window").click()
        desk = second.value
        expect(desk.locator(".unreachable")).to_contain_text("Phones cannot join yet")
        expect(screen.locator(".unreachable")).to_be_hidden()
        expect(screen.get_by_role("button", name="Start the vote")).to_be_hidden()
        desk.once("dialog", lambda dialog: dialog.accept())
        desk.get_by_role("button", name="End and delete").click()
        expect(desk.locator(".desk-class")).to_contain_text("not open yet")
        desk.close()
