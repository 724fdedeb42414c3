"""Makes the pictures of every view for assets/views/README.md: python -m tests.browser.pictures ADDRESS

ADDRESS is that of a running app. Each view is shown with its first example, 1280 pixels wide."""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from bertexplorer.ui.tabs import TABS, slug
from tests.browser.conftest import FLAGS, chromium
from tests.browser.steps import choose_view

FOLDER = Path(__file__).parents[2] / "assets" / "views"
COLOURS = 128


def take(page: Page, file: Path) -> None:
    """The page from its top to the end of the caption, in few colours."""
    box = page.locator("#exports").bounding_box()
    clip = {"x": 140, "y": 0, "width": 1000, "height": (box or {"y": 900})["y"] + page.evaluate("window.scrollY")}
    shot = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip))).convert("RGB")
    shot.quantize(COLOURS, kmeans=2).save(file, optimize=True)


def main(address: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    lines = ["# Every view", "", "Each with its first example, on the bundled checkpoint.", ""]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        page.wait_for_selector("#figure .bars")
        for tab in TABS:
            choose_view(page, tab.TITLE)
            expect(page.locator("#question h2")).to_have_text(tab.QUESTION)
            page.locator("button.example").first.click()
            expect(page.locator("#text textarea")).to_have_value(tab.EXAMPLES[0].text)
            expect(page.locator("bx-explore[aria-busy=true]")).to_have_count(0)
            page.wait_for_timeout(2500)
            page.evaluate("document.activeElement.blur()")
            page.mouse.move(4, 4)
            file = FOLDER / f"{slug(tab)}.png"
            take(page, file)
            said = page.locator("#caption .said").inner_text()
            lines += [
                f"## {tab.GROUP}: {tab.TITLE}",
                "",
                f"*{tab.QUESTION}* {said}",
                "",
                f"![{tab.TITLE}]({file.name})",
                "",
            ]
        browser.close()
    (FOLDER / "README.md").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
