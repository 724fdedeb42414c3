"""The whole model on one screen: hover, keyboard, doors, folding, and the picture as a file."""

import re
from itertools import combinations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.browser.steps import expect_said, wait_until_idle, write

LINK = "?view=forward-pass&text=The+cat+sat+on+the+[MASK]."
PICTURE = "#figure .model > svg"


@pytest.fixture
def picture(browser: Browser, address: str):
    with opened(browser, address + LINK) as page:
        expect(page.locator(PICTURE)).to_be_visible()
        wait_until_idle(page)
        yield page


def part(page: Page, name: str):
    return page.locator(f'{PICTURE} [data-part="{name}"]')


def test_the_pointer_follows_a_token_through_the_layers(picture: Page) -> None:
    word = picture.locator(f"{PICTURE} text[data-row]", has_text="cat")
    row = word.get_attribute("data-row")
    word.hover()
    expect(word).to_have_attribute("font-weight", "700")
    own = picture.locator(f'{PICTURE} path[data-to="{row}"][data-special="false"]').first
    other = picture.locator(f'{PICTURE} path:not([data-to="{row}"])').first
    strength = [float(one.get_attribute("stroke-opacity") or 0) for one in (own, other)]
    assert strength[0] >= 0.35 > strength[1], "its ribbons stand out"
    expect(picture.locator("#figure .says")).to_contain_text("What goes in")


def test_the_keyboard_walks_from_part_to_part_and_opens_one(picture: Page) -> None:
    part(picture, "pieces").focus()
    says = picture.locator("#figure .says")
    expect(says).to_contain_text("What goes in")
    seen = []
    for _ in range(40):
        picture.keyboard.press("ArrowRight")
        seen.append(picture.evaluate("document.activeElement.dataset.part"))
        if seen[-1] == "end":
            break
    assert seen[0] == "vectors" and {"layer", "attention"} <= set(seen)
    expect(says).to_contain_text("What comes out")
    bold = picture.locator(f"{PICTURE} text[data-row][font-weight='700']")
    before = bold.text_content()
    picture.keyboard.press("ArrowDown")
    assert bold.text_content() != before
    picture.keyboard.press("Enter")
    expect(picture.locator('button.view[data-view="fill-mask"]')).to_have_attribute("aria-selected", "true")
    assert picture.locator("#text textarea").input_value() == "The cat sat on the [MASK]."


def test_a_layer_opens_and_its_heads_are_doors(picture: Page) -> None:
    part(picture, "layer").first.locator(".ground").click()
    wait_until_idle(picture)
    number = re.search(r"layer=(\d)", picture.url)
    assert number
    expect(part(picture, "attention")).to_contain_text(f"{number[1]}·")
    part(picture, "tile").last.locator("rect").click()
    expect(picture.locator('button.view[data-view="attention"]')).to_have_attribute("aria-selected", "true")
    expect_said(picture, f"In layer {number[1]}, head")


def test_the_picture_is_a_file_in_the_colours_of_the_light_page(browser: Browser, address: str) -> None:
    with opened(browser, address + LINK, scheme="dark") as page:
        expect(page.locator(PICTURE)).to_be_visible()
        wait_until_idle(page)
        for kind in ("svg", "png", "html"):
            with page.expect_download() as download:
                page.locator(f"#export-{kind}").click()
            content = download.value.path().read_bytes()
            assert len(content) > 10_000
            if kind == "svg":
                assert b"What comes out" in content and b"var(--" not in content
            if kind == "html":
                assert b"data:image" in content and b"<script" not in content


DRAWN = """async ([script, layers]) => {
  const { draw } = await import(script), { data } = document.querySelector("bx-figure").figure;
  const many = Array.from({ length: layers }, (_, i) => ({ ...data.layers[0], number: i + 1 }));
  const host = document.querySelector("#figure .model");
  const svg = draw({ data: { ...data, open: 0, layers: many } }, host.clientWidth);
  host.replaceChildren(svg);
  const { left, right } = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter((one) => one.textContent.trim());
  const boxes = texts.map((one) => [one.textContent, one.getBoundingClientRect()]);
  const outside = boxes.filter(([, box]) => box.left < left - 2 || box.right > right + 2).map(([words]) => words);
  const sizes = texts.map((one) => parseFloat(one.getAttribute("font-size")));
  return [outside, Math.min(...sizes), svg.querySelectorAll("[data-part=layer]").length];
}"""
SCRIPT = "performance.getEntriesByType('resource').find((one) => /model_picture/.test(one.name)).name"


@pytest.mark.parametrize("width", [1024, 1280])
def test_nothing_is_cut_or_touches_beside_the_settings(browser: Browser, address: str, width: int) -> None:
    with opened(browser, address + "?view=forward-pass&text=The+capital+of+France+is+[MASK].") as page:
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator(PICTURE)).to_be_visible()
        wait_until_idle(page)
        assert "…" not in page.locator(PICTURE).text_content()
        for layer in part(page, "layer").all():
            expect(layer.locator("text", has_text="%")).to_have_count(1)
        texts = page.locator(f"{PICTURE} text").evaluate_all(
            "(all) => all.map((one) => [one, one.getBBox()]).map(([{ textContent }, { x, y, width, height }]) =>"
            " [textContent, x, y, x + width, y + height])"
        )
        texts = [text for text in texts if text[0].strip()]
        touching = [
            (one[0], other[0])
            for one, other in combinations(texts, 2)
            if max(one[1], other[1]) < min(one[3], other[3]) + 2 and max(one[2], other[2]) + 6 < min(one[4], other[4])
        ]
        assert touching == []


@pytest.mark.parametrize("width", [390, 1024, 1280])
def test_any_number_of_layers_fits(browser: Browser, address: str, width: int) -> None:
    with opened(browser, address + LINK) as page:
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator(PICTURE)).to_be_visible()
        wait_until_idle(page)
        for layers in (1, 12, 24):
            outside, smallest, folded = page.evaluate(DRAWN, [page.evaluate(SCRIPT), layers])
            assert outside == [] and smallest >= 12 and folded == layers - 1, layers


@pytest.mark.parametrize("text", ["a", "word " * 600, "[MASK] and [MASK]"])
def test_texts_of_any_length_have_a_picture(picture: Page, text: str) -> None:
    write(picture, text)
    wait_until_idle(picture)
    expect(picture.locator(PICTURE)).to_be_visible()
    expect_said(picture, "go in.")
    rows = picture.locator(f"{PICTURE} text[data-row]").count()
    assert 3 <= rows <= 20


def test_an_empty_text_has_a_sentence_and_no_picture(picture: Page) -> None:
    write(picture, "")
    expect(picture.locator("#message")).to_contain_text("The text is empty. Type a sentence.")
    expect(picture.locator(PICTURE)).to_have_count(0)
