"""Several people and several tabs: each sees their own, and the sixth tab opens like the first."""

import re
import time
from contextlib import ExitStack

from playwright.sync_api import Browser, expect

from tests.browser.conftest import opened
from tests.browser.steps import chip, choose_view, expect_message, expect_said, wait_until_idle, wait_until_quiet, write


def test_two_people_see_their_own(browser: Browser, address: str) -> None:
    pages = [browser.new_context().new_page() for _ in range(2)]
    for page, word in zip(pages, ("robin", "piano"), strict=True):
        page.goto(address)
        write(page, f"A {word} is a [MASK].")
    for page, word, other in zip(pages, ("robin", "piano"), ("piano", "robin"), strict=True):
        expect(page.locator(".strip")).to_contain_text(word)
        expect(page.locator(".strip")).not_to_contain_text(other)
        page.context.close()


def test_eight_tabs_of_one_browser(browser: Browser, address: str) -> None:
    context = browser.new_context()
    for _ in range(8):
        page = context.new_page()
        page.goto(address)
        expect_said(page, "It would put “paris”")
    context.close()


def test_who_waits_sees_a_place_in_line(browser: Browser, address: str) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(opened(browser, address)) for _ in range(3)]
        for page in pages:
            page.wait_for_selector("#figure .main-svg")
            choose_view(page, "Referee")
            expect_said(page, "random order")
        for page, word in zip(pages, ("blue", "old", "small"), strict=True):
            write(page, f"The {word} boat went out to the sea every day until the storm came over the [MASK]. " * 2)
        shown = "[...document.querySelectorAll('#figure')].map(one => one.dataset.line || '').join()"
        seen, begun = "", time.monotonic()
        while not seen and time.monotonic() - begun < 30:
            seen = "".join(page.evaluate(shown) for page in pages)
        assert re.fullmatch(r"(Place [12] in line, about \d+ s)+", seen)
        for page in pages:
            expect(page.locator("#figure[data-line]")).to_have_count(0)
            expect(page.locator(".strip")).to_contain_text("storm")


def test_who_was_not_let_in_is_asked_for_again(browser: Browser, address: str) -> None:
    with opened(browser, address, gone=True) as page:  # a refusal is written on the console
        expect_said(page, "It would put “paris”")
        wait_until_quiet(page)
        refusals = [{"status": 503, "json": {"detail": "Busy"}, "headers": {"retry-after": "2"}}]
        join = "**/queue/join*"
        page.route(join, lambda route: route.fulfill(**refusals.pop()) if refusals else route.continue_())
        write(page, "A robin is a [MASK].")
        expect(page.locator("#figure[data-line='Many are asking. Yours is asked again in 2 s']")).to_have_count(1)
        expect(page.locator(".strip")).to_contain_text("robin")
        expect(page.locator("#figure[data-line]")).to_have_count(0)
        page.unroute(join)


LATE = """{
  const plain = window.fetch, wait = () => !window.late || new Promise((done) => setTimeout(done, 700));
  const split = () => new TransformStream({ async transform(text, out) {
    for (const message of text.split(/(?<=\\n\\n)/)) { await wait(); out.enqueue(message); }
  } });
  window.fetch = async (...given) => {
    const answer = await plain(...given);
    if (!String(given[0].url ?? given[0]).includes("/queue/data")) return answer;
    const late = answer.body.pipeThrough(new TextDecoderStream()).pipeThrough(split());
    return new Response(late.pipeThrough(new TextEncoderStream()), answer);
  };
}"""


def test_what_is_asked_while_the_stream_of_answers_is_closed_is_answered(browser: Browser, address: str) -> None:
    """What a page hears is 0.7 s late: it takes a stream for open that the server has closed, and gradio alone would
    read nothing of the answer to what it asks then."""
    with opened(browser, address, script=LATE) as page:
        expect_said(page, "It would put “paris”")
        wait_until_quiet(page)
        page.evaluate("window.late = true")
        write(page, "A robin is a [MASK].")
        expect(page.locator(".strip")).to_contain_text("robin")
        write(page, "A piano is a [MASK].")
        expect(page.locator(".strip")).to_contain_text("piano")
        wait_until_quiet(page)


TAKEN_LATE = """() => {
  const plain = window.fetch, rests = [1000, 3500];
  window.fetch = async (...given) => {
    const answer = await plain(...given);
    const rest = String(given[0].url ?? given[0]).includes("/queue/join") ? rests.shift() : 0;
    await new Promise((done) => setTimeout(done, rest));
    return answer;
  };
}"""


def test_a_question_that_is_taken_late_leaves_no_stream_open(browser: Browser, address: str) -> None:
    """The page hears that its second question was taken after it has read the answer, and opens a stream for it."""
    with opened(browser, address) as page:
        expect_said(page, "It would put “paris”")
        wait_until_quiet(page)
        page.evaluate(TAKEN_LATE)
        chip(page, "france").click()
        chip(page, "capital").click()
        expect(page.locator(".chip[aria-pressed=true]")).to_have_count(3)
        page.wait_for_timeout(4000)
        wait_until_quiet(page, 20)


def test_long_work_shows_how_far_it_is_and_can_be_stopped(browser: Browser, address: str) -> None:
    words = "The quick brown fox jumped over the lazy dog near the old river bank while seven farmers watched . " * 20
    with opened(browser, address, "phone") as page:
        page.wait_for_selector("#figure .main-svg")
        choose_view(page, "Referee")
        expect_said(page, "random order")
        write(page, f"{words} The farmers [MASK].")
        expect(page.locator("#under-way span")).to_have_text(re.compile(r"About \d+ s left"))
        box = page.locator("#under-way").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        page.locator("#under-way button").click()
        expect_message(page, "Stopped before it was done")
        expect(page.locator("#under-way")).to_be_hidden()
        wait_until_idle(page)
