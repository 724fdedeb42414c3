"""The rows on the page Train: what is shown and chosen belongs to the rows of now."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import choose, expect_message, upload, wait_until_quiet
from tests.browser.test_training import SOON, open_page

pytestmark = pytest.mark.parametrize("size", ["desktop"], indirect=True)


def written(folder: Path, name: str, head: str) -> Path:
    path = folder / name
    rows = "".join(f"{'a great film' if i % 2 else 'a bad film'} {i};{'pos' if i % 2 else 'neg'}\n" for i in range(60))
    path.write_text(f"{head}\n{rows}", "utf-8")
    return path


def test_built_in_rows_replace_the_choices_of_a_file(page: Page, tmp_path: Path) -> None:
    open_page(page)
    choose(page, "Start from", "roberta")
    page.get_by_label("my file").click()
    upload(page, "#rows-file", written(tmp_path, "first.csv", "sentence;what"))
    expect(page.locator("#looked")).to_contain_text("first.csv")
    expect(page.get_by_label("Column: Label", exact=True)).to_have_value("what")
    expect(page.locator("#columns small").last).to_contain_text("chosen: ")
    page.get_by_label("built-in rows").click()
    expect(page.get_by_label("Column: Label", exact=True)).to_have_count(0)
    expect(page.locator("#looked")).to_contain_text("classification.csv")


def test_another_file_replaces_the_choices_of_the_first(page: Page, tmp_path: Path) -> None:
    open_page(page)
    choose(page, "Start from", "roberta")
    page.get_by_label("my file").click()
    upload(page, "#rows-file", written(tmp_path, "first.csv", "sentence;what"))
    expect(page.locator("#looked")).to_contain_text("first.csv")
    choose(page, "Column: Text", "what")
    choose(page, "Column: Label", "sentence")
    expect(page.locator("#looked")).to_contain_text("54 training rows")
    upload(page, "#rows-file", written(tmp_path, "second.csv", "remark;verdict"))
    expect(page.locator("#looked")).to_contain_text("second.csv")
    expect(page.get_by_label("Column: Text", exact=True)).to_have_value("remark")
    broken = tmp_path / "broken.csv"
    broken.write_text("text,label\n", "utf-8")
    upload(page, "#rows-file", broken)
    expect_message(page, "broken.csv holds no rows")
    expect(page.locator("#looked")).to_be_empty()
    page.locator("#rows-file").get_by_role("button", name="Remove").click()
    page.locator("#start").click()
    expect_message(page, "No file has been uploaded yet")


def test_further_columns_are_chosen(page: Page, tmp_path: Path) -> None:
    open_page(page)
    choose(page, "Start from", "roberta")
    file = tmp_path / "wide.csv"
    file.write_text("text,label,stars\n" + "".join(f"film {i},{'ab'[i % 2]},{i}\n" for i in range(40)), "utf-8")
    page.get_by_label("my file").click()
    upload(page, "#rows-file", file)
    page.locator("#beside").get_by_label("stars").check()
    expect(page.locator("#looked th")).to_have_text(["line", "text", "label", "feature:stars"])
    page.locator("#beside").get_by_label("stars").uncheck()
    expect(page.locator("#looked th")).to_have_text(["line", "text", "label"])


def test_other_rows_cancel_the_preview_of_the_previous_ones(page: Page, tmp_path: Path) -> None:
    open_page(page)
    choose(page, "Start from", "roberta")
    page.get_by_label("my file").click()
    upload(page, "#rows-file", written(tmp_path, "first.csv", "sentence;what"))
    expect(page.locator("#looked")).to_contain_text("first.csv")
    page.locator("#check").click()
    expect_message(page, "Loading the checkpoint")
    page.get_by_label("built-in rows").click()
    expect(page.locator("#looked")).to_contain_text("classification.csv", timeout=SOON)
    page.wait_for_timeout(12_000)  # the trial would have ended by now
    expect(page.locator("#looked")).not_to_contain_text("first.csv", timeout=1_000)
    expect(page.locator("#looked")).not_to_contain_text("were timed", timeout=1_000)
    expect(page.locator("#message")).to_be_empty()
    wait_until_quiet(page)
