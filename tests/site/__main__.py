"""Compare the views of a site with the golden files while its scripts are written.

python -m bertexplorer site FOLDER --weights fp32     once
python -m tests.site FOLDER [VIEW …]                  after each change of bertexplorer/web/static or a browser.js
"""

import json
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from bertexplorer.core.ask import opening
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.settings import Settings
from bertexplorer.site.content import page as page_json, write_json
from bertexplorer.site.folder import write_scripts
from bertexplorer.site.offer import Offer
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS
from tests.browser.conftest import FLAGS, chromium
from tests.site.answers import of_view, served

SHOWN = 12


def main(folder: Path, views: list[str]) -> int:
    """Returns the number of examples that differ."""
    write_scripts(folder)
    library, wrong = CheckpointRegistry(Settings()), 0
    site, before = (json.loads((folder / "data" / f"{name}.json").read_text("utf-8")) for name in ("site", "page"))
    catalogue, first = LessonCatalogue.of(library.settings), opening(library.settings)
    schema = page_json(library, catalogue, Offer(), first, before["views"], site["checkpoint"]["card"])
    write_json(folder / "data" / "page.json", schema)
    with served(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.on("console", lambda message: print("console:", message.text[:400]))
        page.on("pageerror", lambda error: print("error:", str(error)[:400]))
        page.goto(address)
        page.wait_for_selector("#figure .bars", timeout=60_000)
        for view in views or [name for name in VIEWS if Offer().has(name)]:
            for label, changes in of_view(page, view):
                wrong += bool(changes)
                print(f"{view}, {label}: {len(changes) or 'no'} differences")
                for line in changes[:SHOWN]:
                    print(f"  {line}")
        browser.close()
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]), sys.argv[2:])))
