"""The plain Gradio app in a real Chromium: it answers, changes with its view, shows typed markup as text, and asks only
its own server."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bertexplorer.views import VIEWS
from tests.browser.conftest import ROOT, opened
from tests.browser.steps import wait_until

EVIL = "<img src=x onerror=alert(1)>"
CUT = """() => [...document.querySelectorAll("label, h1, h2, button, .prose, [data-testid=block-info]")]
  .filter((part) => part.getClientRects().length)
  .filter((part) => !part.closest("[data-testid=dataframe]") && !part.querySelector("iframe"))
  .filter((part) => part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display !== "inline"
    || part.getBoundingClientRect().right > innerWidth)
  .map((part) => part.textContent)"""


@contextmanager
def started(*command: str, port: int = 0) -> Iterator[str]:
    """The address of an app, started as a person does, at *port* or at a free one."""
    if not port:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    environment = {**os.environ, "GRADIO_SERVER_PORT": str(port), "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    while not answers(address):
        assert server.poll() is None, "it ended"
        time.sleep(0.2)
    yield address
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:  # it waits for the stream of a page that is still open
        server.kill()
        server.wait(20)


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    """The app of `bx.app`."""
    with started("-m", "bertexplorer.gradio_app") as address:
        yield address


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture
def page(browser: Browser, app: str, size: str) -> Iterator[Page]:
    """The app, watched for errors and requests to other hosts."""
    with opened(browser, app, size) as page:
        expect(bars(page)).to_be_visible()
        yield page


def bars(page: Page) -> Locator:
    return page.locator(".js-plotly-plot .main-svg").first


def said(page: Page) -> Locator:
    """The sentence above the figure."""
    return page.locator("[data-testid=markdown]").nth(2)


def labels(page: Page) -> list[str]:
    """The names of the bars."""
    return page.locator(".js-plotly-plot .ytick text").all_inner_texts()


def choose(page: Page, view: str) -> None:
    page.get_by_label("View", exact=True).first.click()
    page.get_by_role("option", name=view, exact=True).click()


def ask(page: Page, text: str) -> None:
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Ask").click()


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_a_person_asks_and_changes_the_view(page: Page) -> None:
    # 1. It opens with an answer; a question and a setting change it.
    expect(said(page)).to_contain_text("It would put “paris”")
    expect(page.get_by_text("launch(share=True)")).to_be_visible()
    ask(page, "She baked a birthday [MASK].")
    expect(said(page)).to_contain_text("It would put “cake”")
    assert len(labels(page)) == 10
    page.get_by_label("number input for Answers").fill("3")
    page.get_by_role("button", name="Ask").click()
    wait_until(page, "document.querySelectorAll('.js-plotly-plot .ytick text').length === 3")

    # 2. An example answers at once.
    page.get_by_role("button", name="The farmers").click()
    expect(said(page)).to_contain_text("“land”")
    expect(page.get_by_label("Text", exact=True)).to_have_value("The farmers cultivate the [MASK] to grow crops.")
    assert page.evaluate(CUT) == []

    # 3. Another view opens on its own example, with its own settings.
    choose(page, "Attention: Heads")
    expect(page.get_by_role("heading", name="Who looks at whom?")).to_be_visible()
    expect(page.get_by_label("Words to look at")).to_have_value("it")
    expect(said(page)).to_contain_text("Each tile is a head")
    expect(bars(page)).to_be_visible()
    expect(page.get_by_text("The first 1,000 of 14,112 rows")).to_be_visible()
    assert page.evaluate(CUT) == []

    # 4. BertViz is a page of its own, apart from this one.
    choose(page, "Attention: BertViz")
    frame = page.locator("iframe")
    expect(frame).to_have_attribute("sandbox", "allow-scripts")
    expect(frame.content_frame.locator("#vis svg text").first).to_be_visible()
    expect(bars(page)).to_be_hidden()
    wait_until(page, "document.querySelector('iframe').getBoundingClientRect().right <= window.innerWidth")
    assert page.evaluate(CUT) == []

    # 5. A view with a checkpoint of its own gives it back.
    choose(page, "Fine-tuned: Answer")
    expect(page.get_by_label("Checkpoint")).to_have_value("sentiment")
    expect(said(page)).to_contain_text("The label is “positive”")
    choose(page, "Behaviour: Suite")
    expect(page.get_by_label("Checkpoint")).to_have_value("mini")
    expect(said(page)).to_contain_text("The checkpoint puts an accepted word first")
    wait_until(page, "document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_bad_input_becomes_a_sentence_and_markup_stays_text(page: Page) -> None:
    # 1. A message says what is missing, and what was typed stays.
    message = page.get_by_test_id("toast-body")
    ask(page, "Paris is a city.")
    expect(message).to_contain_text("Put [MASK] where a word is missing")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Paris is a city.")
    expect(message).to_have_count(1)

    # 2. A view that a person has only opened reports it below its question, without a message.
    choose(page, "Sentences: Next sentence")
    expect(said(page)).to_have_text("There is no second sentence, so nothing could follow the first. Give it as pair.")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Paris is a city.")
    expect(message).to_have_count(1)
    page.get_by_label("Second text").fill("It is old.")
    page.get_by_label("Second text").press("Enter")
    expect(said(page)).to_contain_text("B follows A with")

    # 3. A view that is chosen is drawn once: a second drawing takes away the functions of the first, whose answer is
    # then an error 500.
    asked: list[dict[str, Any]] = []
    page.on("request", lambda request: asked.append(request.post_data_json) if "queue/join" in request.url else None)
    choose(page, "Attention: Heads")
    expect(said(page)).to_contain_text("Each tile is a head")
    view = page.get_by_label("View", exact=True).first
    view.click()
    view.fill("Layers")
    view.press("Enter")
    expect(page.get_by_role("heading", name=VIEWS["layers"].question)).to_be_visible()
    expect(said(page)).not_to_contain_text("Each tile is a head")
    page.wait_for_timeout(500)
    functions = [call["fn_index"] for call in asked]
    assert functions.count(0) == 2, functions

    # 4. Typed markup is text everywhere.
    choose(page, "Fill-mask: One mask")
    page.get_by_label("Look up words").fill(EVIL)
    ask(page, f"{EVIL} $$x^2$$ *a* [b](http://example.com) [MASK]")
    expect(page.get_by_role("gridcell", name=re.compile("<")).first).to_be_visible()
    choose(page, "Attention: Heads")
    expect(said(page)).to_contain_text("Each tile is a head")
    page.get_by_label("Words to look at").fill("<b>no</b>")
    page.get_by_role("button", name="Ask").click()
    expect(message.last).to_contain_text("'<b>no</b>' does not occur in the text")
    choose(page, "Fill-mask: Template")
    expect(said(page)).to_contain_text("The text has no alternatives.")
    ask(page, f"A {{<b>1</b>|{EVIL}}} is [MASK].")
    expect(said(page)).to_contain_text(EVIL)
    assert page.evaluate("document.querySelectorAll('img[src=x], .katex, .prose em, .prose b').length") == 0


def test_the_example_to_copy_answers(browser: Browser) -> None:
    with started("examples/gradio_app.py") as address, opened(browser, address) as page:
        page.get_by_role("button", name="Ask").click()
        expect(page.get_by_text("It would put “capital”")).to_be_visible()
        expect(bars(page)).to_be_visible()
        choose(page, "BertViz")
        ask(page, "The animal was too tired.")
        expect(page.frame_locator("iframe").locator("svg").first).to_be_visible()
        ask(page, "")
        expect(page.get_by_text("The text is empty")).to_be_visible()
