"""The first screen: doors for what people come for, and no view that opens with an error."""

import pytest
from playwright.sync_api import Page, Route, expect

from bertexplorer.views import DOORS, VIEWS
from tests.browser.steps import TEXT, choose_view, expect_message, expect_said, wait_until_idle, write

OWN = "My own text about a quiet river."
STAND_IN = "#stand-in .stand-in"


def in_sight(page: Page, which: str) -> None:
    size = page.viewport_size
    box = page.locator(which).bounding_box()
    assert box and size and box["y"] + box["height"] <= size["height"] and box["x"] + box["width"] <= size["width"]


def test_the_doors_are_in_sight_and_lead_to_what_they_name(page: Page, size: str) -> None:
    seen = page.locator(".door:visible")
    expect(seen).to_have_count(5 if size == "desktop" else 4)  # a phone has Learn above them
    for number in range(seen.count()):
        in_sight(page, f".door:visible >> nth={number}")
    expect(page.locator(".door strong")).to_have_text([*DOORS, "Learn in class", "Teach BERT"])
    page.locator(".door").get_by_text("Who looks at whom").click()
    expect(page.locator("#question h2")).to_have_text("Who looks at whom?")
    page.locator(".door").get_by_text("Compare meanings").click()
    expect_said(page, "same sense")  # bank by a river, bank with money: the example of the view
    expect(page.locator(".door[aria-current]")).to_have_count(1)
    page.locator(".door").get_by_text("Hide a word").click()
    expect(page.locator("#figure .bars .mark").first).to_be_visible()
    wait_until_idle(page)
    page.locator(".door").get_by_text("Teach BERT").click()
    expect(page.locator("bx-teach .said")).to_contain_text("land in their own box")


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_door_keeps_what_a_person_has_typed(page: Page) -> None:
    write(page, OWN)
    expect_message(page, "Nothing is hidden")
    page.locator(".door").get_by_text("Who looks at whom").click()
    expect_said(page, "Each tile is a head")
    expect(page.locator(TEXT)).to_have_value(OWN)
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_every_view_is_listed_with_both_of_its_names(page: Page) -> None:
    page.get_by_role("button", name="All views").click()
    for slug, view in VIEWS.items():
        entry = page.locator(f'dialog [data-view="{slug}"]')
        expect(entry.locator("strong")).to_have_text(view.title)
        expect(entry.locator("code")).to_have_text(slug)
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_every_view_of_a_text_opens_with_an_answer(page: Page) -> None:
    """From the page's first text. A view that it does not suit shows an example, says so, and gives the text back."""
    first = page.locator(TEXT).input_value()
    for slug, view in VIEWS.items():
        if not view.text:
            continue
        choose_view(page, view.title)
        wait_until_idle(page)
        expect(page.locator("#message .error")).to_have_count(0)
        expect(page.locator("bx-explore")).not_to_have_class("bx unanswered")
        if page.locator(TEXT).input_value() == first:
            expect(page.get_by_text("Back to my text")).to_have_count(0)
        else:
            expect(page.locator(STAND_IN)).to_contain_text("This is an example, not your text")
            expect(page.locator(TEXT)).to_have_value(VIEWS[slug].examples[0].text)
    choose_view(page, "One mask")
    expect(page.locator(TEXT)).to_have_value(first)
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_ones_own_text_comes_back_with_what_was_hidden_in_it(page: Page) -> None:
    write(page, OWN)
    expect_message(page, "Nothing is hidden")
    page.locator("button.chip").get_by_text("quiet", exact=True).click()
    expect(page.locator("#figure .bars .mark").first).to_be_visible()
    choose_view(page, "Next sentence")
    expect(page.locator(STAND_IN)).to_contain_text("there is no second sentence")
    page.get_by_text("Back to my text").click()
    expect(page.locator(TEXT)).to_have_value(OWN)
    expect(page.locator("#message .error")).to_contain_text("There is no second sentence")  # now it was asked for
    expect(page.locator("button.chip.masked")).to_have_count(1)
    choose_view(page, "Paragraph")
    expect(page.locator(STAND_IN)).to_contain_text("This is an example, not your text")
    choose_view(page, "One mask")
    expect(page.locator(TEXT)).to_have_value(OWN)
    expect(page.locator("button.chip.masked")).to_have_count(1)
    expect(page.locator(STAND_IN)).to_have_count(0)
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_what_is_typed_over_an_example_is_ones_own_text(page: Page) -> None:
    choose_view(page, "Next sentence")
    expect(page.locator(STAND_IN)).to_contain_text("an example, not your text")
    write(page, OWN)
    expect(page.locator(STAND_IN)).to_have_count(0)
    choose_view(page, "Pieces")
    expect(page.locator(TEXT)).to_have_value(OWN)
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_who_has_selected_their_text_writes_over_the_example_that_replaces_it(page: Page) -> None:
    waiting: list[Route] = []
    # playwright marks the functions that it calls
    page.route("**/api/v1/view", lambda route: waiting.append(route), times=1)
    choose_view(page, "Next sentence")
    page.locator(TEXT).select_text()
    while not waiting:
        page.wait_for_timeout(50)
    waiting[0].continue_()
    expect(page.locator(STAND_IN)).to_contain_text("an example, not your text")
    page.keyboard.type(OWN)
    expect(page.locator(TEXT)).to_have_value(OWN)
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_view_borrows_a_checkpoint_for_itself_alone(page: Page) -> None:
    picker = page.locator("#picker > summary")
    choose_view(page, "Answer")
    expect(picker).to_contain_text("sentiment")
    expect(page.locator(STAND_IN)).to_contain_text("The other views stay with mini")
    for title in ("Saliency", "Referee", "Layers", "Heads"):
        choose_view(page, title)
        expect(picker).to_contain_text("mini")
        wait_until_idle(page)
        expect(page.locator(STAND_IN)).to_have_count(0)
    choose_view(page, "Answer")
    page.get_by_text("Use sentiment everywhere").click()
    expect(page.locator(STAND_IN)).to_have_count(0)
    choose_view(page, "Saliency")
    expect(picker).to_contain_text("sentiment")
    choose_view(page, "One mask")  # which sentiment cannot answer
    expect(picker).to_contain_text("mini")
    alone = "This is mini, for this view alone. The other views stay with sentiment."
    expect(page.locator(STAND_IN)).to_contain_text(alone)
    page.get_by_text("Use mini everywhere").click()
    expect(page.locator(STAND_IN)).to_have_count(0)
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_ones_own_text_survives_back_and_a_reload(page: Page) -> None:
    write(page, OWN)
    expect_message(page, "Nothing is hidden")
    choose_view(page, "Next sentence")
    choose_view(page, "Similarity")
    wait_until_idle(page)
    page.go_back()
    expect(page.locator("#question h2")).to_have_text("Does B follow A?")
    expect(page.locator(STAND_IN)).to_contain_text("This is an example, not your text")
    page.reload()
    expect(page.locator(STAND_IN)).to_contain_text("This is an example, not your text")
    page.get_by_text("Back to my text").click()
    expect(page.locator(TEXT)).to_have_value(OWN)
    wait_until_idle(page)
