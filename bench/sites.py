"""How a site opens in a browser that was never there, and how much memory its checkpoint takes.

    python -m bench.sites FOLDER [FOLDER …]

FOLDER is a site, as `bertexplorer site` writes it. Each is served from this machine and opened once in a new Chromium.
Prints the megabytes that the checkpoint travels in, the seconds until a figure is shown (an answer that was recorded)
and until one was computed in the browser, and the memory of the page's process: the most while the checkpoint opened,
and what it holds ten seconds afterwards."""

import argparse
import json
import sys
import time
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, chromium
from tests.site.answers import PAINTED, served

SETTLED_S = 10
LONGEST_MS = 300_000
COMPUTED = "() => document.querySelector('.receipt')?.textContent.includes('in this browser')"


@dataclass(frozen=True)
class Opening:
    """One opening of a site."""

    fetched_mb: float
    figure_s: float
    computed_s: float
    most_mb: float
    held_mb: float


def open_site(folder: Path) -> Opening:
    about = json.loads((folder / "data" / "site.json").read_text("utf-8"))
    fetched = sum(file["bytes"] for file in about["files"])
    with served(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        page.on("console", lambda message: print("console:", message.text[:400], file=sys.stderr))
        processes = browser.new_browser_cdp_session()
        began = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_selector(PAINTED, timeout=LONGEST_MS)
        figure_s = time.perf_counter() - began
        most = wait_until_computed(page, processes)
        computed_s = time.perf_counter() - began
        page.wait_for_timeout(SETTLED_S * 1000)
        held = memory_mb(processes)
        browser.close()
    return Opening(fetched / 1e6, figure_s, computed_s, most, held)


def wait_until_computed(page: Page, processes: Any) -> float:
    """Wait until the answer on the screen was computed in the browser. Returns the most memory meanwhile, in MB."""
    most = 0.0
    for _ in range(LONGEST_MS // 100):
        most = max(most, memory_mb(processes))
        if page.evaluate(COMPUTED):
            return most
        page.wait_for_timeout(100)
    raise TimeoutError("The site computed no answer.")


def memory_mb(processes: Any) -> float:
    """The resident memory of the largest process that draws a page."""
    largest = 0.0
    for process in processes.send("SystemInfo.getProcessInfo")["processInfo"]:
        if process["type"] == "renderer":
            status = Path(f"/proc/{process['id']}/status").read_text("utf-8")
            [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
            largest = max(largest, int(line.split()[1]) * 1024 / 1e6)
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    folders = parser.parse_args().folders
    print(f"{'site':24} {'fetched':>9} {'figure':>8} {'computed':>9} {'most':>9} {'held':>9}")
    for folder in folders:
        fetched, figure, computed, most, held = astuple(open_site(folder))
        print(
            f"{folder.name:24} {fetched:6.0f} MB {figure:6.2f} s {computed:7.1f} s {most:6.0f} MB {held:6.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
