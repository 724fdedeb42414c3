"""Actions of a person on the page, one function each."""

import time
from pathlib import Path
from weakref import WeakKeyDictionary

from playwright.sync_api import Page, Request, expect

from bertexplorer.views import VIEWS

TEXT = "#text textarea"
UNDER_WAY: WeakKeyDictionary[Page, set[Request]] = WeakKeyDictionary()  # the pending requests of a page


def write(page: Page, text: str) -> None:
    page.locator(TEXT).fill(text)


def chip(page: Page, word: str, number: int = 0):
    return page.locator("button.chip").get_by_text(word, exact=True).nth(number)


def chips(page: Page) -> list[str]:
    return page.locator(".strip .chip").all_inner_texts()


def choose_view(page: Page, title: str) -> None:
    """Open the view from the list of all views."""
    view = next(view for view in VIEWS.values() if title == view.title)
    page.get_by_role("button", name="All views").click()
    page.locator(f'dialog [data-view="{view.slug}"]').click()
    button = page.locator(f'button.view[data-view="{view.slug}"]')
    expect(button).to_have_attribute("aria-selected", "true")


def use_checkpoint(page: Page, name: str) -> None:
    """Open the drawer, type a name and close the drawer again."""
    drawer = page.locator("#picker > summary")
    drawer.click()
    box = page.locator("#checkpoint input")
    box.fill(name)
    box.press("Enter")
    drawer.click()


def upload(page: Page, box: str, file: Path) -> None:
    """Give *file* to the file box at *box*, which shows its name once the server has it."""
    with page.expect_file_chooser() as choosing:
        page.locator(box).get_by_role("button", name="Choose a file").click()
    choosing.value.set_files(file)
    expect(page.locator(f"{box} .named")).to_contain_text(file.stem)


def choose(page: Page, label: str, name: str) -> None:
    """Pick an entry of a menu by its value or its words."""
    page.get_by_label(label, exact=True).select_option(name)


def expect_said(page: Page, words: str) -> None:
    expect(page.locator("#caption .said")).to_contain_text(words)


def expect_message(page: Page, words: str) -> None:
    expect(page.locator("#message")).to_contain_text(words)


def wait_until(page: Page, expression: str, seconds: float = 60) -> None:
    """Until *expression* is true on the page. Playwright's own wait compiles the expression on the page, which
    Explore forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(50)


def wait_until_quiet(page: Page, quiet_s: float = 0.25, seconds: float = 60) -> None:
    """No request under way for *quiet_s*. Playwright's "networkidle" also waits for frames that were removed."""
    begun = quiet = time.monotonic()
    while time.monotonic() - quiet < quiet_s:
        page.wait_for_timeout(50)
        if UNDER_WAY[page]:
            quiet = time.monotonic()
        assert quiet - begun < seconds, f"still under way: {[request.url for request in UNDER_WAY[page]]}"


def wait_until_idle(page: Page) -> None:
    """No answer is pending any more, so that the page can be closed without interrupting a request. Explore is busy
    from the first key on; the parts of a figure are requested once its answer is there."""
    expect(page.locator("bx-explore[aria-busy=true]")).to_have_count(0)
    wait_until_quiet(page, 0.1)
