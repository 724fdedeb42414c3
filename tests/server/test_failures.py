"""Requests that cannot be answered: not found, or one line in the log that repeats none of their content."""

import io
from typing import Any

import httpx
import pytest

from tests.runs.running import until
from tests.server.conftest import Running, lines
from tests.server.talk import Browser

TOLD = "a private sentence"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/" + "a" * 256,
        "/assets/" + "\u00e9" * 128,
        "/static/" + "a/" * 3000,
        "/svelte/" + "a" * 5000,
        "/gradio_api/heartbeat/" + "a" * 5000,
        "/api/v1/files/" + "a" * 5000,
    ],
)
def test_an_impossible_path_is_not_found(running: Running, written: io.StringIO, path: str) -> None:
    answer = httpx.get(f"{running.url}{path}", timeout=60)
    assert answer.status_code == 404 and "no such page" in answer.text
    assert not [line for line in lines(written) if line["level"] == "error"] and "Traceback" not in written.getvalue()


def test_a_failing_request_is_one_log_line_without_text_of_users(
    running: Running, written: io.StringIO, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(running.service, "preview", fail)
    answer = Browser(running.url).preview(name=TOLD, rows=[{"text": TOLD, "label": TOLD}])
    assert answer.status_code == 500 and "in the log" in answer.json()["detail"] and "zero" not in answer.text
    until(lambda: any(line.get("status") == 500 for line in lines(written)))  # written after the answer was sent
    out = capfd.readouterr()
    assert TOLD not in out.err + out.out + written.getvalue() and "Traceback" not in out.err
    failed, counted = [line for line in lines(written) if line["level"] == "error"]
    assert failed["message"] == "a request failed" and failed["id"] in answer.text
    assert "ZeroDivisionError" in failed["trace"] and (counted["message"], counted["route"]) == ("request", "api")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": TOLD}, "wanted 'task' to be one of"),
        ({"task": None}, "wanted 'task' to be one of"),
        ({"file": [TOLD]}, "file: got"),
        ({"file": TOLD}, "no file"),
        ({"file": "x" * 5000}, "file: got"),
        ({"rows": TOLD}, "rows: got"),
        ({"rows": [TOLD]}, "rows.0: got"),
        ({"mapping": {"text": [TOLD]}}, "mapping.text: got"),
        ({"settings": {"epochs": TOLD}}, "settings.epochs: got"),
        ({"seeds": 10**400}, "seeds: got"),
        ({"seeds": True}, "seeds: got"),
        ({TOLD: 1}, "not a field here"),
        ({"checkpoint": TOLD}, "not a checkpoint name"),
        ({"checkpoint": "a/private"}, "not on this disk"),
    ],
)
def test_an_invalid_run_is_rejected_and_not_logged(
    running: Running, written: io.StringIO, capfd: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    answer = Browser(running.url).preview(**change)
    assert answer.status_code == 422 and words in answer.json()["detail"], answer.text
    until(lambda: any(line.get("status") == 422 for line in lines(written)))
    (line,) = [line for line in lines(written) if line.get("status") == 422]
    assert line["level"] == "info" and TOLD not in written.getvalue() and capfd.readouterr().err == ""
