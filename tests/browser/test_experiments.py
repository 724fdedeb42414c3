"""Experiments in a browser: one is chosen, started on an uploaded text, followed to its end and opened."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import expect_message, expect_said, upload, wait_until_quiet
from tests.tiny import WORDS

SOON = 240_000


def open_page(page: Page) -> None:
    page.goto(page.url.partition("?")[0] + "pretrain")
    expect(page.locator("#start")).to_be_visible()
    wait_until_quiet(page)


def text(folder: Path) -> Path:
    """200 documents of a few short sentences each."""
    lines = [
        f"{' '.join(WORDS[(i * 7 + j * k + i // 9) % len(WORDS)] for k in range(4 + i % 7)).capitalize()} {i}."
        for i in range(200)
        for j in range(4)
    ]
    file = folder / "mine.txt"
    file.write_text("\n\n".join(" ".join(lines[i : i + 4]) for i in range(0, len(lines), 4)), "utf-8")
    return file


def test_each_experiment_is_described(page: Page) -> None:
    open_page(page)
    expect(page.locator("#about")).to_contain_text("Devlin et al., 2019, table 5")
    page.get_by_label("ELECTRA against MLM").click()
    expect(page.locator("#about")).to_contain_text("Clark et al., 2020")
    page.get_by_label("my text").click()
    expect(page.locator("#text-file")).to_be_visible()  # moves Start down; an earlier press may be lost
    page.locator("#start").click()
    expect_message(page, "No text has been uploaded")
    page.get_by_label("fairy tales").click()
    page.get_by_label("Minutes per run").fill("0")
    page.locator("#start").click()
    expect_message(page, "a number above 0, at most 60")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_an_experiment_runs_from_the_page(page: Page, tmp_path: Path) -> None:
    open_page(page)
    page.get_by_label("No pretraining").click()
    expect(page.locator("#about")).to_contain_text("learned nothing")
    page.get_by_label("my text").click()
    upload(page, "#text-file", text(tmp_path))
    page.get_by_label("Minutes per run").fill("0.05")
    page.locator("#start").click()
    page.locator("#start").click()
    expect(page.locator(".arm")).to_have_count(2)
    expect(page.locator(".arm .state", has_text="finished")).to_have_count(2, timeout=SOON)
    expect(page.locator("#figure .marks .lines").first).to_be_visible()
    expect_said(page, "MLM + NSP:")
    expect(page.locator("#summary")).to_contain_text("random weights")
    expect(page.locator("#runs .run.chosen")).to_contain_text("finished: 2 runs")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator("#runs")).to_contain_text("No run yet")
    expect(page.locator(".arm")).to_have_count(0)
    page.locator("#runs summary").click()
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("#runs .run.chosen .state")).to_contain_text("finished")
    page.locator(".arm a.open").last.click()
    expect(page.locator("#caption .said")).to_be_visible()
    assert "checkpoint=run" in page.url
    expect(page.locator("#message")).to_be_empty()
