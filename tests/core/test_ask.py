"""Ask: every state gets an answer or an error message, and keeps the typed text."""

import csv
import io
import json
import shutil
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch

from bertexplorer.core import ask, provenance, strip
from bertexplorer.core.ask import DEFAULTS, VIEWS, Answerer
from bertexplorer.core.sizes import size_of
from bertexplorer.core.state import State
from bertexplorer.model.text import TOKENS, Span
from bertexplorer.settings import Settings
from bertexplorer.store import catalogue
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.checkpointing import commit
from bertexplorer.views.view import View
from tests.conftest import BUNDLED


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(CheckpointRegistry())


def state(view: str, text: str, **options) -> State:
    return State(text, view=view, options={**DEFAULTS[view], **options})


@pytest.mark.parametrize("view", ["fill-mask", "next-sentence", "attention", "saliency", "referee"])
def test_an_answer_encodes_its_text_and_draws_its_strip_once(view: str, answerer: Answerer, monkeypatch) -> None:
    encoded, drawn = [], []
    tokenizer = answerer.registry.get("mini", "auto").tokenizer
    encode, draw = tokenizer.encode_anew, strip.draw
    monkeypatch.setattr(tokenizer, "remembered", lru_cache(8)(lambda text: (encoded.append(text), encode(text))[1]))
    monkeypatch.setattr(strip, "draw", lambda *given, **more: (drawn.append(given), draw(*given, **more))[1])
    asked = replace(state(view, "A new cat [MASK] on the mat."), pair="It slept." if view == "next-sentence" else "")
    assert not answerer.answer(asked).error
    assert encoded.count(asked.as_text) == 1 and len(drawn) == 1


def test_an_export_does_not_compute_its_view_again(answerer: Answerer, monkeypatch) -> None:
    computed = []
    run = View.run
    monkeypatch.setattr(View, "run", lambda *given, **more: (computed.append(given[0].slug), run(*given, **more))[1])
    asked = replace(state("saliency", "A young cat [MASK] on the mat.", method="gradient x input"), precision="bf16")
    answer = answerer.answer(asked)
    table = list(csv.DictReader(io.StringIO(answerer.export(asked, "csv")[1])))
    assert computed == ["saliency"] and answerer.answer(asked).took_ms == answer.took_ms
    fresh = run(VIEWS["saliency"], answerer.registry.get("mini", "bf16"), asked.as_text, answerer.options(asked))
    assert [float(row["score"]) for row in table] == fresh.attributions[0].scores.tolist()
    answerer.export(replace(asked, options={**asked.options, "merge": False}), "json")
    answerer.answer(replace(asked, text="Another cat [MASK].")), answerer.answer(replace(asked, precision="fp32"))
    assert computed == ["saliency"] * 4
    for _ in range(2):  # the index of a search may have changed
        answerer.answer(state("search", "A cat."))
    assert computed[4:] == ["search"] * 2
    for text in ("A cat.", "A dog."):  # a view without a text has one answer
        answerer.answer(state("probe", text, task="length", seeds=1, most=40))
    assert computed[6:] == ["probe"]


def test_a_large_result_is_not_kept(answerer: Answerer, monkeypatch) -> None:
    monkeypatch.setattr(ask, "LARGEST_KEPT", 1000)
    asked = state("attention", "A cat that is looked at once.")
    answerer.analyse(answerer.registry.get("mini", "auto"), asked)
    cache = answerer.registry.get("mini", "auto").cache
    assert not any(key[:2] == ("result", "attention") and key[2] == asked.as_text for key in cache.entries)
    array = np.zeros((7, 9), np.float32)
    assert size_of(array) == 252 and size_of({"a": array}) > 252 and size_of([1.0] * 1000) > 8000
    assert size_of(array[0]) == 252 == size_of(torch.zeros(7, 9)[0].numpy()), "a part keeps the whole in memory"


