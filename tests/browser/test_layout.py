"""The frame of the pages: the same left edge, two columns where there is room, figures in the colours of the page."""

import io

import pytest
from PIL import Image, ImageStat
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_idle, wait_until_quiet

TEXT = "&text=The+cat+sat+on+the+mat."
DRAWN = {
    "grid": ("?view=attention" + TEXT, "#figure .tiles image"),
    "head": ("?view=attention&show=head&layer=1&head=1" + TEXT, "#figure .cells .mark"),
    "BertViz": ("?view=bertviz&kind=model" + TEXT, "#figure iframe"),
}


def brightness(element: Locator) -> float:
    """Mean of what is on the screen, 0 (black) to 255."""
    picture = Image.open(io.BytesIO(element.screenshot()))
    return float(ImageStat.Stat(picture.convert("L")).mean[0])


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
@pytest.mark.parametrize("kind", DRAWN)
def test_attention_follows_the_colours_of_the_page(
    browser: Browser, address: str, kind: str, scheme: str, dark: bool
) -> None:
    link, drawn = DRAWN[kind]
    with opened(browser, address + link, scheme=scheme) as page:
        expect(page.locator(drawn).first).to_be_visible()
        wait_until_idle(page)
        page.wait_for_timeout(500)  # a frame paints after it has loaded
        shown = brightness(page.locator("#figure"))
    assert shown < 80 if dark else shown > 175, shown


def test_all_pages_begin_at_the_same_edge(browser: Browser, address: str) -> None:
    edges: dict[int, dict[str, list[float]]] = {390: {}, 1024: {}, 1280: {}, 1920: {}}
    with opened(browser, address) as page:
        for name in ("", "learn", "train", "pretrain"):
            page.goto(address + name)
            title = page.locator("h1")
            expect(title).to_be_visible()
            wait_until_quiet(page)
            for width, found in edges.items():
                page.set_viewport_size({"width": width, "height": 800})
                wait_until_quiet(page)
                boxes = [one.bounding_box() for one in (*page.locator(".pages a").all(), title)]
                found[name] = [round(box["x"]) for box in boxes if box]
                assert found[name][0] == found[name][-1], "the navigation is in line with the page"
    for width, found in edges.items():
        assert all(places == found[""] for places in found.values()), (width, found)


BOXES = """() => ["#workbench", "#figure .bars"].map((each) => {
  const { x, y, width, height } = document.querySelector(each).getBoundingClientRect();
  return { x, y, width, height };
})"""  # in one turn, as a resized figure is drawn anew


def test_the_figure_is_next_to_the_text_from_1000_pixels_on(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        for width, beside in ((999, False), (1000, True), (1024, True), (1280, True)):
            page.set_viewport_size({"width": width, "height": 768})
            wait_until_idle(page)
            text, figure = page.evaluate(BOXES)
            assert (figure["x"] > text["x"] + text["width"]) == beside, width
            if beside:
                assert figure["y"] + figure["height"] < 768, "all of the bars are in view"
