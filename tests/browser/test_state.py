"""The newest state wins: late, lost, doubled and reordered answers, a server that restarts, and whatever a person does."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from tests.browser.conftest import App, opened
from tests.browser.steps import TEXT, chip, choose_view, expect_said, wait_until, wait_until_idle, write

VIEW = "**/api/v1/view"
SEQUENCES, STEPS = 200, 6
TEXTS = ("A robin is a [MASK].", "A piano is a [MASK].", "The keys to the cabinet [MASK] on the table.")
VIEWS = ("One mask", "Pieces", "Heads", "Layers", "Whole sentence")
# What the address names, what is on the screen, and what the server says of that address.
SHOWN = """async () => {
  const reply = await fetch("api/v1/view", { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ link: location.search }) });
  const found = await reply.json();
  const page = document.querySelector("bx-explore"), read = (one) => document.querySelector(one)?.textContent ?? "";
  return {
    wanted: [found.state.text, found.said ?? found.detail, found.strip?.chips.map((chip) => chip.label).join(" ") ?? ""],
    shown: [document.querySelector("#text textarea").value,
      found.said === undefined ? read("#message .message").replace(/Insert.*|Add a.*/, "").trim() : read("#caption .said"),
      [...document.querySelectorAll(".strip .chip")].map((chip) => chip.textContent).join(" ")],
    view: [found.state.view, page.dataset.view, document.querySelector("button.view[aria-selected=true]").dataset.view],
  };
}"""


def agrees(page: Page) -> None:
    """What is on the screen is what the address asks for."""
    wait_until_idle(page)
    found = page.evaluate(SHOWN)
    assert found["shown"] == found["wanted"], page.url
    assert len(set(found["view"])) == 1, page.url


def late(route: Route, number: int) -> None:
    """The first answer takes longest."""
    answer = route.fetch()
    time.sleep(max(0.0, 0.6 - 0.2 * number))
    route.fulfill(response=answer)


def lost(route: Route, number: int) -> None:
    """Every other request never arrives."""
    if number % 2:
        route.continue_()
    else:
        route.abort()


def doubled(route: Route, number: int) -> None:
    """The server hears everything twice."""
    route.fetch()
    route.continue_()


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address, gone=True) as page:  # a lost request is written on the console
        expect_said(page, "It would put “paris”")
        yield page


@pytest.mark.parametrize("trouble", [late, lost, doubled])
def test_the_newest_state_is_on_the_screen(page: Page, trouble: Callable[[Route, int], None]) -> None:
    page.goto(page.url.partition("?")[0])
    expect_said(page, "It would put “paris”")
    numbers = iter(range(1000))

    def meddle(route: Route) -> None:
        trouble(route, next(numbers))

    page.route(VIEW, meddle)
    for text in TEXTS:
        write(page, text)
        page.wait_for_timeout(120)
    choose_view(page, "Layers")
    expect_said(page, "first choice")
    page.unroute(VIEW)
    assert page.locator(TEXT).input_value() == TEXTS[-1]
    agrees(page)


def step(page: Page, rng: random.Random) -> None:
    """One thing that a person might do, whether the last one is answered yet or not."""
    kind = rng.choice(("type", "type", "press", "press", "switch", "example", "back", "reload", "wait"))
    if kind == "type":
        write(page, rng.choice(TEXTS))
    elif kind == "press":
        page.evaluate("(at) => { const all = document.querySelectorAll('button.chip'); all[at % all.length]?.click(); }",
                      rng.randrange(20))  # fmt: skip
    elif kind == "switch":
        choose_view(page, rng.choice(VIEWS))
    elif kind == "example":
        page.locator("button.example").nth(rng.randrange(5)).click()
    elif kind == "back":
        page.evaluate("history.back()")
    elif kind == "reload" and rng.random() < 0.2:
        page.reload()
        page.wait_for_selector("#text textarea")
    else:
        page.wait_for_timeout(rng.randrange(120))


def test_whatever_a_person_does(page: Page) -> None:
    start = page.url.partition("?")[0]
    page.goto(start)
    expect_said(page, "It would put “paris”")
    rng = random.Random(0)
    for _ in range(SEQUENCES):
        with suppress(Error):  # Back led out of the app
            for _ in range(STEPS):
                step(page, rng)
        page.wait_for_timeout(50)
        if "?" not in page.url or not page.url.startswith(start):
            page.goto(start)
            expect_said(page, "It would put “paris”")
        agrees(page)


def test_a_server_that_restarts_is_not_noticed(browser: Browser, tmp_path: Path) -> None:
    app = App(tmp_path / "models", tmp_path / "data", tmp_path / "hub")
    try:
        with opened(browser, app.url, gone=True) as page:
            expect_said(page, "It would put “paris”")
            app.kill()
            write(page, "A robin is a [MASK].")
            wait_until(page, "document.querySelector('#figure').dataset.line?.startsWith('The server does not answer')")
            app.start()
            expect(chip(page, "robin")).to_be_visible()
            expect_said(page, "It would put")
            agrees(page)
    finally:
        app.close()
