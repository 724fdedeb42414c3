"""Every analysis gives the same answer over HTTP as in Python; one that cannot answer says why."""

import json
import shutil
from dataclasses import asdict
from typing import Any

import httpx
import pytest

from bertexplorer.api.models import example
from bertexplorer.core.ask import VIEWS
from bertexplorer.core.export import provenance, tables
from bertexplorer.errors import ExplorerError
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.text import Span, Text
from bertexplorer.options import build
from tests.tolerance import of_encoder

SENTENCE = "The doctor said that she is a good [MASK] of the bank."
TUNED = "bert-SequenceClassification"
TEXTS = {  # where the first example is too long for a checkpoint of 64 positions
    "answer": {"text": "The film is great.", "checkpoint": TUNED},
    "error-analysis": {"checkpoint": TUNED, "labels": "positive=good, negative=bad", "most": 40},
    "bertviz": {"text": SENTENCE, "special": "left out"},
    "head-roles": {"text": SENTENCE, "on": "this text"},
    "masking": {"text": SENTENCE},
    "query-key": {"text": SENTENCE, "layer": 2},
    "referee": {"text": SENTENCE, "orders": 3, "points": 4},
    "saliency": {"text": SENTENCE, "method": "gradient x input"},
    "search": {"text": "A quiet river", "top": 3},
    "sentence-matrix": {"text": "Paris is good. London is great. The cat sat."},
    "sentence-pairs": {"text": "Paris is good. London is great. The cat sat."},
    "suite": {"suite": "agreement", "most": 20},
    "switchboard": {"text": SENTENCE, "controls": 2},
}
FIELDS = ("text", "pair", "picked", "checkpoint")


def asked(view: str) -> dict[str, Any]:
    return TEXTS.get(view) or example(VIEWS[view])


def called(served: Any, view: str) -> dict[str, Any]:
    """The same without HTTP."""
    given, asked_of = asked(view), VIEWS[view]
    checkpoint = served.library.get(given.get("checkpoint", "little"))
    picked = tuple(Span(**span) for span in given.get("picked", ()))
    text = Text(given.get("text", ""), given.get("pair", ""), picked=picked)
    options = build(asked_of.analysis.Options, {name: value for name, value in given.items() if name not in FIELDS})
    more = {"index": served.answerer.index} if "index" in asked_of.needs else {}
    result = asked_of.analysis.run(checkpoint, text, options=options, **more)
    message = {"options": asdict(options), "provenance": provenance(checkpoint)}
    message |= tables(asked_of, result)
    return {**message, "rows": asked_of.analysis.rows(result), "said": asked_of.figure.say(result)}


@pytest.mark.parametrize("view", VIEWS)
def test_the_answer_equals_that_of_the_analysis(view: str, served: Any, browser: httpx.Client, tiny: Any) -> None:
    if asked(view).get("checkpoint") == TUNED:
        shutil.copytree(tiny(TUNED), served.settings.models_dir / TUNED, dirs_exist_ok=True)
    answer = browser.post(f"/{view}", json=asked(view), params={"figure": "plotly"})
    try:
        wanted = called(served, view)
    except ExplorerError as error:
        assert (answer.status_code, answer.json()["detail"]) == (422, error.render("http"))
        pytest.fail(f"the question teaches nothing: {error}")
    assert answer.status_code == 200, answer.text
    result = answer.json()
    assert (result.pop("analysis"), result.pop("text")) == (view, asked(view).get("text", ""))
    drawn = result.pop("document") if view == "bertviz" else result.pop("figure")["data"]
    assert len(drawn) > 0 and result.pop("hidden") == []
    rows, config = wanted.pop("rows"), served.library.get("little").config
    assert {name: result[name] for name in wanted} == wanted and wanted["said"]
    assert rows and len(result["rows"]) == len(rows)
    for one, other in zip(result["rows"], rows, strict=True):
        assert [*one] == [*other] and all(alike(config, one[name], other[name]) for name in one), (one, other)


def alike(config: EncoderConfig, found: Any, wanted: Any) -> bool:
    """Equal except for rounding, as simultaneous questions share a batch."""
    if not isinstance(wanted, float):
        return bool(found == json.loads(json.dumps(wanted)))
    return abs(found - wanted) <= of_encoder(config, wanted)


def test_a_hidden_word_counts_as_a_mask(browser: httpx.Client) -> None:
    mask = browser.post("/fill-mask", json={"text": "Paris is the [MASK] of France.", "top": 3}).json()
    text, hidden = "Paris is the capital of France.", [{"side": 0, "start": 13, "end": 20}]
    word = browser.post("/fill-mask", json={"text": text, "hidden": hidden, "top": 3}).json()
    assert word["hidden"] == hidden and word["said"]
    answers = [row["token"] for row in word["rows"] if row["kind"] == "answer"]
    assert answers == [row["token"] for row in mask["rows"] if row["kind"] == "answer"] and len(answers) == 3


def test_a_figure_is_sent_only_on_request(browser: httpx.Client) -> None:
    body = {"text": "Paris is the [MASK] of France."}
    assert "figure" not in browser.post("/fill-mask", json=body).json()
    marks = browser.post("/fill-mask?figure=marks", json=body).json()["figure"]
    assert marks["marks"] == 1 and marks["panels"][0]["marks"][0]["bars"][0]["label"] == "they"
    wrong = browser.post("/fill-mask?figure=png", json=body)
    assert wrong.status_code == 422
    assert wrong.json()["detail"] == "query.figure: got \"png\"; wanted 'plotly' or 'marks'."


@pytest.mark.parametrize(("view", "kind"), [("forward-pass", "picture"), ("bertviz", "document")])
def test_what_has_no_marks_is_one_mark(browser: httpx.Client, view: str, kind: str) -> None:
    answer = browser.post(f"/{view}", json=asked(view), params={"figure": "marks"}).json()
    assert answer["figure"]["panels"][0]["marks"][0]["kind"] == kind


def test_a_missing_mask_or_pair_is_reported_without_advice_about_the_page(browser: httpx.Client) -> None:
    mask, pair = (browser.post(f"/{view}", json={"text": "Paris."}) for view in ("fill-mask", "next-sentence"))
    assert (mask.status_code, mask.json()["missing"], pair.json()["missing"]) == (422, "mask", "pair")
    for answer in (mask, pair):
        assert "click" not in answer.json()["detail"] and "ress “" not in answer.json()["detail"]


def test_progress_precedes_the_answer_if_lines_are_accepted(browser: httpx.Client) -> None:
    message = {"accept": "application/x-ndjson"}
    body = {"text": SENTENCE, "method": "LIME", "samples": 1000}
    with browser.stream("POST", "/saliency", json=body, headers=message) as answer:
        lines = [json.loads(line) for line in answer.iter_lines()]
    last = lines[-1].get("answer", lines[-1])
    assert last["analysis"] == "saliency" and last["rows"]
