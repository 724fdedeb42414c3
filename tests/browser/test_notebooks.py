"""The widget in real notebooks, JupyterLab and marimo, each below a path.

They are no part of the environment of the other tests: `pip install jupyterlab marimo`, then
`pytest -n 0 -m browser tests/browser/test_notebooks.py`."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.conftest import ROOT

SOURCE = ["import bertexplorer as bx", "widget = bx.widget('attention', 'The cat sat on the mat.', pick='cat')"]
MARIMO = """import marimo
app = marimo.App()

@app.cell
def _():
    import bertexplorer as bx
    import marimo as mo
    widget = mo.ui.anywidget(bx.widget('attention', 'The cat sat on the mat.', pick='cat'))
    widget
    return mo, widget

@app.cell
def _(mo, widget):
    mo.md("The link is " + widget.value["link"])
    return

if __name__ == "__main__":
    app.run()
"""
START_S = 60


@contextmanager
def running(folder: Path, *command: str) -> Iterator[str]:
    """The address of a notebook server that *command* starts in *folder*, below the path /below/."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(folder), "HOME": str(folder)}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([sys.executable, "-m", *command, f"--port={port}"], cwd=folder, stdout=log,
                                  stderr=log, env=environment)  # fmt: skip
        address = f"http://127.0.0.1:{port}/below/"
        try:
            end = time.monotonic() + START_S
            while True:
                try:
                    httpx.get(address, timeout=5)
                    break
                except httpx.TransportError:
                    assert time.monotonic() < end and server.poll() is None, (folder / "log").read_text()
                    time.sleep(0.2)
            yield address
        finally:
            server.terminate()
            server.wait(30)


def used(page: Page) -> None:
    """Type, press a token, choose another view: it answers."""
    said = page.locator("bx-view .said").first
    expect(said).to_contain_text("Each tile is a head", timeout=120_000)
    expect(page.locator("bx-figure .tiles").first).to_be_visible()
    page.locator(".chip", has_text="mat").click()
    expect(page.locator(".chip[aria-pressed=true]", has_text="mat")).to_be_visible()
    page.locator("bx-view textarea").first.fill("The [MASK] sat on the mat.")
    page.get_by_role("button", name="Hide a word").click()
    expect(said).to_contain_text("It would put")
    expect(page.locator("bx-figure .bars").first).to_be_visible()


@pytest.mark.skipif(find_spec("jupyterlab") is None, reason="JupyterLab is not installed")
def test_in_jupyterlab(browser: Browser, tmp_path: Path) -> None:
    cells = [[*SOURCE, "widget"], ["print(widget.state['view'], widget.result.said)"]]
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}}
    notebook["cells"] = [{**cell, "id": f"cell-{i}", "source": "\n".join(lines)} for i, lines in enumerate(cells)]
    (tmp_path / "look.ipynb").write_text(json.dumps(notebook), "utf-8")
    options = ("--no-browser", "--allow-root", "--ServerApp.base_url=/below/", "--IdentityProvider.token=")
    with (
        running(tmp_path, "jupyterlab", *options) as address,
        opened(browser, f"{address}lab/tree/look.ipynb", gone=True) as page,
    ):
        page.get_by_text("Python 3", exact=False).first.wait_for()
        page.locator(".jp-Cell").first.click()
        page.keyboard.press("Shift+Enter")
        used(page)
        page.locator(".jp-CodeCell").nth(1).locator(".jp-InputArea").click()
        page.keyboard.press("Shift+Enter")
        expect(page.locator(".jp-OutputArea-output pre").last).to_contain_text("fill-mask It would put")


@pytest.mark.skipif(find_spec("marimo") is None, reason="marimo is not installed")
def test_in_marimo(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "look.py").write_text(MARIMO, "utf-8")
    options = ("-q", "run", "look.py", "--headless", "--no-token", "--base-url=/below")
    with running(tmp_path, "marimo", *options) as address, opened(browser, address, gone=True) as page:
        used(page)
        expect(page.get_by_text("The link is ?view=fill-mask")).to_be_visible()  # a cell follows the widget
