"""The form of every task opens, and one trains from the page; tests/training checks that each one learns."""

import json
import re
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from tests.browser.conftest import App, opened
from tests.browser.steps import choose, wait_until_quiet
from tests.training.tasks.builtin import write_tiny_bert

ROWS = Path(__file__).parents[2] / "assets" / "data"
LONG = 600_000
TASKS = ("pair-classification",)  # whose built-in rows no other test trains on
EPOCHS = "4"


def test_built_in_rows_train_from_the_page(browser: Browser, tmp_path: Path) -> None:
    texts = [(ROWS / f"{BY_NAME[name].built_in_rows}.csv").read_text("utf-8") for name in TASKS]
    write_tiny_bert(tmp_path / "models" / "small", texts)
    (tmp_path / "data").mkdir()
    app = App(tmp_path / "models", tmp_path / "data", tmp_path / "hub")
    try:
        with opened(browser, app.url + "train") as page:
            wait_until_quiet(page)
            for task in BY_NAME.values():
                choose(page, "Task", task.title)
                wait_until_quiet(page)
                expect(page.get_by_label("Epochs")).to_be_visible()
                expect(page.get_by_label("Batch size")).to_be_hidden()
                page.locator("#train-form summary").click()
                expect(page.get_by_label("Batch size")).to_be_visible()
                settings = {*task.options.__dataclass_fields__, *Tuning.__dataclass_fields__, "seeds", "skip"}
                shown = page.locator("#train-form [data-setting]")  # those of this task alone
                assert {*shown.evaluate_all("all => all.map((one) => one.dataset.setting)")} == settings
                expect(page.locator("#message")).to_be_empty()
                expect(page.locator("#looked")).to_contain_text("training rows")
            for number, name in enumerate(TASKS):
                start(page, name, "small")
                expect(page.locator(".run")).to_have_count(number + 1)
            for name in TASKS:
                task = BY_NAME[name]
                finished(page, name)
                page.locator(".run", has_text=re.compile(f"^{name}")).click()
                expect(page.locator("#headline h2")).to_have_text(name)
                expect(page.locator("#caption")).to_contain_text("at its best")
                expect(page.locator("#caption")).to_contain_text(task.metrics[task.metric])
    finally:
        app.close()
    for path in (tmp_path / "data" / "runs").glob("*/spec.json"):
        task = BY_NAME[json.loads(path.read_text())["task"]]
        events = [json.loads(line) for line in (path.parent / "events.jsonl").open()]
        values = [event["metrics"][task.metric] for event in events if event["event"] == "evaluated"]
        better = max(values[1:]) > values[0] if task.higher else min(values[1:]) < values[0]
        assert len(values) > 1 and better, (task.title, values)
    shutil.rmtree(tmp_path / "data")


def start(page: Page, name: str, checkpoint: str) -> None:
    """Set up the task and press Start."""
    choose(page, "Task", BY_NAME[name].title)
    choose(page, "Start from", checkpoint)
    page.get_by_label("Epochs").fill(EPOCHS)
    page.get_by_label("Learning rate").fill("0.003")
    page.get_by_label("Name of the run").fill(name)
    page.locator("#start").click()
    expect(page.locator("#headline h2")).to_have_text(name)
    expect(page.locator("#looked")).to_contain_text(f"{BY_NAME[name].built_in_rows}.csv")  # not those of before


def finished(page: Page, name: str) -> None:
    run = page.locator(".run", has_text=re.compile(f"^{name}"))
    expect(run).to_contain_text(re.compile("finished|failed"), timeout=LONG)
    expect(run).to_contain_text("finished")
