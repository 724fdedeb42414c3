"""Every view with its examples: a figure, a sentence, nothing wider than a small or a large screen; and the exports."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Download, Page, Route, expect

from bertexplorer.views import VIEWS
from bertexplorer.views.view import View
from tests.browser.conftest import SIZES, opened
from tests.browser.steps import chip, choose_view, expect_message, wait_until, wait_until_idle, wait_until_quiet, write
from tests.browser.test_access import STILL, faint, wrong

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def phone(browser: Browser, address: str) -> Iterator[Page]:
    """One page for all views."""
    with opened(browser, address, "phone") as page:
        page.wait_for_selector("#figure .bars")
        wait_until_quiet(page)
        page.add_style_tag(content=STILL)
        yield page


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.title)
def test_a_view_answers_an_example(phone: Page, view: View) -> None:
    choose_view(phone, view.title)
    expect(phone.locator("#question h2")).to_have_text(view.question)
    wait_until_idle(phone)
    example = phone.locator("button.example:visible").last  # tests/core/test_ask.py checks the answers of all
    last = view.examples[int(example.get_attribute("data-example") or 0)]
    with phone.expect_response("**/api/v1/view"):
        example.click()
    wait_until_idle(phone)
    # 1. It shows what the example is about.
    if view.text:
        expect(phone.locator("#text textarea")).to_have_value(last.text)
        picked = parse_qs(urlsplit(phone.url).query).get("picked", [""])
        assert picked == [last.picked], "it counts in the text of the example"
    expect(phone.locator("#message")).to_be_empty()
    if view.title != "BertViz":
        expect(phone.locator("#figure :is(.marks, .plot, .model)")).to_have_attribute(
            "aria-label", phone.locator("#caption .said").inner_text().replace("\xa0", " ")
        )
    # 2. It fits the screen.
    drawn = "#figure :is(iframe, .plot .main-svg, .marks, .model > svg)"
    for width, height in SIZES.values():
        phone.set_viewport_size({"width": width, "height": height})
        # asked of the page, because a figure is drawn anew for a new width
        wait_until(phone, f"document.querySelector('{drawn}')?.getBoundingClientRect().height >= 120")
        wait_until(phone, "document.documentElement.scrollWidth <= window.innerWidth")
    # 3. Everybody can read it. For axe-core, which is slow, sizes and schemes take turns from view to view.
    for more in phone.locator("#forms .more:not([open]) > summary").all():
        more.click()
    turn = list(VIEWS).index(view.slug)
    width, height = SIZES["phone" if turn % 4 < 2 else "desktop"]
    phone.set_viewport_size({"width": width, "height": height})
    for number, scheme in enumerate(SCHEMES):
        phone.emulate_media(color_scheme=scheme)
        assert faint(phone) == [], scheme
        if number == turn % 2:
            assert wrong(phone) == [], scheme


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
    result = json.loads(saved["json"])
    assert result["provenance"]["checkpoint"] == "mini" and result["rows"][0]["token"] == "paris"
    compile(saved["python"], "python", "exec")
    drawn = saved["svg"].decode()
    assert "The capital of France is [MASK]." in drawn and "What would BERT put here?" in drawn
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
        assert saved[kind].startswith(start) and len(saved[kind]) > 4000


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_saved_picture_has_both_sides_of_a_comparison(page: Page, tmp_path: Path) -> None:
    page.goto(page.url.partition("?")[0] + "?view=fill-mask&text=A+[MASK].&against=another+checkpoint&versus=tiny")
    expect(page.locator("#beside .marks")).to_be_visible()
    wait_until_idle(page)
    with page.expect_download() as download:
        page.locator("#export-svg").click()
    download.value.save_as(tmp_path / "saved.svg")
    saved = (tmp_path / "saved.svg").read_text()
    names = page.locator("#stage h3.side").all_inner_texts()
    said = [words.replace("\xa0", " ") for words in page.locator("#stage .said").all_inner_texts()]
    parts = [f">{names[0]}<", said[0][:40], f">{names[1]}<", said[1][:40]]
    places = [saved.find(part) for part in parts]
    assert -1 not in places and places == sorted(places)
    assert saved.count("<svg") == 4, "the picture, the two sides and their difference"


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_all_heads_are_saved_as_pictures(page: Page, tmp_path: Path) -> None:
    expect(page.locator("#export-heads")).to_be_hidden()
    page.goto(page.url.partition("?")[0] + "?view=attention&text=The+cat+sat.")
    with page.expect_download() as download:
        page.get_by_role("button", name="All heads").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        said = archive.read("heads.txt").decode()
        picture = archive.read("layer-04-head-02.png")
    assert len(names) == 73 and names[1] == "layer-01-head-01.png" and names[-1] == "layer-06-head-12.png"
    assert said.startswith("The cat sat.") and said.count("layer-") == 72
    assert picture.startswith(b"\x89PNG") and len(picture) > 4000


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_saved_view_names_its_hidden_words(page: Page, tmp_path: Path) -> None:
    chip(page, "france").click()
    expect(chip(page, "[MASK]", 1)).to_be_visible()
    wait_until_idle(page)
    with page.expect_download() as download:
        page.locator("#export-html").click()
    download.value.save_as(tmp_path / "saved.html")
    saved = (tmp_path / "saved.html").read_text()
    assert "<p>Read as: [CLS] the capital of [MASK] is [MASK] . [SEP]</p>" in saved and "<td>" in saved
    refusal = json.dumps({"status": 422, "answer": {"detail": "No numbers today."}})
    page.route(
        "**/view/csv", lambda route: route.fulfill(content_type="application/x-ndjson", body=f"{refusal}\n"), times=1
    )
    with page.expect_download() as download:
        page.locator("#export-html").click()
    download.value.save_as(tmp_path / "saved.html")
    assert "The numbers are missing. No numbers today." in (tmp_path / "saved.html").read_text()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_figure_is_saved_only_with_its_own_text(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/v1/view", lambda route: held.append(route))  # playwright marks the functions that it calls
    write(page, "A robin is a [MASK].")
    expect(page.locator("bx-explore")).to_have_attribute("aria-busy", "true")
    files: list[Download] = []
    page.on("download", lambda file: files.append(file))
    for kind in ("png", "svg", "html"):
        button = page.locator(f"#export-{kind}")
        button.click()
        expect(button).to_have_text("Nothing to save")
        expect(button).to_have_text(kind.upper())
    assert files == []
    page.locator("#under-way button", has_text="Stop").dispatch_event("click")  # it is hidden until work has begun
    expect_message(page, "Stopped before it was done")
    expect(page.locator("#exports")).to_be_hidden()
    expect(page.locator("#figure")).to_be_empty()
    page.unroute("**/api/v1/view")


def test_the_link_is_copied(phone: Page) -> None:
    phone.locator("#export-link").click()
    expect(phone.locator("#export-link")).to_have_text("Copied")
    assert phone.evaluate("navigator.clipboard.readText()") == phone.url
    phone.locator("#export-link").click()
    expect(phone.locator("#export-link")).to_have_text("Link")


def test_words_can_be_looked_up(phone: Page) -> None:
    choose_view(phone, "One mask")
    write(phone, "The capital of France is [MASK].")
    phone.locator("#forms [data-setting=words]").fill("lyon, Llanfair")
    expect(phone.locator("#figure .marks text", has_text="pieces")).to_have_count(1)
    expect(phone.locator("#figure .bars .mark")).to_have_count(12)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_every_setting_has_enough_width(page: Page) -> None:
    """A check box in a row of other settings used to be 16 pixels wide."""
    choose_view(page, "Heads")
    page.locator("#forms .more > summary").click()
    expect(page.get_by_label("Pieces to words")).to_be_visible()
    for setting in page.locator("#forms .more .setting").all():
        assert setting.bounding_box()["width"] >= 150
