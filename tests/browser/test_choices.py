"""The menus of the training page: none keeps a value that is no longer offered."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import expect_message, upload, wait_until_quiet
from tests.browser.test_training import SOON, choose, open_page

pytestmark = pytest.mark.parametrize("size", ["desktop"], indirect=True)


def written(folder: Path, name: str, head: str) -> Path:
    path = folder / name
    rows = "".join(f"{'a great film' if i % 2 else 'a bad film'} {i};{'pos' if i % 2 else 'neg'}\n" for i in range(60))
    path.write_text(f"{head}\n{rows}", "utf-8")
    return path


def clear(page: Page) -> None:
    page.locator("#rows-file button[aria-label='Clear'], #rows-file button[title='Clear']").first.click()


def look(page: Page, words: str) -> None:
    expect(page.locator("#looked")).to_have_text(re.compile(r"^\s*$"))  # the events of the new rows are finished
    page.locator("#check").click()
    expect(page.locator("#looked")).to_contain_text(words, timeout=SOON)
    expect(page.locator("#looked")).to_contain_text("steps were timed", timeout=SOON)
    wait_until_quiet(page)


def test_built_in_rows_replace_the_choices_of_a_file(page: Page, tmp_path: Path) -> None:
    open_page(page)
    choose(page, "Start from", "roberta")
    page.get_by_label("my file").click()
    upload(page, "#rows-file", written(tmp_path, "first.csv", "sentence;what"))
    look(page, "first.csv")
    page.get_by_label("built-in rows").click()
    wait_until_quiet(page)
    expect(page.get_by_role("combobox", name="Column: Label", exact=True)).to_be_hidden()
    look(page, "classification")
    expect(page.locator(".toast-wrap")).not_to_contain_text("not in the list")


def test_another_file_replaces_the_choices_of_the_first(page: Page, tmp_path: Path) -> None:
    open_page(page)
    choose(page, "Start from", "roberta")
    page.get_by_label("my file").click()
    upload(page, "#rows-file", written(tmp_path, "first.csv", "sentence;what"))
    look(page, "first.csv")
    clear(page)
    upload(page, "#rows-file", written(tmp_path, "second.csv", "remark;verdict"))
    expect(page.locator("#looked")).not_to_contain_text("first.csv", timeout=5_000)
    look(page, "second.csv")
    expect(page.get_by_role("combobox", name="Column: Text", exact=True)).to_have_value("remark")
    clear(page)
    broken = tmp_path / "broken.csv"
    broken.write_text("text,label\n", "utf-8")
    upload(page, "#rows-file", broken)
    page.locator("#check").click()
    expect_message(page, "broken.csv holds no rows")
    expect(page.locator("#looked")).not_to_contain_text("second.csv", timeout=5_000)


def test_other_rows_cancel_the_preview_of_the_previous_ones(page: Page, tmp_path: Path) -> None:
    open_page(page)
    choose(page, "Start from", "roberta")
    page.get_by_label("my file").click()
    upload(page, "#rows-file", written(tmp_path, "first.csv", "sentence;what"))
    page.locator("#check").click()
    expect_message(page, "Loading the checkpoint")
    expect(page.locator("#looked")).to_contain_text("first.csv")
    page.get_by_label("built-in rows").click()
    expect(page.locator("#looked")).not_to_contain_text("first.csv", timeout=5_000)
    page.wait_for_timeout(12_000)  # the trial would have ended by now
    expect(page.locator("#looked")).not_to_contain_text("first.csv", timeout=1_000)
    expect(page.locator("#message")).not_to_contain_text("Timing", timeout=1_000)
    wait_until_quiet(page)
