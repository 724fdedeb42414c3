"""Takes the pictures of the documentation: python -m tests.browser.pictures ADDRESS [RUN]

ADDRESS is that of a running app, RUN a checkpoint that was fine-tuned on the built-in films (run:ID). Each view is
shown with its first example, 1280 pixels wide; the opening page is assets/screenshot.png, a lesson
assets/learn.png."""

import io
import sys
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from bertexplorer.ui.tabs import VIEWS
from tests.browser.conftest import FLAGS, chromium
from tests.browser.steps import choose_view

ASSETS = Path(__file__).parents[2] / "assets"
WIDTH, COLOURS = 1280, 128
TALLEST = 1200  # pixels of a view; what follows is a long table
LESSON = 1540  # pixels of a lesson, to the end of its first question
SHOWN = ("#exports", "#workbench", "#forms")  # what must be in the picture


def take(page: Page, file: Path) -> None:
    """The page from its top to the end of the view, in few colours."""
    boxes = [box for one in SHOWN if (box := page.locator(one).bounding_box())]
    height = max(box["y"] + box["height"] for box in boxes) + page.evaluate("window.scrollY") + 12
    shot = page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": min(height, TALLEST)})
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, kmeans=2).save(file, optimize=True)


def lesson(page: Page, address: str) -> None:
    """A lesson whose first question was answered."""
    page.goto(f"{address.rstrip('/')}/learn?lesson=next-sentence")
    page.locator("#first-guess input").first.check()
    page.locator("#first-guess .go").click()
    expect(page.locator("#first-guess bx-view .caption .said")).not_to_be_empty()
    page.wait_for_timeout(2500)
    shot = page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": LESSON})
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, kmeans=2).save(ASSETS / "learn.png", optimize=True)


def main(address: str, run: str = "") -> None:
    """*run*: the name of a checkpoint that was fine-tuned (run:ID), for the view Answer; '': its picture stays."""
    (ASSETS / "views").mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": 800})
        page.add_init_script("localStorage.setItem('bx-welcome', '1')")  # not the first visit
        lesson(page, address)
        page.goto(address)
        page.wait_for_selector("#figure .bars")
        take(page, ASSETS / "screenshot.png")
        for view in VIEWS.values():
            if view.tuned:
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
            answered(page, address, run)
        browser.close()


def answered(page: Page, address: str, run: str) -> None:
    """The view Answer on the checkpoint *run*."""
    page.goto(f"{address}?{urlencode({'view': 'answer', 'text': VIEWS['answer'].examples[0].text, 'checkpoint': run})}")
    expect(page.locator("#receipt")).not_to_be_empty()
    page.wait_for_timeout(2500)
    take(page, ASSETS / "views" / "answer.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
