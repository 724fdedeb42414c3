"""A canary (markup that would report its execution) in everything that people and files supply: text, settings,
names, cells, labels, lines, the pieces of a vocabulary. It is shown as written, and never runs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from safetensors.torch import load_file, save_file

from bertexplorer.views import VIEWS
from tests import tiny
from tests.browser.conftest import App, opened
from tests.browser.steps import (
    TEXT,
    choose,
    choose_view,
    upload,
    use_checkpoint,
    wait_until_idle,
    wait_until_quiet,
    write,
)

SOON = 150_000
IMAGE = "<img src=x onerror=window.__pwn=1>"
CANARY = f"{IMAGE}<script>window.__pwn=1</script>"
LINKS = "[x](javascript:window.__pwn=1) $$\\href{javascript:window.__pwn=1}{y}$$"
TYPED = f"{CANARY} {{Paris|London}} is [MASK]. {LINKS} The cat sat."


@pytest.fixture(scope="module")
def nest(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with a checkpoint whose likeliest piece is the canary."""
    folder = tmp_path_factory.mktemp("nest")
    hostile(folder / "models" / "hostile")
    (folder / "data").mkdir()
    app = App(folder / "models", folder / "data", folder / "hub")
    yield app.url
    app.close()


def hostile(folder: Path) -> None:
    """A tiny BERT that answers every mask with `</script>` and the canary."""
    tiny.write(folder, "bert", max_position_embeddings=512)
    described = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    vocabulary = described["model"]["vocab"]
    number = vocabulary.pop("bank")
    vocabulary["</script>" + CANARY] = number
    (folder / "tokenizer.json").write_text(json.dumps(described), "utf-8")
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][number] += 60
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def silent(page: Page, *shown: str) -> None:
    """No frame has run it or made elements of it, and the places *shown* display it as written."""
    for frame in page.frames:
        assert frame.evaluate("window.__pwn") is None
        assert frame.evaluate("document.querySelectorAll('img[src=x], [onerror], a[href^=javascript]').length") == 0
    for selector in shown:
        expect(page.locator(selector).first).to_contain_text("onerror=window.__pwn=1")


def hover(page: Page) -> None:
    """Move the mouse over the figure from left to right, so that its labels appear."""
    box = page.locator("#figure").bounding_box()
    for share in (0.3, 0.7) if box and box["height"] else ():
        page.mouse.move(box["x"] + share * box["width"], box["y"] + min(90, box["height"] / 2))
        page.wait_for_timeout(60)


def test_no_view_runs_the_canary(browser: Browser, nest: str, tmp_path: Path) -> None:
    with opened(browser, nest) as page:
        page.wait_for_selector("#figure .bars")
        wait_until_quiet(page)
        use_checkpoint(page, "hostile")
        expect(page.locator("#receipt")).to_contain_text("hostile")
        write(page, TYPED)
        expect(page.locator("#figure")).to_contain_text("<img src=x")  # the rest is truncated
        silent(page, "#caption .said")
        for view in VIEWS.values():
            choose_view(page, view.title)
            expect(page.locator("#question h2")).to_have_text(view.question)
            wait_until_idle(page)
            hover(page)
            silent(page)
            boxes = page.locator("#forms textarea:visible, #forms input[type=text]:visible")
            for box in boxes.all():
                box.fill(f"{TYPED}, a")
            if boxes.count():
                wait_until_idle(page)
                silent(page)
        choose_view(page, "Search")
        lines = tmp_path / f"{IMAGE}.txt"
        lines.write_text("".join(f"{CANARY} {i} cats\n" for i in range(20)), "utf-8")
        page.locator("#lines").set_input_files(lines)
        expect(page.locator("#figure")).to_contain_text("<img", timeout=SOON)
        hover(page)
        silent(page)
        assert page.locator(TEXT).input_value() == TYPED
        choose_view(page, "Suite")
        rows = tmp_path / f"{IMAGE}.csv"
        rows.write_text(f"good,bad,category\nthe cat sat,the cat sits,{IMAGE}\nA a.,A b.,other\n", "utf-8")
        page.locator("#lines").set_input_files(rows)
        expect(page.locator("#figure")).to_contain_text("<img", timeout=SOON)
        expect(page.locator("bx-cases option", has_text="<img")).to_have_count(1)
        hover(page)
        silent(page)


def test_rows_and_runs_do_not_run_the_canary(browser: Browser, nest: str, tmp_path: Path) -> None:
    file = tmp_path / f"{IMAGE}.csv"
    rows = [f"{'a great' if i % 2 else 'a bad'} film {i} {CANARY},{CANARY if i % 2 else 'neg'}" for i in range(60)]
    file.write_text("\n".join([f"text {CANARY},label", *rows, f"{CANARY},too,many"]) + "\n", "utf-8")
    with opened(browser, f"{nest}train") as page:
        expect(page.locator("#check")).to_be_visible()
        wait_until_quiet(page)
        choose(page, "Start from", "hostile")
        page.get_by_label("my file").click()
        upload(page, "#rows-file", file)
        page.locator("#check").click()
        expect(page.locator("#looked")).to_contain_text("Three steps were timed", timeout=SOON)
        silent(page, "#looked", "#rows-file")
        page.get_by_label("Name of the run").fill(CANARY)
        page.locator("#start").click()
        expect(page.locator("#headline .state")).to_contain_text("finished", timeout=SOON)
        expect(page.locator("#rows table")).to_be_visible()
        silent(page, "#headline h2", "#runs", "#rows")
        hover(page)
        page.locator("#playground textarea").first.fill(CANARY)
        page.locator("#try").click()
        expect(page.locator(".shares li")).to_have_count(2, timeout=SOON)
        silent(page, ".shares", "#rows")
        page.locator("#rename").fill(f"{CANARY} again")
        page.keyboard.press("Enter")
        expect(page.locator("#headline h2")).to_contain_text("again")
        page.get_by_role("button", name="Delete").click()
        expect(page.locator(".run")).to_have_count(0)
        page.locator(".gone summary").click()
        silent(page, ".gone")


def test_experiments_do_not_run_the_canary(browser: Browser, nest: str, tmp_path: Path) -> None:
    with opened(browser, f"{nest}pretrain") as page:
        expect(page.locator("#start")).to_be_visible()
        wait_until_quiet(page)
        page.get_by_label("my text").click()
        file = tmp_path / f"{IMAGE}.txt"
        file.write_text(f"{CANARY}\n\n{LINKS}\n", "utf-8")
        upload(page, "#text-file", file)
        page.locator("#start").click()
        expect(page.locator("#message")).to_contain_text("different documents")
        silent(page, "#text-file")
