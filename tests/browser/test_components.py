"""Components in somebody's Gradio app, in Chromium: what a person does and what listeners do meet in one value."""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.browser.test_gradio_app import started
from tests.conftest import Tiny

EVIL = "${alert(1)} `x` {{value}} <img src=x onerror=alert(2)> [MASK]."
EVIL_OPTION = "${alert(1)} {{value}} <img src=x onerror=alert(2)>"  # words to look up; the checkpoint is called so, too
APP = "tests/browser/components_app.py"
FRAMED = "tests/browser/framed_app.py"


@pytest.fixture(scope="module")
def app(tiny: Tiny) -> Iterator[str]:
    with started(APP, str(tiny("bert"))) as address:
        yield address


@pytest.fixture
def page(browser: Browser, app: str, size: str) -> Iterator[Page]:
    with opened(browser, app, size) as page:
        expect(page.locator("#first .marks")).to_be_visible()
        yield page


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_listeners_and_a_person_change_one_value(page: Page) -> None:
    # 1. It opens with an answer, which a listener hears.
    expect(page.get_by_label("Said", exact=True)).to_have_value(
        re.compile("^One mask: 10 rows. It would put “capital”")
    )

    # 2. A listener gives a part of the state.
    page.get_by_label("Mine", exact=True).fill("The [MASK] barked.")
    page.get_by_label("Mine", exact=True).press("Enter")
    expect(page.locator("#first textarea").first).to_have_value("The [MASK] barked.")
    expect(page.get_by_label("Shown", exact=True)).to_have_value("The [MASK] barked.")

    # 3. A listener hears the newest answer, also while it runs for the one before.
    page.locator("#first textarea").first.fill("The [MASK] sat.")
    expect(page.locator("#first button.chip", has_text="sat")).to_be_visible()
    page.locator("#first textarea").first.fill("[MASK] [MASK] barked.")
    expect(page.locator("#first button.chip", has_text="barked")).to_be_visible()
    expect(page.locator("#first .said").first).to_contain_text("mask 2")
    expect(page.get_by_label("Said", exact=True)).to_have_value(re.compile("mask 2"))

    # 4. A person types markup and a template; all of it stays text, everywhere.
    page.locator("#first textarea").first.fill(EVIL)
    expect(page.get_by_label("Shown", exact=True)).to_have_value(EVIL)
    assert page.locator("img[src=x]").count() == 0
    page.locator("#first textarea").first.fill(" ")
    expect(page.locator("#first")).to_contain_text("The text is empty. Type a sentence.")

    # 5. A press on a token is a change, too.
    page.locator("#first textarea").first.fill("The dog barked.")
    page.locator("#first button.chip", has_text="dog").click()
    expect(page.locator("#first button.chip.masked")).to_have_count(1)
    expect(page.get_by_text("The <b>cat</b> [MASK].", exact=True)).to_be_visible()

    # 6. A second tab begins anew, with the scripts that the browser has kept.
    second = page.context.new_page()
    asked: list[str] = []
    second.on("request", lambda request: asked.append(request.post_data or ""))
    second.goto(page.url)
    expect(second.locator("#first .marks")).to_be_visible()
    expect(second.locator("#first")).to_contain_text("It would put “capital”")
    assert any('"fn_name":"ask"' in body for body in asked)
    assert not any('"fn_name":"scripts"' in body for body in asked)


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_a_tab_that_opens_later_and_a_view_made_anew(page: Page) -> None:
    # 1. In a tab that was not drawn at first: a strip, and a checkpoint that only the program has.
    page.get_by_role("tab", name="Later").click()
    expect(page.locator("#own .marks").first).to_be_visible()
    assert page.locator("#own textarea:visible").count() == 0, "without its strip"
    expect(page.locator("#odd")).to_contain_text(EVIL_OPTION)
    assert page.locator("img[src=x]").count() == 0
    page.locator("#strip button.chip", has_text="sat").click()
    expect(page.locator("#strip button.chip.masked")).to_have_count(2)
    expect(page.get_by_label("Pressed", exact=True)).to_have_value(re.compile(r"0:4-7"))

    # 2. The explorer offers what it was told to.
    page.get_by_role("tab", name="Explorer").click()
    expect(page.locator("#explorer .marks").first).to_be_visible()
    expect(page.locator("#explorer button.door strong")).to_have_text(["Hide a word", "Who looks at whom"])
    page.locator("#explorer button.door", has_text="Hide a word").click()
    expect(page.locator("#explorer")).to_contain_text("What would BERT put here?")

    # 3. gr.render makes a view anew, twice while it may still answer.
    page.get_by_role("tab", name="Anew").click()
    expect(page.locator("#anew textarea").first).to_have_value("A cat and a cat.")
    for word in ("dog", "cat", "dog"):
        page.get_by_label(word, exact=True).check()
    expect(page.locator("#anew textarea").first).to_have_value("A dog and a dog.")
    expect(page.locator("#anew .marks").first).to_be_visible()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_two_people_have_their_own_sentences(browser: Browser, app: str, page: Page) -> None:
    with opened(browser, app) as other:
        expect(other.locator("#first .marks")).to_be_visible()
        other.locator("#first textarea").first.fill("She drank the [MASK].")
        expect(other.locator("#first")).to_contain_text("It would put")
        page.locator("#first textarea").first.fill("He ate the [MASK].")
        expect(page.get_by_label("Shown", exact=True)).to_have_value("He ate the [MASK].")
        expect(other.get_by_label("Shown", exact=True)).to_have_value("She drank the [MASK].")


def test_it_is_dark_where_the_app_is(browser: Browser, app: str) -> None:
    with opened(browser, f"{app}?__theme=dark") as page:
        expect(page.locator("#first .bx-theme.dark .marks")).to_be_visible()
        paper = page.evaluate("getComputedStyle(document.querySelector('#first .bx-theme')).backgroundColor")
        assert paper == "rgba(0, 0, 0, 0)", "that of the app"
        expect(page.get_by_label("Said", exact=True)).to_have_value(re.compile("capital"))
        page.evaluate("document.body.classList.remove('dark')")
        expect(page.locator("#first .bx-theme:not(.dark) .marks")).to_be_visible()


def test_in_a_frame_of_another_host_below_a_path(browser: Browser) -> None:
    with ExitStack() as running:
        address = running.enter_context(started(FRAMED))
        inside = address.replace("127.0.0.1", "localhost")

        with opened(browser, address, framed=inside, gone=True) as page:
            # 1. It answers without a cookie, which browsers withhold there.
            frame = page.frame_locator("iframe")
            expect(frame.locator(".marks")).to_have_count(2)
            frame.locator("bx-view textarea").first.fill("The [MASK] barked.")
            expect(frame.get_by_text("the first of 10 rows has “dogs”").first).to_be_visible()
            expect(frame.locator("bx-strip").last).to_contain_text("barked")
            assert page.context.cookies() == []

            # 2. Its server stops, which is said, and comes back.
            running.close()
            frame.locator("bx-view textarea").first.fill("The cat [MASK].")
            expect(frame.locator("bx-view").first).to_contain_text("the app does not answer")
            running.enter_context(started(FRAMED, port=int(address.split(":")[2].strip("/"))))
            text = frame.locator("bx-view textarea").first
            expect(text).to_have_value(re.compile("^The animal"), timeout=150_000)  # once gradio reloads the page
            expect(frame.locator(".marks")).to_have_count(2)
            frame.locator("bx-view textarea").first.fill("The [MASK] barked.")
            expect(frame.get_by_text("the first of 10 rows has “dogs”").first).to_be_visible()
