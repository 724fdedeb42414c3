"""What Enter does, what stays on the page without an answer, and the way back from an opened head."""

import re

import pytest
from playwright.sync_api import Page, expect

from bertexplorer.web.page import scripts
from tests.browser.steps import (
    TEXT,
    choose_view,
    expect_message,
    expect_said,
    use_checkpoint,
    wait_until,
    wait_until_idle,
    write,
)

pytestmark = pytest.mark.parametrize("size", ["desktop"], indirect=True)
COMPOSING = """box => box.dispatchEvent(new KeyboardEvent("keydown",
  { key: "Enter", isComposing: true, bubbles: true, cancelable: true }))"""


def test_enter_asks_and_shift_enter_breaks_the_line(page: Page) -> None:
    write(page, "A robin is a [MASK].")
    expect_said(page, "It would put")
    wait_until_idle(page)
    with page.expect_response("**/api/v1/view"):
        page.locator(TEXT).press("Enter")
    expect(page.locator(TEXT)).to_have_value("A robin is a [MASK].")
    wait_until_idle(page)
    assert "%0A" not in page.url
    page.locator(TEXT).press("Shift+Enter")
    expect(page.locator(TEXT)).to_have_value("A robin is a [MASK].\n")
    wait_until_idle(page)


def test_enter_within_an_input_method_is_left_to_it(page: Page) -> None:
    passed_on = page.locator(TEXT).evaluate(COMPOSING)  # false if the page has cancelled it
    assert passed_on
    wait_until_idle(page)


def test_nothing_of_a_former_answer_stays_after_an_error(page: Page) -> None:
    kept = page.locator("#exports, #do-ask, #figure .bars, #caption .said")
    expect(kept).to_have_count(4)
    for one in kept.all():
        expect(one).to_be_visible()
    write(page, "Nothing is hidden here.")
    expect_message(page, "Nothing is hidden")
    expect(page.locator("#exports")).to_be_hidden()
    expect(page.locator("#do-ask")).to_be_hidden()
    expect(page.locator("#figure")).to_be_empty()
    assert page.locator("#figure").evaluate("figure => figure.clientHeight") == 0, "no empty space is kept"
    expect(page.locator("#teaching")).to_be_visible()
    write(page, "A robin is a [MASK].")
    expect_said(page, "It would put")
    for one in kept.all():
        expect(one).to_be_visible()
    wait_until_idle(page)


HAND_OVER = """async (script) => {
  const { connect, http } = await import(script);
  window.asked = [];
  connect((path, question) => {
    window.asked.push(path);
    return path === "view" && question.body.state.text === "Elsewhere."
      ? Promise.resolve({ status: 422, answer: { detail: "Answered elsewhere." } })
      : http(path, question);
  });
}"""


def test_another_backend_can_answer_the_page(page: Page, address: str) -> None:
    page.evaluate(HAND_OVER, f"{address}{scripts()}/backend.js")
    write(page, "Elsewhere.")
    expect_message(page, "Answered elsewhere.")
    write(page, "A robin is a [MASK].")
    expect_said(page, "It would put")
    assert set(page.evaluate("window.asked")) == {"view"}
    wait_until_idle(page)


def test_back_from_an_opened_head_goes_to_the_grid(page: Page) -> None:
    write(page, "A robin is a bird.")
    choose_view(page, "Heads")
    expect(page.locator("#figure .tiles image")).to_be_visible()
    wait_until_idle(page)
    grid = page.url
    page.locator("#figure").click(position={"x": 200, "y": 120})
    page.wait_for_url(re.compile("layer="))
    wait_until_idle(page)
    page.go_back()
    wait_until(page, f"location.href === {grid!r}")
    expect(page.locator('button.view[data-view="attention"]')).to_have_attribute("aria-selected", "true")
    wait_until_idle(page)


def test_a_link_to_a_run_says_that_it_is_private(page: Page, address: str) -> None:
    message, link = page.locator("#message"), page.locator("#export-link")
    link.click()
    expect(link).to_have_text("Copied")
    expect(message).to_be_empty()
    page.goto(f"{address}?text=A+robin+is+a+[MASK].&against=another+checkpoint&versus=run:{32 * '0'}")
    expect_said(page, "It would put")
    wait_until_idle(page)
    link.click()
    expect(link).to_have_text("Copied")
    expect(message).to_contain_text("The link is private: it names a run of yours")
    with page.expect_download() as saved:
        page.locator("#export-html").click()
    assert "The link is private" in saved.value.path().read_text("utf-8")
    wait_until_idle(page)


def test_a_label_is_explained_with_two_presses_from_a_fresh_page(page: Page) -> None:
    """Answer opens with an example on a bundled checkpoint; one press keeps it for the views that explain it."""
    choose_view(page, "Answer")
    expect_said(page, "“positive”")
    assert "checkpoint=sentiment" in page.url
    page.get_by_role("button", name="Use sentiment everywhere").click()
    wait_until_idle(page)
    page.locator("button.example").first.click()
    choose_view(page, "Saliency")
    expect_said(page, "“positive” has")


def test_a_picked_checkpoint_stays_and_a_button_offers_another(page: Page) -> None:
    use_checkpoint(page, "sentiment")
    expect_message(page, "sentiment has no fill-mask head")
    page.get_by_role("button", name="Use mini").click()
    expect_said(page, "It would put")


def test_a_checkpoint_without_a_fine_tuned_head_borrows_one(page: Page) -> None:
    use_checkpoint(page, "tiny")
    wait_until_idle(page)
    choose_view(page, "Answer")
    expect(page.locator("#stand-in")).to_contain_text("shows sentiment. The other views stay with tiny.")
    expect_said(page, "“")
