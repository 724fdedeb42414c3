"""Several people and several tabs: each sees their own, and the sixth tab opens like the first."""

from playwright.sync_api import Browser, expect

from tests.browser.steps import expect_said, write


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
