"""The training page: rows are checked, a run is started and followed to its end, a cell is opened, a sentence is
tried."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import App, opened
from tests.browser.steps import choose, upload, wait_until_quiet
from tests.browser.test_access import wrong

SOON = 150_000  # a trainer starts, reads a checkpoint and learns


def open_page(page: Page) -> None:
    page.goto(page.url.partition("?")[0] + "train")
    expect(page.locator("#check")).to_be_visible()
    wait_until_quiet(page)


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_a_file_is_checked_trained_on_and_tried(browser: Browser, page: Page, tmp_path: Path) -> None:
    open_page(page)
    page.get_by_label("my file").click()
    rows = "".join(f"{'a great film' if i % 2 else 'a bad film'} {i};{'pos' if i % 2 else 'neg'}\n" for i in range(60))
    file = tmp_path / "<img src=x>.csv"
    file.write_text("sentence;what\n" + rows + "one;too;many\n", "utf-8")
    upload(page, "#rows-file", file)
    page.locator("#check").click()
    looked = page.locator("#looked")
    expect(looked).to_contain_text("semicolons")
    expect(looked).to_contain_text("line 62")
    expect(looked).to_contain_text("54 training rows, 6 validation rows")
    expect(looked).to_contain_text("Three steps were timed", timeout=SOON)
    page.get_by_label("Name of the run").fill("<b>films</b>")
    before = page.locator(".run", has_text="films").count()
    page.locator("#start").click()
    page.locator("#start").click()
    expect(page.locator("#headline .state")).to_contain_text("finished", timeout=SOON)
    expect(page.locator("#headline h2")).to_have_text("<b>films</b>")
    expect(page.locator("#figure .marks .lines").first).to_be_visible()
    expect(page.locator(".run", has_text="films")).to_have_count(before + 1)  # two presses start one
    expect(page.get_by_label("Name of the run")).to_have_value("")
    expect(page.locator("#start-from option", has_text="<b>films</b>")).to_have_count(1)  # without a reload
    page.reload()  # the address names the run
    expect(page.locator(".run", has_text="films").first).to_contain_text("finished")
    expect(page.locator("#headline h2")).to_have_text("<b>films</b>")
    expect(page.locator("#results h3")).to_contain_text("Best, at step")
    watched_by_others(browser, page)
    page.locator("#difference .mark").first.click()
    expect(page.locator("#rows h3")).to_contain_text("taken for")
    page.locator("#playground textarea").first.fill("a great film")
    page.locator("#try").click()
    expect(page.locator(".shares li")).to_have_count(2, timeout=SOON)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def watched_by_others(browser: Browser, page: Page) -> None:
    """A run that is shared: others see its curve, until its owner ends that."""
    page.locator("#share").click()
    link = page.locator("#sharing a").get_attribute("href") or ""
    with opened(browser, link, "phone", gone=True) as watcher:  # the console reports the run that is gone
        expect(watcher.locator("h1")).to_have_text("<b>films</b>")
        expect(watcher.locator("#state")).to_have_text("finished")
        expect(watcher.locator("#said")).to_contain_text("Accuracy began at")
        expect(watcher.locator("svg")).to_have_count(2)
        assert watcher.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert wrong(watcher) == []
        page.reload()
        page.get_by_role("button", name="Stop sharing").click()
        expect(page.locator("#sharing")).to_be_empty()
        watcher.reload()
        expect(watcher.locator("#state")).to_contain_text("This run is not shared")


def test_a_run_outlives_the_tab_and_the_server(browser: Browser, tiny: Callable[..., Path], tmp_path: Path) -> None:
    """Upload, map columns, see a bad row reported, press Start, close the tab, kill and restart the server; then the
    run is listed, inspected, tried, and opened in the attention view with the slider through its training."""
    shutil.copytree(tiny("bert-mlm"), tmp_path / "models" / "small")
    (tmp_path / "data").mkdir()
    app = App(tmp_path / "models", tmp_path / "data", tmp_path / "hub")
    lines = [f"{i},{'a great' if i % 2 else 'a bad'} film {i % 50},{'yes' if i % 2 else 'no'}" for i in range(400)]
    file = tmp_path / "reviews.csv"
    file.write_text("\n".join(["number,words,liked", *lines, "7,lost"]) + "\n", "utf-8")
    try:
        with opened(browser, app.url + "train", gone=True) as page:
            choose(page, "Start from", "small")
            page.get_by_label("my file").click()
            upload(page, "#rows-file", file)
            expect(page.locator("#looked")).to_contain_text("line 402", timeout=SOON)
            choose(page, "Column: Text", "words")
            choose(page, "Column: Label", "liked")
            page.get_by_label("Epochs").fill("20")
            page.get_by_label("Learning rate").fill("0.003")
            page.get_by_label("Name of the run").fill("outlives")
            page.locator("#start").click()
            expect(page.locator("#headline .state")).to_contain_text("running", timeout=SOON)
            cookies = page.context.cookies()
        app.kill()
        app.start()
        with opened(browser, app.url + "train", cookies=cookies) as page:
            page.locator(".run", has_text="outlives").click()
            expect(page.locator("#headline .state")).to_contain_text("finished", timeout=SOON)
            events = [json.loads(line) for line in next(tmp_path.glob("data/runs/*/events.jsonl")).open()]
            assert [event["event"] for event in events].count("begun") == 1, "it went on, it was not begun anew"
            assert not any(event["event"] == "resumed" for event in events)
            page.locator("#difference .mark").first.click()
            expect(page.locator("#rows h3")).to_contain_text("taken for")
            page.locator("#playground textarea").first.fill("a great film")
            page.locator("#try").click()
            expect(page.locator(".shares li").first).to_contain_text("yes", timeout=SOON)
            review_the_rows(page)
            rename_delete_and_restore(page)
            export(page)
            open_in_explore(page)
    finally:
        app.close()


def test_the_page_goes_on_when_the_server_answers_again(browser: Browser, tmp_path: Path) -> None:
    app = App(tmp_path / "models", tmp_path / "data", tmp_path / "hub")
    file = tmp_path / "mine.csv"
    file.write_text("text,label\n" + "".join(f"film {i},{'ab'[i % 2]}\n" for i in range(40)), "utf-8")
    try:
        with opened(browser, app.url + "train", gone=True) as page:
            # 1. What was typed and uploaded stands, the page is not loaded anew, and what was asked meanwhile is
            # answered.
            wait_until_quiet(page)
            choose(page, "Start from", "tiny")
            page.get_by_label("Name of the run").fill("typed before")
            page.get_by_label("my file").click()
            upload(page, "#rows-file", file)
            expect(page.locator("#looked")).to_contain_text("mine.csv")
            page.evaluate("window.same = true")
            app.kill()
            page.get_by_label("Epochs").fill("7")
            expect(page.locator("#message")).to_contain_text("The server does not answer. Asking again", timeout=SOON)
            app.start()
            expect(page.locator("#looked")).to_contain_text("7 epochs over 36 rows would be 14 steps", timeout=SOON)
            expect(page.get_by_label("Name of the run")).to_have_value("typed before")
            assert page.evaluate("window.same"), "the page was loaded anew"

            # 2. So it is after a reload.
            page.reload()
            expect(page.get_by_label("Name of the run")).to_have_value("typed before")
            expect(page.locator("#looked")).to_contain_text("7 epochs over 36 rows would be 14 steps", timeout=SOON)
            wait_until_quiet(page)

            # 3. A press that the server accepts before it is killed, which the page cannot know, starts one run.
            def accept_and_die(route: Route) -> None:
                route.fetch()
                app.kill()
                route.abort()

            page.route("**/api/v1/runs", accept_and_die, times=1)
            page.locator("#start").click()
            expect(page.locator("#message")).to_contain_text("The server does not answer", timeout=SOON)
            app.start()
            expect(page.locator("#headline .state")).to_be_visible(timeout=SOON)
            expect(page.locator(".run")).to_have_count(1)
            expect(page.locator("#headline .state")).to_contain_text("finished", timeout=SOON)
            expect(page.locator(".run")).to_have_count(1)
    finally:
        app.close()


def test_a_run_too_short_to_learn_says_what_to_change(browser: Browser, address: str) -> None:
    with opened(browser, address + "train") as page:
        expect(page.locator("#looked")).to_contain_text("training rows", timeout=SOON)
        choose(page, "Start from", "tiny")
        page.get_by_label("Epochs").fill("0.1")
        page.get_by_label("Learning rate").fill("1e-9")
        expect(page.locator("#looked")).to_contain_text("too few to learn much; try 4 epochs")
        page.locator("#start").click()
        again = page.get_by_role("button", name="Run again with")
        expect(again).to_be_visible(timeout=SOON)
        expect(page.locator(".message", has=again)).to_contain_text("It learned nothing in 1 step.")
        again.click()
        expect(page.locator("#headline h2")).to_contain_text("(again)")
        expect(page.locator("#headline .state")).to_contain_text("finished", timeout=SOON)
        page.locator("#run-actions").get_by_role("button", name="Delete").click()
        expect(page.locator("#detail")).to_be_hidden()
        expect(page.locator(".run", has_text="(again)")).to_have_count(0)
        wait_until_quiet(page)


def review_the_rows(page: Page) -> None:
    page.locator("#why").click()
    expect(page.locator("#taught h3")).to_have_text("Which rows taught it “yes”?", timeout=SOON)
    expect(page.locator("#taught table").first.locator("tbody tr").first).to_contain_text("yes")
    page.locator("#suspects").click()
    expect(page.locator("#taught h3")).to_have_text("Training rows whose labels look wrong", timeout=SOON)
    expect(page.locator("#taught tbody tr")).to_have_count(20)


def rename_delete_and_restore(page: Page) -> None:
    page.locator("#rename").fill("renamed")
    page.keyboard.press("Enter")
    expect(page.locator("#headline h2")).to_have_text("renamed")
    expect(page.locator("#rows h3")).to_contain_text("taken for")  # the report came again; the rows of a cell stay
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".run")).to_have_count(0)
    page.locator(".gone summary").click()
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("#headline h2")).to_have_text("renamed")


def export(page: Page) -> None:
    """One press downloads the file; the previous file is no longer offered meanwhile."""
    page.locator("#along > summary").click()
    for kind, ending in (("ZIP", ".zip"), ("ONNX", ".onnx")):
        with page.expect_download(timeout=SOON) as download:
            page.locator("#kinds").get_by_role("button", name=kind, exact=True).click()
            if ending == ".onnx":
                expect(page.locator("#along .note").last).not_to_contain_text(".zip")
        assert download.value.suggested_filename == f"renamed{ending}"
        expect(page.locator("#along a.open")).to_have_text(f"renamed{ending}")
    wait_until_quiet(page)


def open_in_explore(page: Page) -> None:
    page.get_by_role("link", name="Open in Explore").click()
    expect(page.locator("#question h2")).to_have_text("What does the fine-tuned checkpoint answer?")
    expect(page.locator("#receipt")).to_contain_text("renamed, best", timeout=SOON)
    wait_until_quiet(page)
    expect(page.locator("#moment")).to_contain_text("Training: best")
    page.locator("#moment input[type=range]").focus()
    page.keyboard.press("Home")
    expect(page.locator("#moment")).to_contain_text("Training: before", timeout=SOON)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#moment")).to_contain_text("Training: step", timeout=SOON)
    wait_until_quiet(page)


def test_the_address_of_somebody_elses_run_has_nothing_to_press(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}train?run={'0' * 32}", gone=True) as page:  # the browser logs that it is not found
        expect(page.locator("bx-run .message")).to_be_visible()
        for words in ("Stop", "Resume", "Run again", "Delete", "Share"):
            expect(page.locator("bx-run").get_by_role("button", name=words)).to_have_count(0)
        wait_until_quiet(page)


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_the_texts_of_a_file_can_be_audited_before_training(page: Page, tmp_path: Path) -> None:
    open_page(page)
    page.get_by_label("my file").click()
    file = tmp_path / "films.csv"
    file.write_text("text,label\n" + "".join(f"A film {i} zqxw.,{'yes' if i % 2 else 'no'}\n" for i in range(20)))
    upload(page, "#rows-file", file)
    page.locator("#rows-file").get_by_role("button", name="Can it read them?").click()
    expect(page.locator("#question h2")).to_have_text("Can it read these texts?")
    expect(page.locator("#caption .said")).to_contain_text("20 texts")
