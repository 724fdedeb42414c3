"""Probes on the page: built-in and uploaded rows, and held-out rows opened one by one."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import expect_message, expect_said

ROWS = "sentence,label\n" + "".join(
    f"The {'cat' if n % 2 else 'cats'} of house {n} {'sleeps' if n % 2 else 'sleep'}.,{'one' if n % 2 else 'many'}\n"
    for n in range(40)
)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_probe_is_trained_and_its_rows_are_opened(page: Page) -> None:
    page.goto(f"{page.url.partition('?')[0]}?view=probe&task=tense&seeds=1")
    expect_said(page, "of the held-out")
    expect(page.locator("#figure .marks .lines").first).to_be_visible()
    page.locator("bx-cases .case").first.click()
    expect(page.locator("#question h2")).not_to_have_text("Which layer knows it?")
    page.go_back()
    page.locator("#lines").set_input_files({"name": "own.csv", "mimeType": "text/csv", "buffer": ROWS.encode()})
    expect_said(page, "held-out sentences")
    bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"name,age\nAda,36\nAlan,41\n"}
    page.locator("#lines").set_input_files(bad)
    expect_message(page, "are no")
