"""A running app and a real Chromium; every page is watched for errors and for requests to another host."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browser.steps import UNDER_WAY, wait_until_quiet

ROOT = Path(__file__).parents[2]
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the first needs a third less CPU
PACKAGES = (("chromium-headless-shell", "fonts-liberation"), ("chromium",))  # on Debian; the first that exists
expect.set_options(timeout=60_000)  # two browsers and an app share two cores, perhaps with others
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def install_chromium() -> None:
    """Install it with apt. One process does; the others wait, as apt refuses to run twice."""
    import fcntl  # not on Windows, which has no apt either

    with open(Path(tempfile.gettempdir(), f"bertexplorer-apt-{os.getuid()}.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if find_chromium() is None:
            apt = [*([] if os.geteuid() == 0 else ["sudo", "-n"]), "apt-get", "-y", "-qq"]
            subprocess.run([*apt, "update"], check=False)
            any(subprocess.run([*apt, "install", *packages], check=False).returncode == 0 for packages in PACKAGES)


def chromium() -> str:
    """The system's Chromium, installed if missing."""
    if find_chromium() is None and shutil.which("apt-get"):
        install_chromium()
    path = find_chromium()
    if path is None:
        raise RuntimeError("No Chromium was found and none could be installed. Install the Debian package chromium.")
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


class App:
    """The app as started by a person, on its own port, without a hub."""

    def __init__(self, models: Path, data: Path, hub: Path, **more: str) -> None:
        """*more*: further environment variables."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/"
        self.env = {
            **{key: value for key, value in os.environ.items() if key != "HF_HUB_OFFLINE"},
            "BERTEXPLORER_PORT": str(port),
            "BERTEXPLORER_MODELS": str(models),
            "BERTEXPLORER_DATA": str(data),
            "HF_ENDPOINT": "http://127.0.0.1:9",
            "HF_HUB_CACHE": str(hub),
            **more,
        }
        self.start()

    def start(self) -> None:
        self.server = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=self.env, stdout=subprocess.DEVNULL)
        for _ in range(300):
            try:
                urllib.request.urlopen(self.url, timeout=1).close()
                return
            except OSError:
                time.sleep(0.2)

    def kill(self) -> None:
        """As kill -9 does."""
        self.server.kill()
        self.server.wait(20)

    def close(self) -> None:
        self.server.terminate()
        self.server.wait(20)


@pytest.fixture(scope="session")
def address(tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An app with a tiny RoBERTa in its models folder."""
    models = tmp_path_factory.mktemp("models")
    for name in ("roberta", "electra-discriminator"):
        shutil.copytree(tiny(name), models / name)
    app = App(models, tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("hub"))
    yield app.url
    app.close()


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(browser: Browser, address: str, size: str) -> Iterator[Page]:
    """The opened app at one size. Fails at the end on a console error, a page error or a request to another host."""
    with opened(browser, address, size) as page:
        page.wait_for_selector("#figure .bars")
        wait_until_quiet(page)
        yield page


@contextmanager
def opened(
    browser: Browser,
    address: str,
    size: str = "desktop",
    *,
    gone: bool = False,
    framed: str = "",
    cookies: Sequence[Any] = (),
    script: str = "",
    scheme: Literal["light", "dark"] = "light",
) -> Iterator[Page]:
    """The page at *address*, watched as above. *gone*: the server is killed meanwhile, so requests may fail. *framed*:
    the host of a frame in the page, which may be asked, too. *cookies*: of a context of before, whose person this is.
    *script*: runs before those of the page. *scheme*: the colours that the browser asks for."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=size == "phone", color_scheme=scheme
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(45_000)
    context.add_cookies(list(cookies))
    context.add_init_script(script or "0")
    page = context.new_page()
    wrong: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not gone:
            wrong.append(f"console: {message.text} ({message.location['url']})")

    page.on("console", note)
    page.on("pageerror", lambda e: wrong.append(f"page: {e}"))
    under_way = UNDER_WAY.setdefault(page, set())
    page.on("request", lambda r: under_way.add(r))
    page.on("requestfinished", lambda r: under_way.discard(r))
    page.on("requestfailed", lambda r: under_way.discard(r))
    hosts = [address, framed] if framed else [address]
    page.on("request", lambda r: None if is_local(r.url, *hosts) else wrong.append(f"request: {r.url}"))
    page.goto(address)
    yield page
    hurt, seen = page.evaluate("window.__pwn"), list(wrong)  # before closing, which aborts pending requests
    context.close()
    assert not seen
    assert hurt is None


def is_local(url: str, *addresses: str) -> bool:
    hosts = ["/".join(address.split("/")[:3]) + "/" for address in addresses]
    return url.startswith((*hosts, "data:", "blob:"))
