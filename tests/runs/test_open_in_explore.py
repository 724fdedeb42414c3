"""A finished run opens in Explore on a fitting view, with a row of its own data."""

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from bertexplorer.core.ask import Answerer, opening
from bertexplorer.core.link import restore_state
from bertexplorer.runs import report
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.service import RunDetail, example_of
from bertexplorer.settings import ASSETS, Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.store.trained import SavedCheckpoint
from bertexplorer.training.checkpointing import commit
from bertexplorer.training.tasks import BY_NAME

ID = "0" * 32


def addresses(detail: RunDetail) -> list[dict[str, str]]:
    """The query of each link."""
    return [dict(parse_qsl(link["href"].removeprefix("./?"))) for link in report.links(detail)]


def query(task: str, **row: Any) -> dict[str, str]:
    detail = RunDetail(Run(ID, folder=Path(), spec={"task": task}), [], {}, Path(), row)
    fields = report.explore_query(detail)
    assert addresses(detail)[0] == fields
    assert fields.pop("checkpoint") == f"run:{ID}"
    return fields


def test_a_row_of_the_data_is_the_text() -> None:
    assert query("classification", text="so & so [SEP]") == {"view": "answer", "text": "so & so [SEP]"}
    assert query("pair-classification", text="a [SEP] b") == {"view": "answer", "text": "a", "pair": "b"}
    assert query("tagging", text="Ada met him.") == {"view": "answer", "text": "Ada met him."}
    fields = query("question-answering", question="who?", context="<it>")
    assert fields == {"view": "answer", "text": "who?", "pair": "<it>"}
    assert query("similarity", text_a="a", text_b="b") == {"view": "answer", "text": "a", "pair": "b"}
    assert query("retrieval", query="a", gold="b") == {"view": "answer", "text": "a", "pair": "b"}


@pytest.mark.parametrize("task", BY_NAME)
def test_without_a_row_there_is_an_example_sentence(task: str) -> None:
    pair = {"pair": report.OTHER} if task in ("similarity", "retrieval", "reranking") else {}
    view = "attention" if task in ("adaptation", "next-word", "sequence", "summary") else "answer"
    assert query(task) == {"view": view, "text": "The film was a joy.", **pair}


def test_the_example_is_the_first_short_prediction(tmp_path: Path) -> None:
    assert example_of(None) == example_of(tmp_path) == {}
    rows = [{"text": "x" * 3000}, {"text": "short"}, {"text": "also short"}]
    (tmp_path / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert example_of(tmp_path) == rows[1]
    (tmp_path / "predictions.jsonl").write_text(json.dumps(rows[0]) + "\n")
    assert example_of(tmp_path) == {}


def test_the_last_answer_is_compared_with_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"run:{ID}@0", f"run:{ID}@12", f"run:{ID}@24", f"run:{ID}"]
    monkeypatch.setattr(report, "list_checkpoints", lambda _: [SavedCheckpoint(name, name, Path()) for name in names])
    run = Run(ID, folder=Path(), spec={"task": "classification"})
    detail = RunDetail(run, [], {}, Path(), {"text": "A joy."})
    then = {"against": "another checkpoint", "versus": f"run:{ID}"}
    earlier = {"view": "answer", "text": "A joy.", "checkpoint": f"run:{ID}@12", **then}
    before = {"view": "attention", "text": "A joy.", "checkpoint": f"run:{ID}@0", **then}
    assert earlier in addresses(detail) and before in addresses(detail)
    names[1:3] = []
    assert earlier not in addresses(detail) and before in addresses(detail)
    del names[0]  # the checkpoint that it started from is no longer on this disk
    assert before not in addresses(detail)


def test_changes_run_from_before_training_to_after(tmp_path: Path) -> None:
    """The link's left side is the start of the run, and its changes lead from there to the end."""
    settings, folder = Settings(data_dir=tmp_path), tmp_path / "runs" / ID
    start, end = (ASSETS / "checkpoints" / "tiny" / f"step-{step}" for step in ("000000000", "000002927"))
    best = commit(folder / "best", "step-24", lambda into: shutil.copytree(end, into, dirs_exist_ok=True))
    spec = {"task": "classification", "folder": str(start)}
    (folder / "spec.json").write_text(json.dumps(spec))
    detail = RunDetail(Run(ID, folder=folder, spec=spec), [], {}, best, {})
    (link,) = [found for found in addresses(detail) if found["view"] == "attention"]
    answerer = Answerer(CheckpointRegistry(settings))
    query = link | {"layer": "1", "head": "1"}
    state, notice = restore_state(answerer, query, opening(settings))
    answer = answerer.answer(state)
    assert not notice and answer.title.endswith("before") and answer.comparison is not None
    assert answer.comparison.name.endswith("best")
