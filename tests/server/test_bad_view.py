"""Requests that no page sends to the route of Explore: rejected with a sentence, and the next request is answered."""

import io
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bertexplorer.core.ask import VIEWS
from bertexplorer.core.state import COMPARISONS
from tests.runs.running import until
from tests.server.conftest import Running, lines
from tests.server.talk import LINES, VIEW, state

TOLD = "a private sentence"
WRONG: tuple[Any, ...] = (1, 1.5, True, [TOLD], {"a": TOLD}, -1, 10**40, float("nan"))
TEXTS = ("view", "text", "pair", "hidden", "picked", "checkpoint", "precision", "against", "other")
SPANS = ("x", "0:1", "0:1-2,", "3:0-1", "0:-1-2", " 0:1-2", "0:1-2;0:3-4", "0:1234567-12345678", "0:0-1," * 600, "\0")
BODIES = {
    "nothing": b"",
    "no JSON": b"{state",
    "half": b'{"state": {"text": "a [MASK]"',
    "an array": b"[1, 2]",
    "a text": b'"state"',
    "null": b"null",
    "a number": b"1e999",
    "UTF-16": '{"state": {}}'.encode("utf-16"),
    "no UTF-8": b'\xff\xfe{"state"',
    "nested arrays": b"[" * 200_000,
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "nested options": b'{"state": {"options": {"words": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}}",
    "nested below the limit": b'{"state": {"text": ' + b"[" * 900 + b"]" * 900 + b"}}",
    "nested with a half character": b'{"state": "\\ud800", "a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a number of many digits": b'{"state": {"options": {"top": ' + b"9" * 100_000 + b"}}}",
    "a form": b"state=1&text=a",
}


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, timeout=60) as http:
        http.get("/")
        yield http


def refused(client: httpx.Client, body: Any, path: str = VIEW) -> dict[str, Any]:
    """The reported problem, after which a valid request is answered."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 499, answer.text[:300]
    assert answer.headers["content-type"] == "application/problem+json" and len(answer.content) < 5000
    problem: dict[str, Any] = answer.json()
    assert problem["detail"].rstrip("”’)")[-1] in ".!?" and "Traceback" not in answer.text
    assert client.post(VIEW, json=state()).status_code == 200
    return problem


@pytest.mark.parametrize("name", TEXTS)
def test_a_field_of_the_wrong_type_is_named(client: httpx.Client, name: str) -> None:
    for wrong in WRONG:
        assert refused(client, {"state": {"text": "a [MASK]", name: wrong}})["detail"].startswith(f"{name}: got ")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("view", list(VIEWS)), ("precision", ["auto", "fp32"]), ("against", [word for word in COMPARISONS if word])],
)
def test_an_unknown_value_is_reported_with_the_allowed_ones(client: httpx.Client, name: str, wanted: list[str]) -> None:
    for word in ("nothing of ours", "FILL-MASK", "<b>", "x" * 3000, "\ud800", "__class__", "constructor"):
        message = refused(client, {"state": {"text": "a [MASK]", name: word}})["detail"]
        assert message.startswith(f"{name}: got ") and all(item in message for item in wanted)


@pytest.mark.parametrize("name", ["texts", "", "__proto__", "TEXT", "x" * 3000, "\ud800"])
def test_an_unknown_field_is_named(client: httpx.Client, name: str) -> None:
    assert "text, pair, hidden" in refused(client, {"state": {"text": "a [MASK]", name: "x"}})["detail"]
    assert "wanted state or link" in refused(client, {**state(), name: "x"})["detail"]


@pytest.mark.parametrize("spans", SPANS, ids=range(len(SPANS)))
def test_invalid_spans_are_named(client: httpx.Client, spans: str) -> None:
    for name in ("hidden", "picked"):
        assert "wanted spans such as" in refused(client, {"state": {"text": "a [MASK]", name: spans}})["detail"]
    assert refused(client, {**state(), "fill": spans})["detail"].startswith("fill: got ")


@pytest.mark.parametrize("options", [1, "top", [], ["top"], True, {"top": [1]}, {"top": {"a": 1}}, {"top": 10**400},
                                     {"top": "9" * 5000}, {"evil": 1}, {"": ""}, {"x" * 3000: 1}, {"words": None}],
                         ids=range(13))  # fmt: skip
def test_invalid_settings_are_named(client: httpx.Client, options: Any) -> None:
    assert "wanted" in refused(client, state(options=options))["detail"]


@pytest.mark.parametrize("name", BODIES)
def test_anything_but_a_json_object_is_rejected(client: httpx.Client, name: str) -> None:
    answer = client.post(VIEW, content=BODIES[name], headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500 and "Traceback" not in answer.text and len(answer.content) < 5000
    message = answer.json()["detail"] if "json" in answer.headers["content-type"] else answer.text
    assert message.strip()[-1] in ".!?"
    assert client.post(VIEW, json=state()).status_code == 200


@pytest.mark.parametrize("body", [{}, {"state": None}, {"state": "x"}, {"state": [1]}, {"link": 1}, {"link": {"a": 1}},
                                  {"fill": "0:0-1"}, {"counted_in": {}}, {"state": {}, "session_hash": "x"},
                                  {**state(), "fill": 1}, {**state(), "fill": ["0:0-1"]}], ids=range(11))  # fmt: skip
def test_a_request_without_a_state_is_rejected(client: httpx.Client, body: Any) -> None:
    refused(client, body)


@pytest.mark.parametrize("before", [1, "x", [], {"text": 1}, {"text": None, "pair": [1]}, {"evil": "x"}], ids=range(6))
def test_odd_reference_texts_are_rejected_or_shift_nothing(client: httpx.Client, before: Any) -> None:
    answer = client.post(VIEW, json={**state(hidden="0:2-7"), "counted_in": before})
    assert answer.status_code in (200, 422) and "Traceback" not in answer.text


def test_ten_megabytes_are_rejected(running: Running, client: httpx.Client) -> None:
    begun = time.monotonic()
    for text in ("a " * 5_000_000, "\ud800" * 2_000_000):
        answer = client.post(VIEW, content=json.dumps(state(text)).encode())
        assert answer.status_code == 413 and f"{running.settings.request_kb:,} kB" in answer.text
    assert time.monotonic() - begun < 20 and client.post(VIEW, json=state()).status_code == 200


@pytest.mark.parametrize("link", ["?" + "&" * 100_000, "?text=" + "%" * 50_000, "?text=%ff%fe[MASK]",
                                  "?view=%00&text=%00",
                                  "?text=a+[MASK]&text=b&hidden=0:9-2,zz", "?text=a+[MASK]&checkpoint=../../etc/passwd",
                                  "?text=a+[MASK]&checkpoint=%ud800&precision=x", "\ud800"], ids=range(8))  # fmt: skip
def test_an_odd_link_opens_or_is_rejected(client: httpx.Client, link: str) -> None:
    answer = client.post(VIEW, content=json.dumps({"link": link}).encode())
    assert answer.status_code in (200, 422) and answer.json()["state"]["view"] == "fill-mask"
    assert client.post(VIEW, json=state()).status_code == 200


@pytest.mark.parametrize(
    "name", ["", "..", "/etc/passwd", "a/b/c/d", "run:", "run:../..", "x" * 3000, "\0", "http://a"]
)
def test_an_invalid_checkpoint_is_reported(client: httpx.Client, name: str) -> None:
    assert refused(client, state(checkpoint=name))["state"]["text"] == "a great [MASK]"
    assert refused(client, {"name": name}, "/api/v1/checkpoints")


@pytest.mark.parametrize("body", [None, [], {}, {"name": 1}, {"name": None}, "x", {"name": ["tiny"]}], ids=range(7))
def test_a_checkpoint_that_was_not_requested_is_not_fetched(client: httpx.Client, body: Any) -> None:
    refused(client, body, "/api/v1/checkpoints")


def test_other_methods_are_not_allowed(client: httpx.Client) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, VIEW).status_code in (404, 405)
    assert client.post("/api/v1/page").status_code in (404, 405)
    assert client.post("/api/v1/nothing", json={}).status_code in (404, 405)


def test_typed_text_is_never_logged(running: Running, client: httpx.Client, written: io.StringIO) -> None:
    for body in (state(TOLD, view=TOLD), state(TOLD, options={TOLD: TOLD}), {"link": f"?text={TOLD}&view={TOLD}"}):
        client.post(VIEW, json=body, headers=LINES)
    client.post(VIEW, content=TOLD.encode())
    until(lambda: len(lines(written)) >= 4)
    message = lines(written)
    assert TOLD not in written.getvalue() and {line["route"] for line in message} == {"api"}
    assert not [line for line in message if line["level"] == "error"] and "trace" not in written.getvalue()
