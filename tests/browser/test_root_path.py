"""The pages below a path, behind a real nginx: scripts, links, answers, the address of a class and a vote."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gradio_client import Client
from playwright.sync_api import Browser, expect

from tests.browser.conftest import App, opened
from tests.browser.steps import wait_until_quiet

ROOT_PATH = "/jupyter/user/proxy"  # in which a part begins like the path of phones, /j


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app below ROOT_PATH."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    folder: Path = tmp_path_factory.mktemp("nginx")
    for name in ("models", "data", "hub"):
        (folder / name).mkdir()
    app = App(folder / "models", folder / "data", folder / "hub", BERTEXPLORER_ROOT_PATH=f"{ROOT_PATH[1:]}/")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    passing = f"proxy_pass {app.url}; proxy_set_header Host $http_host; proxy_buffering off;"
    icon = "location = /favicon.ico { return 204; }"  # which browsers ask of the host
    folders = "".join(f"{k}_temp_path {folder}/{k};" for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    server = f"server {{ listen 127.0.0.1:{port}; location {ROOT_PATH}/ {{ {passing} }} {icon} }}"
    start = f"daemon off; pid {folder}/pid; error_log stderr; events {{}}"
    (folder / "conf").write_text(f"{start} http {{ access_log off; {folders} {server} }}")
    nginx = subprocess.Popen(["nginx", "-c", str(folder / "conf"), "-p", str(folder)], stderr=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}{ROOT_PATH}/"
    nginx.terminate()
    nginx.wait(20)
    app.close()


def test_every_page_works_and_leads_to_the_others(browser: Browser, below: str) -> None:
    with opened(browser, below) as page:
        page.locator("#text-box").fill("A [MASK] barked.")
        expect(page.locator("#strip")).to_contain_text("barked")
        wait_until_quiet(page)
        for name in ("Learn", "Train", "Pretrain", "Explore"):
            page.locator(".pages").get_by_role("link", name=name, exact=True).click()
            expect(page.locator("h1")).to_be_visible()
            assert page.url.startswith(below)
            wait_until_quiet(page)
        page.goto(f"{below}learn?lesson=welcome")
        expect(page.locator("bx-question").first).to_be_visible()
        wait_until_quiet(page)
        inside = page.locator(".words a[href^='.'], .feedback a[href^='.']")
        assert all(link.evaluate("link => link.href").startswith(below) for link in inside.all())


def test_a_class_is_joined_by_its_address(browser: Browser, below: str) -> None:
    with opened(browser, f"{below}learn?lesson=what-is-inside") as teacher:
        expect(teacher.locator("bx-question").first).to_be_visible()
        teacher.get_by_role("button", name="Ask the class").click()
        teacher.wait_for_url(re.compile(r"/learn\?class=[A-Z]{6}$"))
        code = teacher.url[-6:]
        expect(teacher.locator(".join")).to_contain_text(f"{below.removeprefix('http://')}j/{code}")
        with opened(browser, f"{below}j/{code}", "phone") as phone:
            expect(phone.locator("main")).to_have_text("You are in. The first question comes soon.")
            teacher.get_by_role("button", name="Start the vote").click()
            phone.get_by_label("The layers, by far").check()
            expect(phone.locator("#status")).to_contain_text("Saved")
        wait_until_quiet(teacher, 0.1)
        teacher.once("dialog", lambda dialog: dialog.accept())
        teacher.get_by_role("button", name="End and delete").click()
        teacher.wait_for_url("**/learn")
        wait_until_quiet(teacher)


def test_gradios_client_calls_an_endpoint(below: str) -> None:
    client = Client(below, verbose=False, analytics_enabled=False)
    answer = client.predict("A [MASK] barked.", api_name="/fill_mask")
    assert "It would put" in answer["said"]
