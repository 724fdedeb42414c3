"""Invalid requests get a message that names the field and status 4xx, and change nothing."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import pytest

from bertexplorer.api.models import field_type
from bertexplorer.api.problems import MAX_EXCERPT
from bertexplorer.core.ask import VIEWS
from bertexplorer.options import option_specs

TEXT = "Paris is the [MASK] of France."
LONG = "x" * 5000
JSON = {"content-type": "application/json"}
UNFIT = [  # view, request, message
    ("fill-mask", {}, "text: got nothing; wanted a value."),
    ("fill-mask", {"text": 7}, "text: got 7; wanted text."),
    ("fill-mask", {"text": None}, "text: got null; wanted text."),
    ("fill-mask", {"text": "x" * 20_001}, f'text: got "{"x" * (MAX_EXCERPT - 2)}…; wanted 20,000 characters or fewer.'),
    ("fill-mask", {"text": TEXT, "top": "3"}, 'top: got "3"; wanted a whole number.'),
    ("fill-mask", {"text": TEXT, "top": 2.5}, "top: got 2.5; wanted a whole number."),
    ("fill-mask", {"text": TEXT, "top": True}, "top: got true; wanted a whole number."),
    ("fill-mask", {"text": TEXT, "top": 0}, "top: got 0; wanted 1 or more."),
    ("fill-mask", {"text": TEXT, "top": 10**30}, f"top: got {10**30}; wanted 100 or less."),
    (
        "fill-mask",
        {"text": TEXT, "topp": 3},
        "topp: not a field here; leave it out, or see the fields at /api/v1/docs.",
    ),
    ("fill-mask", {"text": TEXT, "precision": "fp8"}, "precision: got \"fp8\"; wanted 'auto', 'fp32' or 'bf16'."),
    ("fill-mask", {"text": TEXT, "hidden": "0:1-2"}, 'hidden: got "0:1-2"; wanted a list.'),
    (
        "fill-mask",
        {"text": TEXT, "hidden": [{"side": 3, "start": 0, "end": 1}]},
        "hidden.0.side: got 3; wanted 2 or less.",
    ),
    ("fill-mask", {"text": TEXT, "hidden": [{"side": 0, "start": 5, "end": 5}]}, "wanted a start before the end."),
    ("fill-mask", {"text": TEXT, "hidden": [{"side": 0, "start": 5}]}, "hidden.0.end: got nothing; wanted a value."),
    ("fill-mask", {"text": TEXT, "picked": [{"side": 0, "start": 0, "end": 1}] * 601}, "wanted 600 items or fewer."),
    ("fill-mask", {"text": TEXT, "checkpoint": "../../etc"}, "etc"),
    ("fill-mask", [TEXT], "The request: got"),
    ("masking", {"text": TEXT, "chosen": "much"}, 'chosen: got "much"; wanted a number.'),
    ("masking", {"text": TEXT, "chosen": 0.95}, "chosen: got 0.95; wanted 0.9 or less."),
    ("masking", {"text": TEXT, "whole_words": 1}, "whole_words: got 1; wanted true or false."),
    ("attention", {"text": TEXT, "show": LONG}, "wanted 'grid', 'head' or 'arcs'."),
    ("attention", {"text": TEXT, LONG: 1}, "not a field here"),
]


@pytest.mark.parametrize(("view", "sent", "message"), UNFIT)
def test_an_invalid_field_is_named(view: str, sent: Any, message: str, browser: httpx.Client) -> None:
    answer = browser.post(f"/{view}", json=sent)
    body = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert message in body["detail"] and body["status"] == 422
    assert "x" * (MAX_EXCERPT + 1) not in answer.text, "what was sent is repeated"


@pytest.mark.parametrize("view", VIEWS)
def test_every_setting_rejects_values_of_other_types(view: str, browser: httpx.Client) -> None:
    for setting in option_specs(VIEWS[view].analysis.Options):
        option, wrong = setting.option, [[], {"a": 1}, None]
        wrong += [1] if setting.kind in (str, bool) else ["1", True]
        wrong += ["no such choice"] if setting.choices else []
        wrong += [option.low - 1] if option.low is not None else []
        wrong += [option.high + 1] if option.high is not None else []
        for value in wrong:
            answer = browser.post(f"/{view}", json={"text": TEXT, setting.name: value})
            assert answer.status_code == 422, (setting.name, value)
            assert answer.json()["detail"].startswith(f"{setting.name}: got {json.dumps(value)}; wanted "), answer.text


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 422, "got nothing"),
        (b"{", 400, "not JSON"),
        (b'{"text": NaN}', 422, "text: got NaN; wanted text."),
        (b'{"text": "a", "chosen": 1e999}', 422, "chosen: got Infinity; wanted a number."),
        (b'{"text": "a", "chosen": ' + b"9" * 5000 + b"}", 400, "not JSON that can be read"),
        (b"[" * 100_000, 400, "not JSON that can be read"),
        (b'{"text": "caf\xe9"}', 400, "not JSON in UTF-8"),
        (b"\xff\xfe{\x00}\x00", 400, "not JSON in UTF-8"),
        (b'{"text": "' + b"a" * 10_000_000 + b'"}', 413, "1,000 kB"),
    ],
)
def test_invalid_json_and_oversized_bodies_are_rejected(
    body: bytes, status: int, message: str, browser: httpx.Client
) -> None:
    answer = browser.post("/masking", content=body, headers=JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    assert message in answer.json()["detail"]


def test_a_client_that_sends_everything_before_it_reads_is_answered(served: Any) -> None:
    """If the server stopped reading, such a client would only see a broken connection."""
    body = b'{"text": "' + b"a" * 10_000_000 + b'"}'
    with pytest.raises(HTTPError) as answer:
        urlopen(Request(f"{served.url}/api/v1/fill-mask", body, JSON), timeout=60)
    assert answer.value.code == 413 and "1,000 kB" in answer.value.read().decode()


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/jsonx"}])
def test_json_requires_its_content_type(headers: dict[str, str], browser: httpx.Client) -> None:
    answer = browser.post("/fill-mask", content=json.dumps({"text": TEXT}), headers=headers)
    assert answer.status_code == 415 and "Content-Type: application/json" in answer.json()["detail"]


@pytest.mark.parametrize("text", [r"A \ud800 lone [MASK].", r"\udfff cat", r"[MASK]\ud83d"])
def test_a_lone_surrogate_is_replaced(text: str, browser: httpx.Client) -> None:
    answer = browser.post("/tokenization", content=f'{{"text": "{text}", "pair": "{text}"}}', headers=JSON)
    assert answer.status_code == 200 and "\ufffd" in answer.json()["text"]
    wrong = browser.post("/tokenization", content=f'{{"text": "a", "{text}": 1}}', headers=JSON)
    assert wrong.status_code == 422 and "\ufffd" in wrong.json()["detail"]


def test_the_model_takes_its_bounds_from_the_setting(browser: httpx.Client) -> None:
    """A change of the setting's bounds then changes the model's."""
    top = next(s for s in option_specs(VIEWS["fill-mask"].analysis.Options) if s.name == "top")
    field = field_type(top).__metadata__[0]
    assert {(type(m).__name__, getattr(m, "ge", getattr(m, "le", None))) for m in field.metadata} == {
        ("Ge", top.option.low),
        ("Le", top.option.high),
    }


def test_a_rejected_run_leaves_no_files(served: Any, browser: httpx.Client) -> None:
    def folders() -> list[str]:
        """All that lies there, but for the rows of previews, which stay for a day."""
        return sorted(path.name for path in served.service.jobs.folder.iterdir() if path.name != ".prepared")

    before = folders()
    rows = [{"text": "a", "label": "b"}]
    for sent, message in [
        ({"task": "nonsense"}, "wanted 'task' to be one of"),
        ({"task": "classification", "settings": {"epochs": 0}}, "settings.epochs: got 0; wanted 0.01 or more."),
        ({"task": "classification", "settings": {"beams": 2}}, "settings.beams: not a field here"),
        ({"task": "classification", "checkpoint": "nowhere"}, "not on this disk"),
        ({"task": "classification", "checkpoint": "run:" + "a" * 32}, "not on this disk"),
        ({"task": "classification", "seeds": 11}, "seeds: got 11; wanted 10 or less."),
        ({"task": "classification", "rows": "a,b"}, 'rows: got "a,b"; wanted a list.'),
        ({"task": "classification", "rows": [1]}, "rows.0: got 1; wanted an object."),
        ({"task": "classification", "rows": []}, "rows"),
        ({"task": "classification", "rows": rows}, "row"),
        ({"task": "classification", "mapping": {"text": "a"}}, "mapping: got columns; wanted rows"),
        ({"task": "distillation"}, "A teacher with the labels"),
    ]:
        answer = browser.post("/runs", json=sent)
        assert answer.status_code == 422 and message in answer.json()["detail"], answer.text
        assert "classification." not in answer.json()["detail"], "a field has the name that it has in the request"
    assert browser.get("/runs").json() == []
    assert folders() == before
