"""Every task's built-in rows train from the page. That they learn is held by the tests in tests/training."""

import json
import re
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from bertexplorer.training.tasks import BY_NAME
from tests.browser.conftest import App, opened
from tests.browser.steps import wait_until_quiet
from tests.browser.test_training import choose
from tests.training.tasks.builtin import knowing

ROWS = Path(__file__).parents[2] / "assets" / "data"
LONG = 600_000
LEARN = {"classification": "4", "pair-classification": "4"}  # epochs; 1 for the others, which are trained elsewhere too


def test_every_built_in_set_trains_from_the_page(browser: Browser, tmp_path: Path) -> None:
    texts = [path.read_text("utf-8") for path in ROWS.iterdir() if path.suffix != ".md"]
    knowing(tmp_path / "models" / "small", texts)
    (tmp_path / "data").mkdir()
    app = App(tmp_path / "models", tmp_path / "data", tmp_path / "hub")
    try:
        with opened(browser, app.url + "train") as page:
            wait_until_quiet(page)
            for number, name in enumerate(BY_NAME):
                if name == "distillation":
                    finished(page, "classification")
                    page.locator(".run", has_text=re.compile("^classification")).click()
                start(page, name, "classification" if name == "distillation" else "small")
                expect(page.locator(".run")).to_have_count(number + 1)
            for name, task in BY_NAME.items():
                finished(page, name)
                page.locator(".run", has_text=re.compile(f"^{name}")).click()
                expect(page.locator("#headline h2")).to_have_text(name)
                expect(page.locator("#caption")).to_contain_text("at its best")
                expect(page.locator("#caption")).to_contain_text(task.METRICS[task.METRIC])
    finally:
        app.close()
    for path in (tmp_path / "data" / "runs").glob("*/spec.json"):
        name, task = json.loads(path.read_text())["task"], BY_NAME[json.loads(path.read_text())["task"]]
        events = [json.loads(line) for line in (path.parent / "events.jsonl").open()]
        values = [event["metrics"][task.METRIC] for event in events if event["event"] == "evaluated"]
        assert len(values) > 1 and (name not in LEARN or max(values[1:]) > values[0]), (name, values)
    shutil.rmtree(tmp_path / "data")


def start(page: Page, name: str, checkpoint: str) -> None:
    """Set the task up and press Start."""
    choose(page, "Task", BY_NAME[name].TITLE)
    choose(page, "Start from", checkpoint)
    page.get_by_label("Epochs").fill(LEARN.get(name, "1"))
    page.get_by_label("Learning rate").fill("0.003")
    page.get_by_label("Name of the run").fill(name)
    page.locator("#start").click()
    expect(page.locator("#headline h2")).to_have_text(name)


def finished(page: Page, name: str) -> None:
    run = page.locator(".run", has_text=re.compile(f"^{name}"))
    expect(run).to_contain_text(re.compile("finished|failed"), timeout=LONG)
    expect(run).to_contain_text("finished")
