"""Suites as runs over HTTP: queueing, ownership, and the cases of a finished suite."""

import csv
import json
import pickle
import re
from collections.abc import Iterator

import httpx
import pytest

from bertexplorer.runs import analysis, suite as suite_run
from tests.api.conftest import Served

ROWS = "good,bad\n" + "".join(f"The {n} cats sleep.,The {n} cats sleeps.\n" for n in range(2, 12))


@pytest.fixture
def other(served: Served) -> Iterator[httpx.Client]:
    with served.browser() as browser:
        browser.get("/page")
        yield browser


def test_a_suite_is_queued_scored_and_downloaded(served: Served, browser: httpx.Client, other: httpx.Client) -> None:
    key = browser.post("/rows", files={"file": ("pairs.csv", ROWS)}).json()["rows"]
    answer = browser.post("/suites", json={"rows": key, "name": "cats"})
    assert answer.status_code == 202, answer.text
    run = answer.json()
    assert (run["name"], run["kind"], run["state"]) == ("cats", "suite", "queued")
    cases = f"/suites/{run['id']}/cases"
    score = cases.replace("cases", "summary")
    for part in (cases, cases.replace("cases", "table"), score):
        early = browser.get(part)
        assert early.status_code == 404 and "run has not finished" in early.json()["detail"]
    list(suite_run.score(served.service.jobs.folder / run["id"]))
    assert len(browser.get(cases).text.splitlines()) == 11
    assert other.get(cases).status_code == other.get(score).status_code == 404
    (total,) = csv.DictReader(browser.get(score).text.splitlines())
    assert total["category"] == "all" and total["cases"] == "10" and float(total["low"]) <= float(total["right"])
    (served.service.jobs.folder / run["id"] / "suite" / "summary.csv").unlink()
    assert "An earlier version scored the run without summary.csv" in browser.get(score).json()["detail"]
    table = cases.replace("cases", "table")
    listed = browser.get(table, params={"order": "lowest", "count": 3}).json()
    scores = [row["score"] for row in listed["rows"]]
    assert (listed["total"], listed["found"], len(scores)) == (10, 10, 3) and scores == sorted(scores)
    assert browser.get(table, params={"count": 1001}).status_code == 422 and other.get(table).status_code == 404
    assert "/" not in json.dumps(run["spec"])


def test_two_runs_of_the_same_rows_are_compared(served: Served, browser: httpx.Client, other: httpx.Client) -> None:
    about = {"suite": "agreement"}
    ids = [
        browser.post("/suites", json={**about, "name": name, "checkpoint": name}).json()["id"]
        for name in ("tiny", "tiny@0")
    ]
    table = f"/suites/{ids[0]}/table"
    list(suite_run.score(served.service.jobs.folder / ids[0]))
    early = browser.get(table, params={"beside": ids[1]})
    assert early.status_code == 404 and "tiny@0 is not a finished suite" in early.json()["detail"]
    assert browser.get(table).json()["comparable"] == []
    list(suite_run.score(served.service.jobs.folder / ids[1]))
    alone, theirs = (browser.get(f"/suites/{id}/table").json() for id in ids)
    assert {"id": ids[1], "name": "tiny@0"} in alone["comparable"]
    both = browser.get(table, params={"beside": ids[1]}).json()
    assert both["sides"] == ["tiny@0"] and "On the same 130 cases the difference is" in both["said"]
    assert len(theirs["rows"]) == 25
    right = [row["right"] for row in theirs["rows"]]
    assert [row["others"][0]["right"] for row in both["rows"]] == right
    differ = browser.get(table, params={"beside": ids[1], "which": "differ", "count": 130}).json()
    assert 0 < differ["found"] == sum(row["right"] != row["others"][0]["right"] for row in differ["rows"]) < 130
    assert browser.get(table, params={"which": "differ"}).json()["found"] == 0
    assert other.get(table, params={"beside": ids[1]}).status_code == 404
    key = browser.post("/rows", files={"file": ("pairs.csv", ROWS)}).json()["rows"]
    small = browser.post("/suites", json={"rows": key, "checkpoint": "tiny"}).json()["id"]
    list(suite_run.score(served.service.jobs.folder / small))
    refused = browser.get(table, params={"beside": small})
    assert refused.status_code == 404 and "scored other rows" in refused.json()["detail"]


def test_a_run_of_a_built_in_suite_has_all_its_rows(served: Served, browser: httpx.Client) -> None:
    run = browser.post("/suites", json={"suite": "agreement"}).json()
    stored = (served.service.jobs.folder / run["id"] / "data" / "rows.jsonl").read_text("utf-8").splitlines()
    assert run["name"].startswith("Suite, agreement") and len(stored) == 130