def test_an_error_keeps_the_series_of_the_checkpoint(answerer: Answerer) -> None:
    early = catalogue.snapshots()[0].name
    answer = answerer.answer(replace(state("answer", "A cat."), checkpoint=early))
    assert "no fine-tuned head" in answer.error and len(answer.series) > 1


def test_a_filled_mask_moves_the_picked_words_behind_it(answerer: Answerer) -> None:
    text = "Paris is the [MASK] of France and I like it."
    picked = (Span(0, 0, 5), Span(0, text.index("France"), text.index(" and")), Span(TOKENS, 1, 2))
    filled = answerer.with_mask_filled(replace(state("attention", text), picked=picked), Span(0, 13, 19))
    assert filled.text == "Paris is the capital of France and I like it."
    assert [filled.text[span.start : span.end] for span in filled.picked] == ["Paris", "France"]


@pytest.mark.parametrize("against", ["random weights", "another checkpoint"])
def test_comparisons_and_exports_use_the_name_of_a_run(against: str, tmp_path: Path) -> None:
    run = tmp_path / "runs" / ("ab" * 16)
    commit(run / "best", "step-1", lambda into: shutil.copytree(BUNDLED, into, dirs_exist_ok=True))
    (run / "spec.json").write_text(json.dumps({"folder": str(BUNDLED), "name": "first"}))
    (run / "name").write_text("my films")
    answerer = Answerer(CheckpointRegistry(replace(Settings(), data_dir=tmp_path)))
    compared = replace(state("fill-mask", "The film was [MASK]."), checkpoint=f"run:{run.name}", against=against)
    compared = replace(compared, other=f"run:{run.name}@0" if against.startswith("another") else "")
    answer = answerer.answer(compared)
    assert not answer.error and answer.comparison
    theirs = "my films, before" if compared.other else "my films, best, random weights"
    assert (answer.title, answer.comparison.own_title, answer.comparison.name) == (
        "my films, best",
        "my films, best",
        theirs,
    )
    texts = [
        answer.comparison.difference.to_json(),
        provenance.answer_provenance(answer.checkpoint, 1.0, answer.title)["short"],
    ]
    assert "run:" not in "".join(texts) and "my films" in texts[0] and "my films" in texts[1]
    for kind in ("csv", "json", "python"):
        name, content = answerer.export(compared, kind)
        assert "my-films" in name and "my films, best" in content and run.name in content, "it can be opened again"


def test_an_invalid_setting_is_reported(answerer: Answerer) -> None:
    assert "wanted a whole number from 1 to 100" in answerer.answer(state("fill-mask", "[MASK]", top=0)).error


@pytest.mark.parametrize(
    ("against", "other"),
    [("another checkpoint", "no-such"), ("its training", ""), ("another text", "Nothing is hidden.")],
)
def test_exports_have_the_own_side_if_the_other_cannot_be_computed(
    answerer: Answerer, against: str, other: str
) -> None:
    alone = State("The capital of France is [MASK].")
    compared = replace(alone, against=against, other=other)
    answer = answerer.answer(compared)
    assert answer.figure and answer.comparison and answer.comparison.figure is None and answer.comparison.said
    for kind in ("csv", "json"):
        assert answerer.export(compared, kind) == answerer.export(alone, kind)
    program = answerer.export(compared, "python")[1]  # it runs nothing before it is saved
    assert program == answerer.export(alone, "python")[1] or (against == "another text" and other in program)


def test_the_texts_of_uploaded_rows_are_audited_as_lines(tmp_path: Path) -> None:
    answerer = Answerer(CheckpointRegistry(Settings(data_dir=tmp_path)))
    content = b"good,bad\nThe cat sleeps.,The cat sleep.\nThe dog barks.,The dog bark.\n"
    key, _ = answerer.save_upload(answerer.rows, content, "pairs.csv")
    answer = answerer.answer(state("audit", "", lines=key))
    assert "4 texts" in answer.said and not answer.error
    assert "pairs.csv" in answerer.export(state("audit", "", lines=key), "python")[1]
    assert "no uploaded lines" in answerer.answer(state("audit", "", lines="0" * 24)).error
