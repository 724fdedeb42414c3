"""A finished run opens in Explore on a fitting view, with a row of its own data."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from bertexplorer.store.runs import Run, SavedCheckpoint
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.ui.training import html
from bertexplorer.ui.training.run_service import RunDetail, example_of

ID = "0" * 32


def query(task: str, **row: Any) -> dict[str, str]:
    detail = RunDetail(Run(ID, folder=Path(), spec={"task": task}), [], {}, Path(), row)
    fields = dict(parse_qsl(html.explore_query(detail)))
    assert fields.pop("checkpoint") == f"run:{ID}"
    assert html.explore_query(detail).replace("&", "&amp;") in html.headline(detail)
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
    pair = {"pair": html.OTHER} if task in ("similarity", "retrieval", "reranking") else {}
    view = "answer" if task in html.ANSWERED else "attention"
    assert query(task) == {"view": view, "text": "The film was a joy.", **pair}
    assert set(html.ANSWERED) <= set(BY_NAME)


def test_the_example_is_the_first_short_prediction(tmp_path: Path) -> None:
    assert example_of(None) == example_of(tmp_path) == {}
    rows = [{"text": "x" * 3000}, {"text": "short"}, {"text": "also short"}]
    (tmp_path / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert example_of(tmp_path) == rows[1]
    (tmp_path / "predictions.jsonl").write_text(json.dumps(rows[0]) + "\n")
    assert example_of(tmp_path) == {}


def test_the_last_answer_is_compared_with_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"run:{ID}@0", f"run:{ID}@12", f"run:{ID}@24", f"run:{ID}"]
    monkeypatch.setattr(html, "list_checkpoints", lambda _: [SavedCheckpoint(name, name, Path()) for name in names])
    run = Run(ID, folder=Path(), spec={"task": "classification"})
    detail = RunDetail(run, [], {}, Path(), {"text": "A joy."})
    assert f"view=answer&amp;text=A+joy.&amp;checkpoint=run:{ID}&amp;against=another+checkpoint" in html.headline(
        detail
    )
    assert f"versus=run:{ID}@12" in html.headline(detail)
    names[1:3] = []
    assert "earlier step" not in html.headline(detail) and f"versus=run:{ID}@0" in html.headline(detail)