MANY = "".join(f"The {n} old cats sleep here.,The {n} old cats sleeps here.\n" for n in range(25_000))
UPLOADS = {  # file name -> (content, excerpts of the notice)
    "accents.csv": ("\ufeffgood,bad\nThe cafés are full.,The cafés is full.\n".encode(), "1 row"),
    "escapes.jsonl": (b'{"good": "The caf\\u00e9s are full.", "bad": "The caf\\u00e9s is full."}\n', "1 row"),
    "large.csv": (f"good,bad\n{MANY}".encode(), "25,000 rows"),
    "wide.csv": (f"{ROWS}{'a ' * 5_000_000},short\n".encode(), "line 12 a cell of more than 131,072 characters"),
}


@pytest.mark.parametrize("name", UPLOADS)
def test_a_file_of_any_encoding_and_size_is_stored(browser: httpx.Client, name: str) -> None:
    """A route for files must not require JSON, nor have the size limit of a text."""
    content, notice = UPLOADS[name]
    answer = browser.post("/rows", files={"file": (name, content)})
    assert answer.status_code == 200, answer.text
    assert notice in answer.json()["notice"]


def test_a_pickle_is_refused_and_the_columns_of_a_table_are_named(browser: httpx.Client) -> None:
    content = pickle.dumps({"sing": [("the cat sleeps", "the cat sleep")] * 3})
    answer = browser.post("/rows", files={"file": ("syneval.pickle", content)})
    assert answer.status_code == 422 and "good, bad and category" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "message"),
    [({"rows": "0" * 24}, "no uploaded rows"), ({"checkpoint": "no/where"}, "no/where"), ({"suite": "x"}, "suite")],
)
def test_unusable_suites_are_rejected(browser: httpx.Client, body: dict[str, str], message: str) -> None:
    answer = browser.post("/suites", json=body)
    assert answer.status_code == 422 and message in answer.json()["detail"]


LABELLED = "text_a,text_b,label\n" + "".join(
    f"The {n} cats sleep.,The {n + n % 2} cats sleep.,{1 - n % 2}\n" for n in range(9)
)


def test_a_view_of_rows_is_computed_as_a_run(served: Served, browser: httpx.Client, other: httpx.Client) -> None:
    key = browser.post("/rows", files={"file": ("pairs.csv", LABELLED)}).json()["rows"]
    request = {"view": "threshold", "options": {"rows": key, "pooling": "CLS"}, "checkpoint": "tiny"}
    answer = browser.post("/suites/view", json=request)
    assert answer.status_code == 202, answer.text
    run = answer.json()
    assert (run["name"], run["kind"], run["spec"]["options"]["pooling"]) == ("Threshold, tiny", "suite", "CLS")
    assert "rows" not in run["spec"]["options"]
    list(analysis.compute(served.service.jobs.folder / run["id"]))
    listed = browser.get(f"/suites/{run['id']}/table").json()
    assert listed["title"] == "Pairs on the wrong side" and listed["comparable"] == []
    (threshold, *_) = csv.DictReader(browser.get(f"/suites/{run['id']}/summary").text.splitlines())
    assert threshold["metric"] == "threshold" and float(threshold["value"]) <= 1
    assert other.get(f"/suites/{run['id']}/table").status_code == 404
    assert "Of 9 pairs, 5 match" in suite_run.result(served.service.jobs.folder / run["id"])[1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"view": "threshold"}, "no uploaded rows"),
        ({"view": "threshold", "options": {"rows": "0" * 24}}, "no uploaded rows .* here"),
        ({"view": "nothing"}, "no view 'nothing'"),
        ({"view": "threshold", "options": {"size": 1}}, "size"),
    ],
)
def test_a_view_that_cannot_run_is_rejected(browser: httpx.Client, body: dict[str, object], message: str) -> None:
    answer = browser.post("/suites/view", json=body)
    assert answer.status_code == 422 and re.search(message, answer.json()["detail"]), answer.text


def test_a_view_without_a_table_of_cases_is_rejected(browser: httpx.Client) -> None:
    key = browser.post("/rows", files={"file": ("pairs.csv", ROWS)}).json()["rows"]
    answer = browser.post("/suites/view", json={"view": "probe", "options": {"rows": key}, "checkpoint": "tiny"})
    assert answer.status_code == 422 and "cannot be computed as a run" in answer.json()["detail"]
