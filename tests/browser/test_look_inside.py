"""The views that look inside the model: picked chips, figures that open others, an upload, a comparison."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import (
    TEXT,
    chip,
    choose_view,
    expect_message,
    expect_said,
    use_checkpoint,
    wait_until_idle,
    write,
)

TIRED = "The animal didn't cross the street because it was too tired."


def press_figure(page: Page, *places: tuple[float, float]) -> None:
    """Move over *places* of the first subplot, shares of its height and width, press the last at once, and move on."""
    page.wait_for_timeout(1500)  # the sentence appears before its figure
    area = page.locator("#figure .tinted").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    for row, column in places:
        page.mouse.move(box["x"] + column * box["width"], box["y"] + row * box["height"])
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(box["x"] + 5, box["y"] + 5)


def test_a_chip_is_picked_and_a_tile_opens_its_head(page: Page) -> None:
    choose_view(page, "Heads")
    write(page, TIRED)
    expect_said(page, "Each tile is a head")
    chip(page, "it").click()
    expect(chip(page, "it")).to_have_attribute("aria-pressed", "true")
    expect_said(page, "“it” gives")
    expect(page.locator("button.chip.tinted").first).to_be_visible()
    press_figure(page, (2.5 / 6, 4.5 / 12))
    expect_said(page, "In layer 3, head 5,")
    expect(page.locator("#forms [data-setting=layer]")).to_have_value("3")
    assert "picked=0%3A43-45" in page.url
    wait_until_idle(page)
    sentence = page.locator("#caption .said").inner_text()
    page.reload()
    expect(page.locator("#caption .said")).to_have_text(sentence)
    expect(chip(page, "it")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_second_pick_needs_shift_and_special_tokens_can_be_picked(page: Page) -> None:
    choose_view(page, "Heads")
    page.locator("button.chip", has_text="[CLS]").click()
    expect_said(page, "“[CLS]” gives")
    chip(page, "france").click()
    expect(page.locator("button.chip.picked")).to_have_count(1)
    chip(page, "capital").click(modifiers=["Shift"])
    expect(page.locator("button.chip.picked")).to_have_count(2)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_head_that_a_checkpoint_lacks_stays_on_the_slider(page: Page) -> None:
    page.goto(page.url.partition("?")[0] + "?view=attention&text=A+cat+sat.&show=head&layer=1&head=12")
    expect_said(page, "In layer 1, head 12,")
    wait_until_idle(page)
    use_checkpoint(page, "roberta")
    expect_message(page, "Head 12 does not exist; there are 4 heads.")
    head = page.locator("#forms [data-setting=head]")
    expect(head).to_have_value("12")
    head.fill("4")
    expect_said(page, "In layer 1, head 4,")
    expect(head).to_have_attribute("max", "4")
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_heads_are_switched_off_by_pressing_them(page: Page) -> None:
    choose_view(page, "Switchboard")
    expect_said(page, "With all heads on, “paris” has")
    off = page.locator("#forms [data-setting=off]")
    expect(page.locator("#figure .cells .mark")).to_have_count(72, timeout=60_000)
    wait_until_idle(page)
    first, second = (1.5 / 6, 3.5 / 12), (5.5 / 6, 0.5 / 12)
    press_figure(page, first)
    expect(off).to_have_value("2·4")
    expect_said(page, "With 2·4 off, “paris” goes from")
    press_figure(page, first, second)  # plotly's own click event names the cell before
    expect(off).to_have_value("2·4, 6·1")
    press_figure(page, first)
    expect(off).to_have_value("6·1")
    press_figure(page, first, second)
    expect(off).to_have_value("")
    expect_said(page, "With all heads on")


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_bertviz_is_drawn_in_its_frame(page: Page) -> None:
    choose_view(page, "BertViz")
    frame = page.frame_locator("#figure iframe")
    expect(frame.locator("svg").first).to_be_visible()
    expect(page.locator("#export-png")).to_be_hidden()
    with page.expect_download() as download:
        page.locator("#export-html").click()
    assert download.value.suggested_filename == "bertviz.html"
    choose_view(page, "Rollout and flow")
    expect(page.locator("#figure iframe")).to_have_count(0)
    expect(page.locator("#figure .marks")).to_be_visible()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_uploaded_lines_are_read_searched_and_remembered(page: Page, tmp_path: Path) -> None:
    choose_view(page, "Search")
    file = tmp_path / "lines.csv"
    file.write_bytes(
        "text;label\nDer Fluß ist tief.;Wasser\nThe river is deep.;water\n<img src=x>;html\n".encode("latin-1")
    )
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload lines").click()
    chooser.value.set_files(file)
    expect_message(page, "3 lines from lines.csv: Latin-1, semicolons")
    write(page, "A deep stream.")
    expect(page.locator(".strip")).to_contain_text("stream")
    expect_said(page, "“The river is deep.”")
    wait_until_idle(page)
    page.reload()
    expect_said(page, "“The river is deep.”")
    bad = tmp_path / "bad.txt"
    bad.write_bytes(bytes(range(256)) * 4)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload lines").click()
    chooser.value.set_files(bad)
    expect_message(page, "bad.txt is not text")
    expect(page.locator(TEXT)).to_have_value("A deep stream.")


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_random_weights_appear_next_to_the_answer(page: Page) -> None:
    page.locator("#do-compare").click()
    page.get_by_label("random weights").click()
    expect(page.locator("#beside h3")).to_have_text("mini, random weights")
    expect(page.locator("#beside .bars").first).to_be_visible()
    expect(page.locator("#difference .marks")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    wait_until_idle(page)
    page.reload()
    expect(page.locator("#beside h3")).to_have_text("mini, random weights")
    page.get_by_label("nothing").click()
    expect(page.locator("#beside")).to_be_hidden()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_another_text_and_another_checkpoint_appear_next_to_the_answer(page: Page) -> None:
    page.locator("#do-compare").click()
    page.get_by_label("another text").click()
    expect_message(page, "Type the other text")
    box = page.get_by_label("The other text")
    expect(box).to_be_focused()
    box.fill("The capital of Japan is [MASK].")
    box.press("Enter")
    expect(page.locator("#beside h3")).to_have_text("The capital of Japan is [MASK].")
    expect(page.locator("#difference")).to_contain_text("paris")
    expect(page.locator("#difference")).not_to_contain_text("not listed")
    page.locator("#picker > summary").click()
    for label in page.locator("#comparing :is(label, legend):visible").all():
        place = label.bounding_box()
        spot = [place["x"] + place["width"] / 2, place["y"] + place["height"] / 2]
        over = page.evaluate("([x, y]) => document.elementFromPoint(x, y)?.closest('#picker, #comparing')?.id", spot)
        drawer = page.locator("#picker .drawer").bounding_box()
        assert over == "picker" or spot[0] < drawer["x"], "a label shines through the drawer"
    page.keyboard.press("Escape")
    page.get_by_label("another checkpoint").click()
    box = page.get_by_label("Name of the checkpoint")
    expect(box).to_be_focused()
    page.get_by_label("another checkpoint").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("another text")).to_be_focused()  # the arrow keys stay among the choices
    page.keyboard.press("ArrowUp")
    box.fill("roberta")
    box.press("Enter")
    expect(page.locator("#beside h3")).to_have_text("roberta")
    box.fill("nobody/has-this")
    box.press("Enter")
    expect(page.locator("#beside")).to_contain_text("nobody/has-this is not on this disk")
    page.get_by_label("other settings").click()
    box = page.get_by_label("Settings that differ")
    box.fill("top=3")
    box.press("Enter")
    expect(page.locator("#beside h3")).to_have_text("mini, top=3")
    expect(page.locator("#difference")).to_contain_text("mini, top=3")
    box.fill("")
    box.press("Enter")
    expect(page.locator("#message")).to_contain_text("This view has top, words and precision.")
    choose_view(page, "BertViz")
    expect(page.frame_locator("#figure iframe").locator("svg").first).to_be_visible()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_link_with_a_pair_and_settings_restores_them(page: Page) -> None:
    """The boxes are filled one after the other; none may send a request with the old values of the others."""
    query = "view=attention&text=The+man+went+to+the+store.&pair=He+bought+a+gallon+of+milk.&checkpoint=mini"
    for _ in range(3):
        page.goto(f"{page.url.partition('?')[0]}?{query}&show=arcs&special=hidden&direction=B+to+A")
        expect_said(page, "[CLS] and [SEP] are left out")
        wait_until_idle(page)
        page.wait_for_timeout(1000)
        assert all(part in page.url for part in ("show=arcs", "special=hidden", "direction=B+to+A"))
        expect_said(page, "[CLS] and [SEP] are left out")


WATCH = "?view=fill-mask&text=They+live+in+the+United+[MASK]+of+America.&checkpoint=tiny%400"


def test_a_training_plays_from_its_start_to_its_end(page: Page) -> None:
    page.goto(page.url.partition("?")[0] + WATCH)
    label, play = page.locator("#moment label"), page.locator("#moment-play")
    expect(label).to_have_text("Training: step 0")
    play.click()
    expect(play).to_have_text("Pause")
    expect(label).not_to_have_text("Training: step 0")
    play.click()  # it stays where it is
    expect(play).to_have_text("Play")
    wait_until_idle(page)
    stopped = label.inner_text()
    page.wait_for_timeout(1500)
    expect(label).to_have_text(stopped)
    play.click()
    expect(label).to_have_text("Training: step 2,927")
    expect(play).to_have_text("Play")
    expect_said(page, "then “states” with 38 %")
    play.click()  # at the end, from the start again
    expect(label).to_have_text("Training: step 0")
    play.click()
    wait_until_idle(page)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_the_keyboard_moves_through_the_views_of_a_door(page: Page) -> None:
    page.locator("button.view[aria-selected=true]").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("button.view[aria-selected=true]")).to_have_text("Several masks")
    expect(page.locator("#question h2")).to_have_text("How should several masks be filled together?")
    expect(page.locator("button.view[aria-selected=true]")).to_be_focused()
