"""Views of other packages on a server: which are on, how they are tried, and what happens to those that fail."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client

from bertexplorer.server.plugins import wanted_views
from bertexplorer.settings import Settings
from bertexplorer.views import plugins
from tests.brought import COMPUTE, SHOW, bring, bring_letters, environment
from tests.conftest import ROOT

INSTALLED = {name: plugins.Plugin(f"bert-{name}", name, f"of_{name}.{name}") for name in ("marks", "spots")}
MARKS = "__import__('bertexplorer.charts.marks', fromlist=['marks']).Figure([object()])"
LATE = "import time; time.sleep(1000)"
FAILING = {  # view -> (compute.py, show.py)
    "raising": (COMPUTE, SHOW.replace("finish(Chart(), 300)", "1 / 0")),
    "leaving": (COMPUTE, SHOW.replace("finish(Chart(), 300)", "exit(3)")),
    "computing": (COMPUTE.replace("return 3", "raise MemoryError"), SHOW),
    "drawing": (COMPUTE, SHOW.replace("finish(Chart(), 300)", "{'data': object()}")),
    "marked": (COMPUTE, SHOW.replace("finish(Chart(), 300)", MARKS)),
    "saying": (COMPUTE, SHOW.replace('return "Three marks."', "return object()")),
    "listing": (COMPUTE.replace('[{"mark": result}]', "object()"), SHOW),
    "marking": (COMPUTE, f"{SHOW}\n\ndef colours(result):\n    return [1.0]\n"),
    "colouring": (COMPUTE, f"{SHOW}\n\ndef colours(result):\n    return {{1: 'red'}}\n"),
}


@pytest.mark.parametrize(
    ("given", "on"),
    [
        ({}, ("marks", "spots")),
        ({"public": True}, ()),
        ({"code": "robin-2026"}, ()),
        ({"host": "0.0.0.0", "code": "robin-2026"}, ()),
        ({"hosts": ("bert.example",)}, ()),
        ({"plugins": ()}, ()),
        ({"plugins": ("spots", "no_such")}, ("spots",)),
        ({"plugins": ("spots",), "public": True}, ("spots",)),
        ({"plugins": ("spots", "marks"), "code": "robin-2026"}, ("marks", "spots")),
        ({"plugins": (), "public": True}, ()),
    ],
)
def test_where_others_reach_the_server_only_the_named_views_are_on(
    given: dict[str, Any], on: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plugins, "installed", lambda: INSTALLED)
    assert wanted_views(Settings(**given)) == on
    off = given.get("plugins") is None and not on
    assert ("off, as others can reach this server: marks, spots." in caplog.text) is off
    assert ("names 'no_such', but no package brings this view" in caplog.text) is (
        "no_such" in given.get("plugins", ())
    )


class Started:
    """A server that a person started, in a process of its own."""

    def __init__(self, data: Path, variables: dict[str, str], *flags: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = data / "log"
        data.mkdir(parents=True)
        variables |= {"BERTEXPLORER_DATA": str(data), "BERTEXPLORER_PORT": str(self.port)}
        command = [sys.executable, "app.py", *flags]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=log, stderr=log)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api/v1", timeout=120)
        until = time.monotonic() + 120
        while "is open at" not in self.log.read_text("utf-8"):
            assert self.process.poll() is None and time.monotonic() < until, self.log.read_text("utf-8")
            time.sleep(0.1)

    @property
    def views(self) -> set[str]:
        return set(self.client.get("/page").json()["views"])

    @property
    def left_out(self) -> list[str]:
        """What the log says of views that are left out."""
        logged = [json.loads(line) for line in self.log.read_text("utf-8").splitlines() if line.startswith("{")]
        return [line["message"] for line in logged if "left out" in line["message"]]

    def show(self, view: str) -> httpx.Response:
        return self.client.post("/view", json={"state": {"view": view, "text": "The cat sat."}})


@contextmanager
def started(data: Path, variables: dict[str, str], *flags: str) -> Iterator[Started]:
    server = Started(data, variables, *flags)
    try:
        yield server
    finally:
        server.client.close()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)


@pytest.mark.slow
def test_the_views_of_packages_are_those_of_the_server_and_its_workers(tmp_path: Path) -> None:
    site = tmp_path / "site"
    folders = bring_letters(site)
    for name, show in (
        ("late", LATE),
        ("ending", "import os; os._exit(0)"),
        ("loud", f"print('loud', flush=True)\n{SHOW}"),
    ):
        bring(site, name, show=show)
    for name, (compute, show) in FAILING.items():
        bring(site, name, compute, show)
    variables = {**environment(*folders), "BERTEXPLORER_WORKERS": "1"}
    before = time.monotonic()
    with started(tmp_path / "data", variables) as server:
        assert time.monotonic() - before < 60
        assert {"letters", "loud", *FAILING} <= server.views and not {"late", "ending"} & server.views
        assert sorted(server.left_out) == [
            "The view 'ending' of the distribution bert-ending is left out: its import ended its process.",
            "The view 'late' of the distribution bert-late is left out: its import has not ended after 10 s.",
        ]
        assert server.show("letters").json()["said"] == "4 tokens stand for 10 letters."
        assert server.show("loud").json()["said"] == "Three marks."
        assert server.client.post("/letters", json={"text": "A cat"}).json()["rows"][0]["letters"] == 1
        client = Client(f"http://127.0.0.1:{server.port}", verbose=False)
        assert [row["letters"] for row in client.predict("A cat", api_name="/letters")["rows"]] == [1, 3]
        for name in FAILING:
            check_failure(server, name)
        assert server.show("fill-mask").status_code in (200, 422) and server.show("letters").status_code == 200


def check_failure(server: Started, name: str) -> None:
    """Every way to ask for a view that fails ends with an answer or with a sentence."""
    link = {"link": f"?view={name}&text=The+cat+sat."}
    asked = {
        "/view": {"state": {"view": name, "text": "The cat sat."}},
        "/view/csv": link,
        "/view/json": link,
        "/view/python": link,
        f"/{name}": {"text": "The cat sat."},
        f"/{name}?figure=plotly": {"text": "The cat sat."},
    }
    statuses = {}
    for path, body in asked.items():
        answer = server.client.post(path, json=body)
        statuses[path] = answer.status_code
        if answer.status_code != 200:
            assert answer.status_code == 500 and "Internal error (number " in answer.json()["detail"], answer.text
    failing = "/view/json" if name == "listing" else "/view"
    assert statuses[failing] == 500, statuses


@pytest.mark.slow
def test_a_public_server_imports_no_view_that_is_not_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    bring(site, "marks")
    bring(site, "spots", show=f"open({str(tmp_path / 'imported')!r}, 'w').close()\n{SHOW}")
    variables = environment(site, plugins="marks") | {"BERTEXPLORER_WORKERS": "1"}
    with started(tmp_path / "one", variables, "--public") as server:
        assert server.views & {"marks", "spots"} == {"marks"} and server.show("marks").status_code == 200
        assert server.show("spots").status_code == 422
        assert server.client.post("/spots", json={"text": "a"}).status_code == 404
    assert not os.path.exists(tmp_path / "imported")
