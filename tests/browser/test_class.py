"""A class in real browsers: the teacher's on the projector, and phones that reload, lose the network or join late."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import APIResponse, Browser, Page, Response, Route, expect

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_quiet
from tests.browser.test_access import has_focus, tab_to, wrong
from tests.browser.test_learn import answered

LESSON = "learn?lesson=what-is-inside"
FIRST = ("The layers, by far", "Both have about the same number", "The table, by far")
SECOND = ("philosopher", "gpu", "yesterday", "more than one of them")
SAVED = re.compile(r"^Saved\. You may change it until the vote ends\. You are number \d+-[A-Z]{4}\.$")
MAX_KB = 20
LATE_S = 3  # of a network in a full hall


@contextmanager
def teaching(browser: Browser, address: str, **more) -> Iterator[tuple[Page, str]]:
    """(the projector, the code) of a class that was opened from a lesson."""
    with opened(browser, address + LESSON, **more) as teacher:
        teacher.set_viewport_size({"width": 1920, "height": 1080})
        expect(teacher.locator("bx-question").first).to_be_visible()
        teacher.get_by_role("button", name="Ask the class").click()
        teacher.wait_for_url(re.compile(r"/learn\?class=[A-Z]{6}$"))
        code = teacher.url[-6:]
        expect(teacher.locator(".join .code")).to_have_text(code)
        yield teacher, code
        wait_until_quiet(teacher, 0.1)  # the QR code ends with the class
        teacher.once("dialog", lambda dialog: dialog.accept())
        teacher.get_by_role("button", name="End and delete").click()
        teacher.wait_for_url("**/learn")
        wait_until_quiet(teacher)


def phone(browser: Browser, address: str, code: str, **more):
    """A phone that has followed the QR code."""
    return opened(browser, f"{address}j/{code}".rstrip("/"), "phone", **more)


def press(teacher: Page, name: str) -> None:
    teacher.get_by_role("button", name=name).click()


def choose(page: Page, choice: str) -> None:
    page.get_by_label(choice).check()
    expect(page.locator("#status")).to_have_text(SAVED)


def test_a_class_with_discussion_and_second_votes(browser: Browser, address: str) -> None:
    with (
        teaching(browser, address) as (teacher, code),
        phone(browser, address, code) as first,
        phone(browser, address, code, gone=True) as second,  # loses the network for a while, which the console reports
    ):
        expect(teacher.locator(".next [role=status]")).to_have_text("2 here")
        in_the_lobby(teacher, first, address, code)
        first_vote(teacher, first, second)
        with phone(browser, address, code) as late:
            second_vote(teacher, first, second, late)
            second_question(teacher, (first, second, late))


def in_the_lobby(teacher: Page, one: Page, address: str, code: str) -> None:
    expect(one.locator("main")).to_have_text("You are in. The first question comes soon.")
    picture = teacher.locator(".join img")
    assert picture.evaluate("img => img.naturalWidth > 100") and picture.get_attribute("alt")
    expect(teacher.locator(".join")).to_contain_text(f"{address.removeprefix('http://')}j/{code}")
    size = teacher.locator(".code").evaluate("code => parseFloat(getComputedStyle(code).fontSize)")
    assert size >= 100, "the code is read from the last row"


def first_vote(teacher: Page, one: Page, two: Page) -> None:
    press(teacher, "Start the vote")
    choose(one, FIRST[0])
    expect(teacher.locator(".next [role=status]")).to_have_text("1 voted, 2 here")
    expect(teacher.locator(".shares")).to_have_count(0)
    one.reload()
    expect(one.get_by_label(FIRST[0])).to_be_checked()
    expect(one.locator("#status")).to_have_text(SAVED)
    expect(two.get_by_label(FIRST[1])).to_be_visible()
    two.context.set_offline(True)
    two.get_by_label(FIRST[1]).check()
    expect(two.locator("#status")).to_have_text("No connection. Your answer is sent as soon as there is one.")
    two.context.set_offline(False)
    expect(two.locator("#status")).to_have_text(SAVED)
    two.wait_for_timeout(2000)  # more than one poll
    expect(two.get_by_label(FIRST[1])).to_be_checked()
    expect(two.locator("#status")).to_have_text(SAVED)
    expect(teacher.locator(".next [role=status]")).to_have_text("2 voted, 2 here")


def second_vote(teacher: Page, one: Page, two: Page, late: Page) -> None:
    press(teacher, "Close the vote")
    for page in (one, two, late):
        expect(page.locator("#status")).to_have_text("The vote is closed.")
        expect(page.locator("fieldset input").first).to_be_disabled()
    expect(teacher.locator(".shares")).to_have_count(0)
    expect(teacher.locator(".advice")).to_have_text("1 of 2 were right (50 %). A discussion pays.")
    press(teacher, "Show the votes")
    expect(teacher.locator(".shares .value")).to_have_text(["1", "1", "0"])
    press(teacher, "Discuss, then vote again")
    expect(teacher.locator(".shares")).to_have_count(0)
    expect(one.locator("#status")).to_contain_text("Talk it over")
    press(teacher, "Start the second vote")
    for page in (one, two, late):  # until then, the first vote stays checked on the phone
        expect(page.locator("#status")).to_have_text("Vote again, the same or another.")
    choose(one, FIRST[1])
    choose(two, FIRST[1])
    choose(late, FIRST[2])
    press(teacher, "Close the vote")
    expect(teacher.locator(".next [role=status]")).to_have_text("3 voted")
    press(teacher, "Show BERT’s answer")
    expect(teacher.locator(".shares li").first.locator(".value")).to_have_text(["1 in vote 1", "0 in vote 2"])
    expect(teacher.locator(".shares li.right .label")).to_have_count(1)
    moved = f"1 moved from “{FIRST[0]}” to “{FIRST[1]}”"
    expect(teacher.locator(".moves")).to_have_text(moved)
    answered(teacher.locator("bx-view"))
    expect(one.locator(".result.own")).to_contain_text(FIRST[1])
    expect(teacher.locator(".next [role=status]")).to_have_text("3 voted")  # in the second vote
    expect(one.locator("main")).to_contain_text(f"You: {FIRST[1]}")
    expect(one.locator(".result .right")).to_have_count(1)
    expect(one.get_by_role("link", name="Open it on my phone")).to_have_attribute("href", re.compile(r"^/\?view="))


def second_question(teacher: Page, pages: tuple[Page, ...]) -> None:
    with teacher.expect_download() as download:
        press(teacher, "Save the counts as CSV")
    assert f',1 to 2,"{FIRST[0]}",{FIRST[1]},1' in download.value.path().read_text("utf-8")
    press(teacher, "Next question")
    expect(teacher.locator(".asked .hint").first).to_have_text(re.compile("^Question 2 of"))
    for page in pages:
        expect(page.locator("#status")).to_have_text("Decide alone.")
        choose(page, SECOND[0])
    choose(pages[0], SECOND[1])
    press(teacher, "Close the vote")
    press(teacher, "Discuss, then vote again")
    press(teacher, "Start the second vote")
    for page in pages:
        expect(page.locator("#status")).to_have_text("Vote again, the same or another.")
        choose(page, SECOND[1])
    press(teacher, "Close the vote")
    expect(teacher.get_by_role("button", name="Show BERT’s answer")).to_be_visible()
    teacher.reload()
    press(teacher, "Show BERT’s answer")
    expect(teacher.locator(".shares li").nth(1).locator(".value")).to_have_text(["1 in vote 1", "3 in vote 2"])
    expect(teacher.locator(".shares li.right .label")).to_have_text("gpu")
    for page in pages:
        expect(page.locator(".result.own")).to_contain_text("gpu")
        expect(page.locator("main")).to_contain_text("It is short, but it was rare")
    answered(teacher.locator("bx-view"))
    press(teacher, "Show the summary")
    rows = teacher.locator(".summary tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(1).locator("td").nth(2)).to_have_text("1\u00a0of\u00a03 (33\u00a0%)")
    expect(rows.nth(1).locator("td").nth(3)).to_have_text("3\u00a0of\u00a03 (100\u00a0%)")
    expect(rows.nth(1).locator("td").last).to_have_text("gpu")
    press(teacher, "Hide the summary")
    answered(teacher.locator("bx-view"))


def test_the_phone_page_is_small_and_works_with_the_keyboard(browser: Browser, address: str) -> None:
    sizes: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if "v=" not in response.url or response.status == 200:
            sizes[response.url] = len(response.body())

    with teaching(browser, address) as (teacher, code), phone(browser, address, "") as page:
        page.get_by_label("The letters on the screen").fill(code.lower())
        page.on("response", weigh)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/j/{code}")
        expect(page.locator("main")).to_contain_text("You are in.")
        wait_until_quiet(page)
        assert any("/j/" in url for url in sizes) and any("/api/" in url for url in sizes)
        assert sum(sizes.values()) <= 1000 * MAX_KB, sizes
        press(teacher, "Start the vote")
        expect(page.get_by_label(FIRST[0])).to_be_visible()
        tab_to(page, "input[type=radio]")
        page.keyboard.press("ArrowDown")
        expect(page.locator("#status")).to_have_text(SAVED)
        assert has_focus(page, "input:checked")
        for box in [item.bounding_box() for item in page.locator("label.choice").all()]:
            assert box and box["height"] >= 44 and box["x"] + box["width"] <= 390


def test_a_phone_on_a_slow_network_votes_and_changes_its_mind(browser: Browser, address: str) -> None:
    def late(route: Route) -> None:
        time.sleep(LATE_S)
        route.continue_()

    with teaching(browser, address) as (teacher, code), phone(browser, address, code) as page:
        page.route("**/api/**", late)
        press(teacher, "Start the vote")
        expect(page.get_by_label(FIRST[0])).to_be_visible()
        page.get_by_label(FIRST[0]).check()
        page.get_by_label(FIRST[2]).check()
        expect(page.locator("#status")).to_have_text(SAVED)
        page.unroute("**/api/**", late)
        expect(teacher.locator(".next [role=status]")).to_contain_text("1 voted")
        press(teacher, "Close the vote")
        press(teacher, "Show the votes")
        expect(teacher.locator(".shares li").nth(2).locator(".value")).to_have_text("1")


def test_the_last_choice_counts_even_if_the_first_arrives_later(browser: Browser, address: str) -> None:
    delayed: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if delayed:
            route.continue_()
        else:
            delayed.append(route)

    with teaching(browser, address) as (teacher, code), phone(browser, address, code) as page:
        page.route("**/vote", hold_the_first)
        press(teacher, "Start the vote")
        page.get_by_label(FIRST[0]).check()
        page.get_by_label(FIRST[2]).check()
        page.wait_for_timeout(1200)
        expect(page.locator("#status")).to_have_text("Saving…")
        delayed[0].continue_()
        expect(page.locator("#status")).to_have_text(SAVED)
        page.wait_for_timeout(500)  # for an answer that is still pending
        press(teacher, "Close the vote")
        press(teacher, "Show the votes")
        expect(teacher.locator(".shares .value")).to_have_text(["0", "0", "1"])


def test_a_rejected_phone_tries_again(browser: Browser, address: str) -> None:
    full = "This class is full: 1,000 phones have joined. Wait; a place may become free."
    with teaching(browser, address) as (teacher, code), phone(browser, address, "", gone=True) as page:
        page.route("**/api/**", lambda route: route.fulfill(status=422, json={"detail": full}))
        page.goto(f"{address}j/{code}")
        expect(page.locator("#status")).to_have_text(full)
        page.unroute("**/api/**")
        expect(page.locator("main")).to_have_text("You are in. The first question comes soon.")
        expect(page.locator("#status")).to_be_empty()


def test_an_answer_that_comes_late_takes_no_votes_from_the_board(browser: Browser, address: str) -> None:
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    with teaching(browser, address) as (teacher, code), phone(browser, address, code) as page:
        press(teacher, "Start the vote")
        choose(page, FIRST[2])
        teacher.route(f"**/class/{code}?peek=*", hold)
        while not held:
            teacher.wait_for_timeout(50)
        press(teacher, "Close the vote")
        press(teacher, "Show the votes")
        expect(teacher.locator(".shares")).to_be_visible()
        route, response = held[0]
        route.fulfill(response=response)
        teacher.wait_for_timeout(1000)
        expect(teacher.get_by_role("button", name="Show the votes")).to_have_count(0)
        expect(teacher.locator(".shares")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(browser: Browser, address: str, scheme: str, width: int) -> None:
    result: dict[str, list[str]] = {}

    def look(where: str, *pages: Page) -> None:
        for page in pages:
            before = page.viewport_size
            page.set_viewport_size({"width": width, "height": 844})
            result[f"{where}: {page.url.partition('/j/')[1] or 'the board'}"] = wrong(page)
            beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert beyond <= 0, f"{where} is {beyond} pixels too wide: {page.url}"
            page.set_viewport_size(before)

    with (
        teaching(browser, address, scheme=scheme) as (teacher, code),
        phone(browser, address, code, scheme=scheme) as page,
    ):
        expect(page.locator("main")).to_contain_text("You are in.")
        look("the lobby", teacher, page)
        press(teacher, "Start the vote")
        choose(page, FIRST[2])
        look("a vote", teacher, page)
        press(teacher, "Close the vote")
        press(teacher, "Show the votes")
        expect(teacher.locator(".shares")).to_be_visible()
        expect(page.locator("#status")).to_have_text("The vote is closed.")
        look("a closed vote", teacher, page)
        press(teacher, "Show BERT’s answer")
        answered(teacher.locator("bx-view"))
        expect(page.locator(".result")).to_have_count(3)
        look("the answer", teacher, page)
        for to in ("Next question", "Close the vote", "Show BERT’s answer", "Next question"):
            press(teacher, to)
        page.get_by_label("Your estimate").fill("4")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#status")).to_have_text(SAVED)
        look("a number", teacher, page)
        press(teacher, "Close the vote")
        press(teacher, "Show BERT’s answer")
        expect(teacher.locator(".dots .line")).to_be_visible()
        expect(page.locator("main")).to_contain_text("You: 4")
        look("the number", teacher, page)
    assert not {where: lines for where, lines in result.items() if lines}
