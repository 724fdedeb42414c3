"""A first visit: the page opens with an answer, a click hides a word, the checkpoint changes, the link restores the
state."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import (
    TEXT,
    chip,
    chips,
    choose_view,
    expect_message,
    expect_said,
    use_checkpoint,
    wait_until,
    wait_until_idle,
    write,
)


def test_the_page_opens_with_an_answer(page: Page) -> None:
    assert page.locator(TEXT).input_value() == "The capital of France is [MASK]."
    expect_said(page, "It would put “paris”")
    expect(page.locator("#figure .bars .mark")).to_have_count(10)
    expect(page.locator("button.example")).to_have_count(5)


def test_typing_hiding_switching_and_reloading_keep_the_state(page: Page) -> None:
    write(page, "The doctor went to the bank.")
    expect_message(page, "Nothing is hidden")
    chip(page, "bank").click()
    expect(chip(page, "[MASK]")).to_have_attribute("aria-pressed", "true")
    expect_said(page, "It would put")
    expect(page.locator("#message")).to_be_empty()
    on_mini = page.locator("#caption .said").inner_text()

    use_checkpoint(page, "roberta")
    expect(page.locator("#receipt")).to_contain_text("roberta")
    expect(chip(page, "<mask>")).to_be_visible()
    expect(page.locator("#caption .said")).not_to_have_text(on_mini)
    sentence, link = page.locator("#caption .said").inner_text(), page.url

    wait_until_idle(page)
    page.goto(link)
    expect(page.locator("#caption .said")).to_have_text(sentence)
    expect(page.locator("#receipt")).to_contain_text("roberta")
    assert page.locator(TEXT).input_value() == "The doctor went to the bank."
    assert "<mask>" in chips(page)
    assert page.url == link


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_a_link_restores_a_view_with_its_settings(page: Page) -> None:
    choose_view(page, "Two sentences")
    page.locator("button.example").first.click()
    expect_said(page, "More likely in the first sentence")
    expect(page.locator("#forms [data-setting=named]")).to_have_value("8")
    page.locator("#forms [data-setting=named]").fill("3")
    page.wait_for_url("**named=3**")
    sentence = page.locator("#caption .said").inner_text()
    wait_until_idle(page)
    page.reload()
    expect(page.locator("#caption .said")).to_have_text(sentence)
    expect(page.locator("#forms [data-setting=named]")).to_have_value("3")


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_each_of_several_quick_presses_counts(page: Page) -> None:
    for word in ("the", "capital", "france"):
        chip(page, word).click()
    expect(page.locator("button.chip.masked")).to_have_count(4)
    expect_said(page, "For mask 3")
    assert chips(page) == ["[CLS]", "[MASK]", "[MASK]", "of", "[MASK]", "is", "[MASK]", ".", "[SEP]"]


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_a_press_counts_even_if_its_chip_is_redrawn_during_it(page: Page) -> None:
    before = page.locator("#caption .said").inner_text()
    chip(page, "capital").click()
    box = chip(page, "of").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.evaluate("window.old = [...document.querySelectorAll('button.chip')].at(-1)")
    page.mouse.down()
    pressed = page.evaluate("([x, y]) => document.elementFromPoint(x, y).textContent", [box["x"] + 4, box["y"] + 4])
    wait_until(
        page, "!window.old.isConnected || document.querySelector('#caption .said').textContent !== " + repr(before)
    )
    page.wait_for_timeout(300)
    page.mouse.up()
    expect(page.locator("button.chip.masked")).to_have_count(3 if pressed == "of" else 2)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_typed_mask_takes_the_best_answer(page: Page) -> None:
    chip(page, "[MASK]").click()
    expect(page.locator(TEXT)).to_have_value("The capital of France is paris.")
    chip(page, "paris").click()
    expect_said(page, "It would put “paris”")


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_backspace_and_paste_are_answered(page: Page) -> None:
    box = page.locator(TEXT)
    box.click()
    box.press("Control+A")
    box.press("Backspace")
    expect_message(page, "The text is empty")
    page.evaluate("navigator.clipboard.writeText('A robin is a [MASK].')")
    box.press("Control+V")
    expect(chip(page, "robin")).to_be_visible()
    expect(page.locator("#message")).to_be_empty()


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_words_stay_hidden_while_the_text_before_them_is_edited(page: Page) -> None:
    write(page, "The man went to the store.")
    chip(page, "store").click()
    expect(page.locator("button.chip.masked")).to_have_count(1)
    page.locator(TEXT).press("Home")
    page.keyboard.type("Yesterday ")
    expect(chip(page, "yesterday")).to_be_visible()
    assert chips(page)[-3:] == ["[MASK]", ".", "[SEP]"]


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_the_keyboard_alone_is_enough(page: Page) -> None:
    chip(page, "the").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Space")
    expect(page.locator("button.chip.masked")).to_have_count(2)
    assert page.evaluate("document.activeElement.dataset.span") == "0:4-11"
    page.keyboard.press("Enter")
    expect(page.locator("button.chip.masked")).to_have_count(1)
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.textContent") == "."
