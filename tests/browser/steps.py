"""What a person does on the page, for the tests to say in one line."""

from playwright.sync_api import Page, expect

TEXT = "#text textarea"


def write(page: Page, text: str) -> None:
    page.locator(TEXT).fill(text)


def chip(page: Page, word: str, number: int = 0):
    return page.locator("button.chip").get_by_text(word, exact=True).nth(number)


def chips(page: Page) -> list[str]:
    return [item.inner_text() for item in page.locator(".strip .chip").all()]


def choose_view(page: Page, title: str) -> None:
    page.locator("#views label", has_text=title).click()


def use_checkpoint(page: Page, name: str) -> None:
    """Open the drawer, type a name and close the drawer again."""
    drawer = page.locator("#picker > button.label-wrap")
    drawer.click()
    box = page.locator("#checkpoint input")
    box.fill(name)
    box.press("Enter")
    drawer.click()


def expect_said(page: Page, words: str) -> None:
    expect(page.locator("#caption .said")).to_contain_text(words)


def expect_message(page: Page, words: str) -> None:
    expect(page.locator("#message")).to_contain_text(words)
