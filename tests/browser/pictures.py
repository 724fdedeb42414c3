"""Takes the pictures of the documentation: python -m tests.browser.pictures ADDRESS [VIEW …]

ADDRESS is that of a running app. Each view, or those that are named, such as fill-mask, is shown with its first
example, 1280 pixels wide. Without names, the opening page is assets/screenshot.png, a lesson assets/learn.png, the
example of components assets/components.png, and a run on the built-in rows, which takes a minute, assets/train.png."""

import io
import sys
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from bertexplorer.views import VIEWS
from tests.browser.conftest import FLAGS, chromium
from tests.browser.steps import choose_view
from tests.browser.test_gradio_app import started

ASSETS = Path(__file__).parents[2] / "assets"
WIDTH, COLOURS = 1280, 128
TALLEST = 1200  # pixels of a view; a long table follows
LESSON = 1540  # pixels of a lesson, to the end of its first question
SOON = 300_000  # ms; a run of a minute on a busy machine
SHOWN = ("#exports", "#workbench", "#forms")  # elements that must be in the picture


def take(page: Page, file: Path) -> None:
    """The page from its top to the end of the view, in few colours."""
    boxes = [box for part in SHOWN if (box := page.locator(part).bounding_box())]
    height = max(box["y"] + box["height"] for box in boxes) + page.evaluate("window.scrollY") + 12
    save(page, file, min(height, TALLEST))


def save(page: Page, file: Path, height: float) -> None:
    """The top of the page, in few colours."""
    shot = page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, kmeans=2).save(file, optimize=True)


def lesson(page: Page, address: str) -> None:
    """A lesson whose first question was answered."""
    page.goto(f"{address.rstrip('/')}/learn?lesson=next-sentence")
    page.locator("#first-guess input").first.check()
    page.locator("#first-guess .go").click()
    expect(page.locator("#first-guess bx-view .caption .said")).not_to_be_empty()
    page.wait_for_timeout(2500)
    save(page, ASSETS / "learn.png", LESSON)


def training(page: Page, address: str) -> str:
    """A run on the built-in rows, from its settings to its curves. Returns its name as a checkpoint."""
    page.goto(f"{address.rstrip('/')}/train")
    page.locator("#check").click()
    expect(page.locator("#looked .estimate")).to_contain_text("were timed", timeout=SOON)
    page.locator("#start").click()
    expect(page.locator("#headline .state")).to_have_text("finished", timeout=SOON)
    page.wait_for_timeout(2500)
    caption = page.locator("#caption").bounding_box()
    assert caption
    save(page, ASSETS / "train.png", caption["y"] + caption["height"] + page.evaluate("window.scrollY") + 12)
    return f"run:{page.locator('.run.chosen').get_attribute('data-run')}"


def components(page: Page) -> None:
    """The example of components in a Gradio app of its own."""
    with started("examples/gradio_components.py") as address:
        page.goto(address)
        expect(page.locator(".marks")).to_have_count(2)
        expect(page.get_by_text("One mask: the first of 10 rows").first).to_be_visible()
        page.wait_for_timeout(2500)
        strip = page.locator("bx-strip").last.bounding_box()
        assert strip
        save(page, ASSETS / "components.png", strip["y"] + strip["height"] + 24)


def main(address: str, *names: str) -> None:
    (ASSETS / "views").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": 800})
        page.add_init_script("localStorage.setItem('bx-welcome', '1')")  # not the first visit
        run = "" if names else everything_else(page, address)
        page.goto(address)
        page.wait_for_selector("#figure .bars")
        for view in [VIEWS[name] for name in names or VIEWS if VIEWS[name].name in VIEWS.folders]:
            if view.slug == "answer":  # that of a run, below
                continue
            choose_view(page, view.title)
            expect(page.locator("#question h2")).to_have_text(view.question)
            page.locator("button.example").first.click()
            if view.text:
                expect(page.locator("#text textarea")).to_have_value(view.examples[0].text)
            expect(page.locator("bx-explore[aria-busy=true]")).to_have_count(0)
            page.wait_for_timeout(2500)
            page.evaluate("document.activeElement.blur()")
            page.mouse.move(4, 4)
            take(page, ASSETS / "views" / f"{view.slug}.png")
        if run:
            answer(page, address, run)
        browser.close()


def everything_else(page: Page, address: str) -> str:
    """A lesson, a run, the components and the opening page. Returns the run as a checkpoint."""
    lesson(page, address)
    components(page)
    run = training(page, address)
    page.goto(address)
    page.wait_for_selector("#figure .bars")
    take(page, ASSETS / "screenshot.png")
    return run


def answer(page: Page, address: str, run: str) -> None:
    """The view Answer on the checkpoint *run*."""
    page.goto(f"{address}?{urlencode({'view': 'answer', 'text': VIEWS['answer'].examples[0].text, 'checkpoint': run})}")
    expect(page.locator("#receipt")).not_to_be_empty()
    page.wait_for_timeout(2500)
    take(page, ASSETS / "views" / "answer.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
