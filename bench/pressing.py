"""How long from a press on a word to the painted figure, in Chromium, for each view that has words to press.

    python -m bench.pressing [--address ADDRESS] [--site FOLDER] [--rounds 10] [VIEW …]

ADDRESS is that of a running server; without it, one is started, in fp32. FOLDER is a site, which answers in the
browser: it is measured in the same run, each view beside that of the server, with the first answer of a browser that
was never there. Each view opens with its first example; then its words are pressed one after the other, each of which
asks a question that was not asked before. The time ends with the last change of the figure. Prints the median and the
slowest of each view, and the median over the views. Of a site, also the longest task of the page's own thread while the
worker answers."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from playwright.async_api import Page, async_playwright

from bench.serving import Server
from tests.browser.conftest import FLAGS, chromium
from tests.site.answers import ASK, served

READY = """() => !document.querySelector("[aria-busy=true]")
    && document.querySelector("#caption .said")?.textContent"""
COMPUTED = """() => !document.querySelector(".receipt").textContent.endsWith("written")"""
PRESS = """index => new Promise(done => {
    const figure = document.querySelector("#figure"), began = performance.now();
    let last = 0;
    const watch = new MutationObserver(() => { last = performance.now(); });
    watch.observe(figure, { subtree: true, childList: true, attributes: true, characterData: true });
    document.querySelectorAll(".strip button:not([disabled])")[index].click();
    const look = () => requestAnimationFrame(() => requestAnimationFrame(() => {
        const now = performance.now(), busy = document.querySelector("[aria-busy=true]");
        const still = last && !busy && now - last > QUIET;
        if (!still && now - began < LONGEST) return look();
        watch.disconnect();
        done(still ? last - began : -1);
    }));
    look();
})""".replace("QUIET", "250").replace("LONGEST", "20000")

SCHEMA = """async () => {
    const [script] = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/backend.js"));
    return (await (await import(script.name)).ask("page")).answer;
}"""


async def press(page: Page, address: str, view: str, rounds: int) -> list[float]:
    """Milliseconds of each press in *view*; the first one only prepares."""
    await page.goto(f"{address}/?view={view}")
    await page.wait_for_function(READY, timeout=60_000)
    count = await page.locator(".strip button:not([disabled])").count()
    times = []
    for index in range(min(count, rounds + 1)):
        times.append(float(await page.evaluate(PRESS, index)))
    return [time for time in times[1:] if time > 0]


ASKED = (
    "The dog [MASK] at the mailman today.",
    "She [MASK] a letter to her old friend in Rome.",
    "Birds [MASK] south in the winter because it is cold.",
)


async def longest_task(page: Page) -> float:
    """Milliseconds of the longest task of the page's own thread while it asks for answers that it does not paint."""
    session = await page.context.new_cdp_session(page)
    events: list[dict[str, Any]] = []
    complete = asyncio.Event()
    session.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    session.on("Tracing.tracingComplete", lambda _: complete.set())
    await session.send("Tracing.start", {"categories": "toplevel", "transferMode": "ReportEvents"})
    for text in ASKED:
        for view in ("fill-mask", "attention", "switchboard"):
            state = {"view": view, "text": text, "options": {}}
            await page.evaluate(ASK, ["view", {"body": {"state": state}}])
    await session.send("Tracing.end")
    await complete.wait()
    names = [event for event in events if event["name"] == "thread_name"]
    mains = {(one["pid"], one["tid"]) for one in names if one["args"]["name"] == "CrRendererMain"}
    return max(event.get("dur", 0) / 1000 for event in events if (event["pid"], event["tid"]) in mains)


async def measure(address: str, wanted: Sequence[str], rounds: int) -> dict[str, list[float]]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = await browser.new_page(viewport={"width": 1280, "height": 900})
        began = time.perf_counter()
        await page.goto(address)
        await page.wait_for_selector("#figure .bars")
        figure = time.perf_counter() - began
        await page.wait_for_function(COMPUTED)
        answer = time.perf_counter() - began
        print(f"{address}: first figure after {figure:.1f} s, first computed answer after {answer:.1f} s")
        views: dict[str, Any] = (await page.evaluate(SCHEMA))["views"]
        names = [
            name
            for name, view in views.items()
            if view["text"] and view.get("offered", True) and (not wanted or name in wanted)
        ]
        times = {name: await press(page, address, name, rounds) for name in names}
        if any("offered" in view for view in views.values()):  # a site
            await page.goto(address)
            await page.wait_for_function(COMPUTED)
            print(f"{address}: the longest task of the page while it asks {await longest_task(page):.0f} ms")
        await browser.close()
    return {name: found for name, found in times.items() if found}


@contextmanager
def running(address: str | None) -> Iterator[str]:
    """*address*, or that of a server that runs meanwhile."""
    if address:
        yield address
        return
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, BERTEXPLORER_PRECISION="fp32")
        try:
            server.wait("/readyz")
            yield server.url
        finally:
            server.end()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.pressing", description=__doc__)
    parser.add_argument("views", nargs="*")
    parser.add_argument("--address")
    parser.add_argument("--site", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args(arguments)
    here: dict[str, list[float]] = {}
    if options.site:
        with served(options.site) as address:
            here = asyncio.run(measure(address.rstrip("/"), options.views, options.rounds))
    with running(options.address) as address:
        times = asyncio.run(measure(address.rstrip("/"), [*options.views, *here], options.rounds))
    for name, found in sorted(times.items(), key=lambda entry: median(entry[1])):
        beside = f"; the site {median(here[name]):6.0f}, slowest {max(here[name]):5.0f}" if name in here else ""
        print(f"{name:24}{median(found):6.0f} ms, slowest {max(found):5.0f}, of {len(found)}{beside}")
    print(f"{'median over the views':24}{median(median(found) for found in times.values()):6.0f} ms")
    if here:
        print(f"{'median on the site':24}{median(median(found) for found in here.values()):6.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
