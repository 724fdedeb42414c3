"""Accessibility: axe-core finds no problem on any view, nor on the page in any colour scheme or size, and the keyboard
alone is enough."""

import time
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from bertexplorer.views import VIEWS
from tests.browser.conftest import opened
from tests.browser.steps import chip, choose_view, expect_message, wait_until, wait_until_idle, write

LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
STILL = "*, ::before, ::after { transition: none !important; animation: none !important }"
RUN = "levels => axe.run(document, {runOnly: {type: 'tag', values: levels}, resultTypes: ['violations']})"


def wrong(page: Page) -> list[str]:
    """The problems that axe-core finds on the page, a line for each element."""
    page.evaluate(AXE_SCRIPT)
    result: list[dict[str, Any]] = page.evaluate(RUN, LEVELS)["violations"]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary'].splitlines()[1].strip()}"
        for rule in result
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_axe_finds_nothing(browser: Browser, address: str, size: str, scheme: str) -> None:
    """Of what the page shows beside a view's answer; test_views.py has the views."""
    result: dict[str, list[str]] = {}
    with opened(browser, address, size, scheme=scheme) as page:
        page.wait_for_selector("#figure .bars")
        wait_until_idle(page)
        page.add_style_tag(content=STILL)
        write(page, "Paris is the capital.")
        expect_message(page, "Nothing is hidden")
        result["an error"] = wrong(page)
        write(page, "Paris is a [MASK].")
        page.locator("#do-compare").click()
        page.get_by_label("random weights").check()
        wait_until_idle(page)
        result["a comparison"] = wrong(page)
        page.locator("#picker > summary").click()
        page.locator(".catalogue summary").click()
        expect(page.locator("#picker tbody tr").first).to_be_visible()
        result["the drawer"] = wrong(page)
        wait_until_idle(page)
    assert not {where: lines for where, lines in result.items() if lines}


FAINT = """() => {
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => colour.match(/[\\d.]+/g).slice(0, 3)
    .reduce((sum, v, i) => sum + [0.2126, 0.7152, 0.0722][i] * linear(v / 255), 0.05);
  const page = getComputedStyle(document.body).backgroundColor;
  return [...document.querySelectorAll("#figure svg :is(text, tspan)")].flatMap((text) => {
    const own = [...text.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("");
    const disc = [...text.parentNode.querySelectorAll(":scope > circle")].at(-1);  // a letter may lie on one
    const colour = getComputedStyle(text).fill, ground = disc ? getComputedStyle(disc).fill : page;
    const [low, high] = [luminance(ground), luminance(colour)].sort((a, b) => a - b);
    const exempt = !/\\p{L}/u.test(own) || text.closest(".hm, .heatmaplayer, .tinted");
    return exempt || high / low >= 4.5 ? [] : [`${own}: ${colour}`];
  });
}"""


def faint(page: Page, seconds: float = 10) -> list[str]:
    """The words of the figure whose contrast is too low, once it had time to take other colours; axe-core does not
    check text in SVG."""
    end = time.monotonic() + seconds
    found: list[str] = page.evaluate(FAINT)
    while found and time.monotonic() < end:
        page.wait_for_timeout(100)
        found = page.evaluate(FAINT)
    return found


def test_the_headings_of_a_figure_fit_a_narrow_window(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}?view=layers&text=A+[MASK]+film.") as page:
        expect(page.locator("#figure .marks").first).to_be_visible()
        page.set_viewport_size({"width": 320, "height": 800})
        edge = "document.querySelector('#figure').getBoundingClientRect().right"
        wait_until(page, f"{edge} < 320")
        words = "[...document.querySelectorAll('#figure .marks text')]"
        wait_until(page, f"{words}.every((text) => text.getBoundingClientRect().right < {edge} + 1)", 10)
        assert page.evaluate(f"{words}[0].getBoundingClientRect().height") > 9


SEEN = """() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  const drawn = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  return at === document.body ? "lost" : box.width === 0 || !drawn ? `not seen: ${at.outerHTML.slice(0, 200)}` : "";
}"""


def has_focus(page: Page, which: str) -> bool:
    """Whether *which* has the focus; the focus must always be visible."""
    assert page.evaluate(SEEN) == ""
    return bool(page.evaluate("which => document.activeElement.matches(which)", which))


