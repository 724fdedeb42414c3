"""How a page opens in a browser that was never there: the first answer painted, what is fetched, what moves.

    python -m bench.opening [ADDRESS …] [--rounds 7] [--latency 0]

ADDRESS is that of a running server, such as one of an earlier version; without any, one is started. Several take
turns, so that the machine's load falls on all. Each opening is Explore in a new context of Chromium, 1280 pixels
wide. --latency adds milliseconds to each request, as a network would. Prints medians: seconds until the first answer
is painted, requests and their bytes as they travel, the sum of the layout shifts, and the share of a core that the
page then takes while nobody does anything."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from statistics import median
from typing import Any

from playwright.async_api import Browser, async_playwright

from bench.pressing import running
from tests.browser.conftest import FLAGS, chromium

IDLE_S = 5
SETTLED_S = 2  # after the first answer, before the page counts as idle
WATCH = """window.opened = { shifts: 0, painted: 0 };
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.opened.shifts += one.value; })
    .observe({ type: "layout-shift", buffered: true });
const look = () => {
    if (!document.querySelector("#figure .bars")) { requestAnimationFrame(look); return; }
    requestAnimationFrame(() => { window.opened.painted = performance.now(); });
};
look();"""


@dataclass(frozen=True)
class Opening:
    """One opening of Explore."""

    painted_s: float
    requests: int
    megabytes: float
    shifts: float
    idle: float  # of a core


async def open_page(browser: Browser, address: str, latency_ms: float) -> Opening:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    asked: list[Any] = []
    received: list[float] = []
    session.on("Network.requestWillBeSent", lambda event: asked.append(event))
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    await session.send("Network.enable")
    await session.send("Performance.enable")
    if latency_ms:
        slow = {"offline": False, "latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1}
        await session.send("Network.emulateNetworkConditions", slow)
    await page.add_init_script(WATCH)
    await page.goto(address)
    await page.wait_for_function("() => window.opened.painted")
    await asyncio.sleep(SETTLED_S)
    before = await busy_s(session)
    await asyncio.sleep(IDLE_S)
    idle = (await busy_s(session) - before) / IDLE_S
    opened = await page.evaluate("window.opened")
    await context.close()
    return Opening(opened["painted"] / 1000, len(asked), sum(received) / 1e6, opened["shifts"], idle)


async def busy_s(session: Any) -> float:
    """Seconds that the page's own thread has worked so far."""
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


async def measure(addresses: Sequence[str], rounds: int, latency_ms: float) -> dict[str, list[Opening]]:
    found: dict[str, list[Opening]] = {address: [] for address in addresses}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for number in range(rounds + 1):
            for address in addresses:
                opening = await open_page(browser, address, latency_ms)
                if number:  # the first round fills the caches of the servers
                    found[address].append(opening)
        await browser.close()
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.opening", description=__doc__)
    parser.add_argument("addresses", nargs="*", metavar="ADDRESS")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--latency", type=float, default=0.0)
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        addresses = options.addresses or [stack.enter_context(running(None))]
        found = asyncio.run(measure(addresses, options.rounds, options.latency))
    print("| address | first answer painted | requests | bytes | layout shift | idle page |\n|---|---|---|---|---|---|")
    for address, openings in found.items():
        columns = zip(*map(astuple, openings), strict=True)
        painted, requests, megabytes, shifts, idle = (median(column) for column in columns)
        fetched = f"{requests:.0f} | {megabytes:.2f} MB"
        print(f"| {address} | {painted:.3f} s | {fetched} | {shifts:.3f} | {idle:.2%} of a core |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
