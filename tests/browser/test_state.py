"""The newest state wins: late, lost and repeated answers, a restarted server, and any sequence of actions."""

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import App, opened
from tests.browser.steps import TEXT, chip, choose_view, expect_message, expect_said, wait_until, write

VIEW = "**/api/v1/view"
SEQUENCES, STEPS = int(os.environ.get("SEQUENCES", "30")), 6
TEXTS = ("A robin is a [MASK].", "A piano is a [MASK].", "The keys to the cabinet [MASK] on the table.")
VIEWS = ("fill-mask", "tokenization", "attention", "layers", "pseudo-likelihood")
# The state in the address, the state on the screen, and the server's answer for that address.
SHOWN = """async () => {
  const reply = await fetch("api/v1/view", { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ link: location.search }) });
  const found = await reply.json();
  const page = document.querySelector("bx-explore");
  const read = (one) => (document.querySelector(one)?.textContent ?? "").replaceAll("\u00a0", " ");
  const labels = (chips, label) => [...chips].map(label).join(" ");
  const message = document.querySelector("#message .message")?.firstChild.textContent;
  const chips = labels(document.querySelectorAll(".strip .chip"), (chip) => chip.textContent);
  const said = found.said === undefined ? message : read("#caption .said");
  const { view } = document.querySelector("button.view[aria-selected=true]").dataset;
  return {
    wanted: [found.state.text, found.said ?? found.detail, labels(found.strip?.chips ?? [], (chip) => chip.label)],
    shown: [document.querySelector("#text textarea").value, said, chips],
    view: [found.state.view, page.dataset.view, view],
  };
}"""


def agrees(page: Page) -> None:
    """The screen shows the state in the address."""
    expect(page.locator("bx-explore[aria-busy=true]")).to_have_count(0)
    result = page.evaluate(SHOWN)
    assert result["shown"] == result["wanted"], page.url
    assert len(set(result["view"])) == 1, page.url


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
    """The server receives every request twice."""
    route.fetch()
    route.continue_()


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address, gone=True) as page:  # a lost request is logged on the console
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
    page.unroute_all(behavior="wait")  # a request that the page gave up may still be held
    assert page.locator(TEXT).input_value() == TEXTS[-1]
    agrees(page)


def test_the_error_page_of_a_proxy_is_not_shown(page: Page) -> None:
    """While the server restarts, its proxy answers 502 with its own page; the page shows a message instead."""
    page.route(VIEW, lambda route: route.fulfill(status=502, content_type="text/html", body="<b>no</b>"), times=2)
    write(page, TEXTS[1])
    expect(page.locator(".strip")).to_contain_text("piano")
    expect(page.locator("#message")).to_be_empty()
    page.route(VIEW, lambda route: route.fulfill(status=500, content_type="text/plain", body=""), times=1)
    write(page, TEXTS[0])
    expect_message(page, "The server answered with error 500 and without a reason. Try again, or reload the page.")
    write(page, TEXTS[2])
    expect(page.locator(".strip")).to_contain_text("cabinet")
    agrees(page)


def test_text_typed_while_the_page_opens_is_kept(page: Page) -> None:
    delayed: list[Route] = []
    page.route(VIEW, lambda route: route.continue_() if delayed else delayed.append(route))
    page.reload()
    while not delayed:
        page.wait_for_timeout(20)
    write(page, TEXTS[0])
    delayed[0].continue_()
    expect(page.locator(".strip")).to_contain_text("robin")
    expect(page.locator(TEXT)).to_have_value(TEXTS[0])
    page.unroute(VIEW)  # not by times=1: playwright then lets the held request pass before the text is typed
    agrees(page)


def test_a_link_fills_the_form_before_it_is_answered(page: Page) -> None:
    delayed: list[Route] = []
    page.route(VIEW, lambda route: delayed.append(route))  # playwright marks the functions that it calls
    page.goto(page.url.partition("?")[0] + "?view=layers&text=A+robin+is+a+[MASK].&lens=tuned&top=5")
    expect(page.locator("[data-setting=lens]").get_by_label("tuned")).to_be_checked()
    expect(page.locator("[data-setting=top]")).to_have_value("5")
    assert delayed and page.locator("bx-explore").get_attribute("aria-busy") == "true"
    page.unroute(VIEW)


# A sequence of actions, each performed whether the previous one has been answered or not. The test draws the numbers.
WALK = """async ([steps, texts, views]) => {
  const backs = [], all = (which) => [...document.querySelectorAll(which)];
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (const [kind, number] of steps) {
    if (kind === "type") {
      const box = document.querySelector("#text textarea");
      box.value = texts[number % texts.length];
      box.dispatchEvent(new Event("input", { bubbles: true }));
    } else if (kind === "press") all("button.chip")[number % 9]?.click();
    else if (kind === "switch") document.querySelector(`[data-view="${views[number % views.length]}"].view`).click();
    else if (kind === "example") all("button.example")[number % 5].click();
    else if (kind === "set") {
      const field = document.querySelector("#forms input[type=range]");
      if (field) { field.value = number % 12; field.dispatchEvent(new Event("input", { bubbles: true })); }
    } else if (kind === "back" && history.state?.now.view !== "fill-mask") {
      backs.push(new Promise((done) => addEventListener("popstate", done, { once: true })));
      history.back();
      await wait(20);
    }
    else await wait(number);
  }
  await Promise.all(backs);  // a browser takes its time to go back
  const busy = () => document.querySelector("bx-explore").getAttribute("aria-busy") === "true";
  for (let quiet = 0; quiet < 3; quiet = busy() ? 0 : quiet + 1) await wait(60);
}"""
KINDS = ("type", "type", "press", "press", "switch", "example", "set", "back", "wait")


def test_any_sequence_of_actions_ends_in_its_newest_state(page: Page) -> None:
    page.goto(page.url.partition("?")[0])
    expect_said(page, "It would put “paris”")
    rng = random.Random(0)
    for number in range(SEQUENCES):
        steps = [(rng.choice(KINDS), rng.randrange(80)) for _ in range(STEPS)]
        page.evaluate(WALK, [steps, TEXTS, VIEWS])
        if number % 20 == 0:
            page.reload()
            page.wait_for_selector("#text textarea")
        agrees(page)


def test_the_page_recovers_when_the_server_restarts(browser: Browser, tmp_path: Path) -> None:
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