def tab_to(page: Page, which: str, key: str = "Tab") -> None:
    """Press *key* until *which* has the focus."""
    passed = []
    for _ in range(80):
        page.keyboard.press(key)
        if has_focus(page, which):
            return
        passed.append(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
    raise AssertionError(f"never came to {which}, but to {passed}")


def answered(page: Page, which: str) -> None:
    """The answer has arrived, and the focus has not moved."""
    wait_until_idle(page)
    assert has_focus(page, which), f"the focus left {which}"


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_every_control_works_with_the_keyboard(page: Page) -> None:
    type_and_hide(page)
    set_and_open(page)
    choose_a_checkpoint(page)
    compare_and_export(page)


def type_and_hide(page: Page) -> None:
    tab_to(page, "#text textarea")
    page.keyboard.press("Control+A")
    page.keyboard.type("The doctor went to the bank.")
    expect(chip(page, "bank")).to_be_visible()
    answered(page, "#text textarea")
    tab_to(page, "button.chip")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    expect(page.locator("button.chip.masked")).to_have_count(1)
    answered(page, "button.chip.masked")


def set_and_open(page: Page) -> None:
    tab_to(page, "#forms [data-setting=top]")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#figure .bars .mark")).to_have_count(12)  # eleven answers, and the word that was hidden
    answered(page, "#forms [data-setting=top]")
    tab_to(page, ".door[data-group^=Who]", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#question h2")).to_have_text("Who looks at whom?")
    answered(page, ".door[aria-current]")
    tab_to(page, "#forms input[type=radio]")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**show=head**")
    answered(page, "#forms input[type=radio]:checked")
    tab_to(page, ".view", "Shift+Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#question h2")).to_have_text(VIEWS["forward-pass"].question)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#question h2")).to_have_text("Who looks at whom?")
    answered(page, ".view[aria-selected=true]")


def choose_a_checkpoint(page: Page) -> None:
    tab_to(page, "#picker > summary", "Shift+Tab")
    page.keyboard.press("Enter")
    tab_to(page, "#checkpoint-list")
    expect(page.locator("#checkpoint-list option")).not_to_have_count(1)  # the list of the server is here
    before = page.locator("#checkpoint-list").input_value()
    page.keyboard.press("End")
    expect(page.locator("#checkpoint-list")).not_to_have_value(before)
    tab_to(page, "#checkpoint-name")  # without Enter, the list returns
    expect(page.locator("#checkpoint-list")).to_have_value(before)
    page.keyboard.type("roberta")
    page.keyboard.press("Enter")
    expect(page.locator("#receipt")).to_contain_text("roberta")
    answered(page, "#checkpoint-name")
    page.keyboard.press("Escape")
    expect(page.locator("#picker .drawer")).to_be_hidden()
    assert has_focus(page, "#picker > summary")


def compare_and_export(page: Page) -> None:
    tab_to(page, "button.example")
    page.keyboard.press("Enter")
    expect(page.locator("#text textarea")).not_to_have_value("The doctor went to the bank.")
    answered(page, "button.example")
    tab_to(page, "#do-compare", "Shift+Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#beside .marks")).to_be_visible()
    answered(page, "#against input[value='random weights']")
    tab_to(page, "#export-link")
    page.keyboard.press("Enter")
    expect(page.locator("#export-link")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    answered(page, "#export-link")


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_the_first_screen_of_a_phone_has_text_strip_and_bars(page: Page) -> None:
    for seen in ("#text textarea", ".strip .chip >> nth=-1", "#figure .bars .mark >> nth=4"):
        box = page.locator(seen).bounding_box()
        assert box and box["y"] + box["height"] <= 844, seen
    for pressed in page.locator(
        "#actions button:visible, .example, .door:visible, .all, .view:visible, #picker > summary"
    ).all():
        box = pressed.bounding_box()
        assert box and box["height"] >= 44, pressed.inner_text()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_projector_has_larger_labels(page: Page) -> None:
    sizes = []
    for width in (1280, 1920):
        page.set_viewport_size({"width": width, "height": 1080})
        for view in ("One mask", "Layers"):
            choose_view(page, view)
            wait_until_idle(page)
        label = page.locator("#figure .marks text").first
        sizes.append(float(label.evaluate("label => label.getBoundingClientRect().height")))
    assert sizes[1] == pytest.approx(1.25 * sizes[0], rel=0.05)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_all_doors_and_the_views_behind_them_are_whole(page: Page) -> None:
    for width in (1000, 1024, 1200, 1280, 1301, 1561, 1800):
        page.set_viewport_size({"width": width, "height": 800})
        for part in (".views", *(f".door >> nth={number}" for number in range(4))):
            hidden = page.locator(part).evaluate("part => part.scrollWidth - part.clientWidth")
            assert hidden <= 0, f"{hidden} pixels of {part} are cut at {width}"


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_projector_has_larger_text_on_train_and_pretrain(page: Page) -> None:
    sizes = """["#start", "#wish .choices label", ".masthead p"].map(
        (part) => parseFloat(getComputedStyle(document.querySelector(part)).fontSize))"""
    for name in ("train", "pretrain"):
        # before the page is opened, as sizes change with transitions
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{page.url.partition('?')[0].rpartition('/')[0]}/{name}")
        expect(page.locator("#start")).to_be_visible()
        before = page.evaluate(sizes)
        page.set_viewport_size({"width": 1920, "height": 1080})
        page.wait_for_function(f"before => {sizes}.every((size, i) => size >= 1.15 * before[i])", arg=before)


MOMENT = """() => {
    const moment = Object.assign(document.createElement("bx-moment"), { id: "other-moment" });
    document.body.prepend(moment);
    moment.show([["a", "run, step 1", 0], ["b", "run, step 2", 50], ["c", "run, step 3", 50]], "a");
    window.asked = [];
    for (const name of ["move", "fetch"])
        moment.addEventListener(name, ({ detail }) => window.asked.push([name, detail]));
    moment.slider.focus();
}"""


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_slider_downloads_only_with_enter(page: Page) -> None:
    page.evaluate(MOMENT)
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator("#other-moment label")).to_have_text("Training: step 3, 50 MB to download, with Enter")
    assert page.evaluate("asked") == []
    page.keyboard.press("Enter")
    assert page.evaluate("asked") == [["fetch", "c"]]
    page.keyboard.press("Home")
    assert page.evaluate("asked") == [["fetch", "c"], ["move", "a"]]
