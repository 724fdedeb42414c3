"""Logs and metrics of the server, and access to them."""

import io
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.server.application import add_layers
from bertexplorer.server.health import Readiness
from bertexplorer.settings import Settings
from tests.server.conftest import SIGNER, Alone, lines, settle
from tests.server.talk import FILES

EVIL = "\n\x1b[31m{} %s \u2028\u202e"


def get(made: Alone, path: str, address: str = "127.0.0.1", **more: Any) -> Any:
    async def go() -> Any:
        async with made.browser(address) as browser:
            return await browser.get(path, **more)

    return settle(go())


def test_a_request_is_one_log_line_without_text_of_users(alone: Callable[..., Any], written: io.StringIO) -> None:
    get(alone(), "/train?text=secret", headers={"cookie": "secret=1", "user-agent": "secret"})
    get(alone(), "/assets/a.js")
    get(alone(), "/monitoring/secret")
    get(alone(), "/", headers={"host": "secret.example"})
    first, second, third = lines(written)
    assert (first["route"], first["status"], first["method"]) == ("page", 200, "GET") and len(first["id"]) == 8
    assert (second["route"], second["level"]) == ("none", "info") and third["level"] == "warning"
    assert "secret" not in written.getvalue()


def test_no_text_breaks_a_log_line(written: io.StringIO) -> None:
    logging.getLogger("bertexplorer.x").warning("told %s", EVIL, extra={"id": EVIL, EVIL: EVIL})
    (line,) = lines(written)
    assert line["id"] == EVIL and line["message"] == f"told {EVIL}" and written.getvalue().isascii()
    assert written.getvalue().count("\n") == 1 and "\x1b" not in written.getvalue()


def test_an_unexpected_error_is_reported_only_by_its_number(written: io.StringIO) -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError("secret detail")

    app = Alone(Settings())
    app.app = add_layers(broken, Settings(), SIGNER, Readiness())
    answer = get(app, "/")
    first, second = lines(written)
    assert answer.status_code == 500 and first["id"] in answer.text and "secret" not in answer.text
    assert "secret detail" in first["trace"] and second["id"] == first["id"] and second["status"] == 500


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_only_this_machine_can_read_the_health(alone: Callable[..., Any], path: str) -> None:
    assert get(alone(), path, "10.0.0.7").status_code == 403
    assert get(alone(), path).status_code in (200, 503)
    for name in ("x-forwarded-for", "forwarded"):  # a proxy on this machine forwards a stranger's request
        assert get(alone(), path, headers={name: "for=10.0.0.7"}).status_code == 403
    assert get(alone(metrics="public"), path, "10.0.0.7").status_code in (200, 503)


def test_the_server_is_ready_once_it_can_answer(alone: Callable[..., Any]) -> None:
    app = alone()
    early = get(app, "/readyz")
    assert early.status_code == 503 and "being loaded" in early.text and get(app, "/healthz").status_code == 200
    app.ready.loaded.set()
    assert get(app, "/readyz").status_code == 200
    app.ready.error = "There is no such checkpoint."
    assert get(app, "/readyz").status_code == 503
    app.ready.error, app.ready.ending = "", True
    assert get(app, "/readyz").status_code == 503


def test_a_server_without_its_data_folder_is_not_ready(alone: Callable[..., Any]) -> None:
    app = alone()
    app.ready.loaded.set()
    unready = Alone(replace(app.settings, data_dir=app.settings.data_dir / "gone"))
    unready.ready.loaded.set()
    message = get(unready, "/readyz")
    assert message.status_code == 503 and "cannot be written" in message.text


def test_a_stopping_server_accepts_no_work(alone: Callable[..., Any]) -> None:
    async def go() -> Any:
        app = alone()
        app.ready.ending = True
        async with app.browser() as browser:
            return await browser.post(FILES, files={"file": ("a.csv", b"a,b")})

    answer = settle(go())
    assert answer.status_code == 503 and answer.headers["retry-after"]


def test_a_full_disk_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It still has room for an empty file."""
    ready = Readiness()
    ready.loaded.set()
    assert ready.problem(tmp_path) == ""

    def full(file: int) -> None:
        assert os.fstat(file).st_size > 0
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert ready.problem(tmp_path) == "The data folder cannot be written: No space left on device."
