"""Switching views: the figure matches the heading, missing parts can be added, Back returns to the previous view."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.steps import TEXT, choose_view, expect_message, expect_said, wait_until, wait_until_idle, write

pytestmark = pytest.mark.parametrize("size", ["desktop"], indirect=True)
SWITCHES = 40
DRAWN = {"Pieces": "bars", "Vectors": "cells", "Word in context": "text"}  # the last mark of each figure
LAST = "[...document.querySelectorAll('#figure .marks > g > g')].at(-1)?.getAttribute('class')"


def test_a_figure_appears_under_its_own_heading(page: Page) -> None:
    """One in 12 to 40 switches between these views used to keep the old figure for good."""
    sentences = {}
    for title in DRAWN:
        choose_view(page, title)
        wait_until(page, f"{LAST} === '{DRAWN[title]}'")
        wait_until_idle(page)
        sentences[title] = page.locator("#caption .said").inner_text()
    assert len(set(sentences.values())) == len(DRAWN)
    for number in range(SWITCHES):
        title = [*DRAWN][number % len(DRAWN)]
        choose_view(page, title)
        expect(page.locator("#caption .said")).to_have_text(sentences[title])
        wait_until(page, f"{LAST} === '{DRAWN[title]}'", 5)


def test_a_button_adds_the_missing_part(page: Page) -> None:
    choose_view(page, "Next sentence")
    page.get_by_text("Back to my text").click()
    expect_message(page, "There is no second sentence")
    expect(page.locator("#figure .marks")).to_have_count(0)
    expect(page.locator("#caption .said")).to_be_empty()
    expect(page.locator("#exports")).to_be_hidden()
    page.locator("#message button").click()
    expect(page.locator("#pair textarea")).to_be_focused()
    page.keyboard.type("It is a big city.")
    expect(page.locator("#figure .marks")).to_be_visible()
    expect(page.locator("#message")).to_be_empty()


def test_a_mask_is_added_at_the_cursor(page: Page) -> None:
    write(page, "A robin is a .")
    expect_message(page, "Nothing is hidden")
    page.locator(TEXT).evaluate("box => { box.focus(); box.setSelectionRange(13, 13); }")
    page.locator("#message button").click()
    expect(page.locator(TEXT)).to_have_value("A robin is a [MASK].")
    expect_said(page, "It would put")


def test_an_upload_belongs_to_the_view_in_which_it_began(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("The river is deep.\nThe film was dull.\n")
    held: list[Route] = []
    page.route("**/api/v1/lines", lambda route: held.append(route))  # playwright marks the functions that it calls
    choose_view(page, "Search")
    wait_until_idle(page)
    page.locator("#lines").set_input_files(file)
    expect_message(page, "Reading the lines")
    choose_view(page, "Layers")
    expect_said(page, "first choice")
    held[0].continue_()
    expect_message(page, "2 lines from lines.txt")
    wait_until_idle(page)
    assert "lines=" not in page.url
    choose_view(page, "Search")
    expect_said(page, "Of 2 uploaded lines")
    wait_until_idle(page)
    assert "lines=" in page.url


def test_back_and_forward_move_through_the_views(page: Page) -> None:
    write(page, "The keys to the cabinet [MASK] on the table.")
    expect_said(page, "It would put")
    for title, view in (("Layers", "layers"), ("Pieces", "tokenization")):
        choose_view(page, title)
        page.wait_for_url(re.compile(f"view={view}"))
        wait_until_idle(page)
    for go, view in ((page.go_back, "layers"), (page.go_back, "fill-mask"), (page.go_forward, "layers")):
        go()
        expect(page.locator(f'button.view[data-view="{view}"]')).to_have_attribute("aria-selected", "true")
        expect(page.locator("#question h2")).to_have_text(
            {"layers": "When does BERT make up its mind?", "fill-mask": "What would BERT put here?"}[view]
        )
        wait_until_idle(page)
        assert f"view={view}" in page.url
        assert page.locator(TEXT).input_value() == "The keys to the cabinet [MASK] on the table."
