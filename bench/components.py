"""A view as a component in somebody's Gradio app, beside the same view on our page, in Chromium.

    python -m bench.components [--rounds 12] [VIEW …]

From a press on a word to the painted figure, in turn on our page and in the app; and from the address to the last
change of the page, for an app with two views beside the same app without them. Both servers answer in fp32."""

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median

import httpx
from playwright.async_api import Page, async_playwright

from bench.pressing import PRESS, READY, running
from bench.serving import ROOT
from tests.browser.conftest import FLAGS, chromium

APP = """
import gradio as gr
with gr.Blocks(analytics_enabled=False) as demo:
    gr.Textbox("Paris is the [MASK] of France.", label="Sentence")
    gr.Slider(1, 6, label="Layer")
    {views}
demo.launch(quiet=True)
"""
VIEWS = """
    from bertexplorer.blocks import View
    import bertexplorer as bx
    bert = bx.load("mini", precision="fp32")
    for name in {names}:
        View(name, checkpoint=bert, elem_id=name)
"""
OPENED = """() => new Promise(done => {
    let last = performance.now();
    new MutationObserver(() => { last = performance.now(); })
        .observe(document.body, { subtree: true, childList: true, attributes: true });
    const look = () => performance.now() - last > 700 ? done(last) : setTimeout(look, 50);
    look();
})"""
IN_APP = PRESS.replace("#figure", "#NAME bx-figure").replace(".strip button", "#NAME .strip button")
IN_APP = IN_APP.replace('"[aria-busy=true]"', '"#NAME [aria-busy=true]"')


@contextmanager
def somebodys_app(names: Sequence[str]) -> Iterator[str]:
    """The address of an app with views of these *names*."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    source = APP.format(views=VIEWS.format(names=list(names)) if names else "")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GRADIO_SERVER_PORT": str(port), "PYTHONPATH": str(ROOT)}
        environment["BERTEXPLORER_DATA"] = folder
        server = subprocess.Popen([sys.executable, "-c", source], env=environment, stdout=subprocess.DEVNULL)
        address = f"http://127.0.0.1:{port}"
        try:
            while True:
                try:
                    httpx.get(address, timeout=2)
                    break
                except httpx.TransportError:
                    assert server.poll() is None, "it ended"
            yield address
        finally:
            server.terminate()
            server.wait(20)


async def presses(ours: Page, theirs: Page, name: str, address: str, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of presses on our page and in the app, in turn; the first of each only prepares."""
    await ours.goto(f"{address}/?view={name}")
    await ours.wait_for_function(READY, timeout=60_000)
    script = IN_APP.replace("NAME", name)
    count = await ours.locator(".strip button:not([disabled])").count()
    page, app = [], []
    for index in range(min(count, rounds + 1)):
        page.append(float(await ours.evaluate(PRESS, index)))
        app.append(float(await theirs.evaluate(script, index)))
    return page[1:], app[1:]


async def opening(page: Page, address: str) -> float:
    await page.goto(address)
    return float(await page.evaluate(OPENED))


async def measure(address: str, names: Sequence[str], rounds: int) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        ours = await browser.new_page(viewport={"width": 1280, "height": 900})
        with somebodys_app(names) as app, somebodys_app([]) as empty:
            theirs = await browser.new_page(viewport={"width": 1280, "height": 900})
            await theirs.goto(app)
            for name in names:
                await theirs.wait_for_selector(f"#{name} .marks")
                page, component = await presses(ours, theirs, name, address, rounds)
                ratio = median(component) / median(page)
                print(
                    f"{name:16} our page {median(page):5.0f} ms, component {median(component):5.0f} ms: {ratio:.2f} x"
                )
            with_views, without = [], []
            for _ in range(rounds):
                with_views.append(await opening(theirs, app))
                without.append(await opening(ours, empty))
            print(f"opening          two views {median(with_views):5.0f} ms, without {median(without):5.0f} ms")
        await browser.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.components", description=__doc__)
    parser.add_argument("views", nargs="*", default=["fill-mask", "attention"])
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args(arguments)
    with running(None) as address:
        asyncio.run(measure(address, options.views, options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
