"""Figures follow the page's colours."""

import io

import pytest
from PIL import Image, ImageStat
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_idle

TEXT = "&text=The+cat+sat+on+the+mat."
DRAWN = {
    "grid": ("?view=attention" + TEXT, "#figure .imagelayer image"),
    "head": ("?view=attention&show=head&layer=1&head=1" + TEXT, "#figure .heatmaplayer image"),
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
