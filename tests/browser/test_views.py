"""Every view with its examples: a figure, a sentence, nothing wider than a small screen or a large; and the exports."""

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertexplorer.ui.tabs import TABS
from tests.browser.conftest import SIZES
from tests.browser.steps import choose_view, wait_until_idle


@pytest.mark.parametrize("size", ["phone"], indirect=True)
@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.TITLE)
def test_a_view_answers_its_examples(page: Page, tab) -> None:
    choose_view(page, tab.TITLE)
    expect(page.locator("#question h2")).to_have_text(tab.QUESTION)
    for number, example in enumerate(tab.EXAMPLES):
        page.locator("button.example").nth(number).click()
        expect(page.locator("#text textarea")).to_have_value(example.text)
        wait_until_idle(page)
        expect(page.locator("#message")).to_be_empty()
    expect(page.locator("#figure")).to_have_attribute("aria-label", page.locator(".said").inner_text())
    drawn = page.locator("#frame iframe" if tab.TITLE == "BertViz" else "#figure .main-svg").first
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        expect(drawn).to_be_visible()
        assert drawn.bounding_box()["height"] >= 300
        page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_exports_are_saved(page: Page, tmp_path: Path) -> None:
    saved = {}
    for kind in ("csv", "json", "python", "png", "svg"):
        with page.expect_download() as download:
            page.locator(f"#export-{kind}").click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        saved[kind] = file.read_bytes()
    rows = list(csv.DictReader(io.StringIO(saved["csv"].decode())))
    assert rows[0]["token"] == "paris" and len(rows) == 10
    found = json.loads(saved["json"])
    assert found["provenance"]["checkpoint"] == "mini" and found["rows"][0]["token"] == "paris"
    compile(saved["python"], "python", "exec")
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
        assert saved[kind].startswith(start) and len(saved[kind]) > 5000


def test_the_link_is_copied(page: Page) -> None:
    page.locator("#export-link").click()
    expect(page.locator("#export-link")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_words_are_looked_up(page: Page) -> None:
    page.locator("#options-fill-mask textarea, #options-fill-mask input[type=text]").first.fill("lyon, Llanfair")
    expect(page.locator("#figure .bartext", has_text="pieces")).to_have_count(1)
    expect(page.locator("#figure .bartext")).to_have_count(12)
