"""A data set of the hub: names, streams, and errors. A local folder replaces the hub."""

from collections.abc import Callable, Iterator
from typing import Any

import datasets
import pytest
from huggingface_hub import HfApi

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import hub

EVIL = "\ud800</script>"


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, ...]]]:
    """A reachable hub with one data set; returns the requests that it receives."""
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"]),
                                  "picture": {"bytes": datasets.Value("binary")}})  # fmt: skip
    rows = {"text": ["good", "bad", "long " * 3000, None], "label": [1, 0, 1, -1], "picture": [{"bytes": b"x"}] * 4}
    rows_of_hub = datasets.Dataset.from_dict(rows, features=features).to_iterable_dataset()
    requests: list[tuple[Any, ...]] = []

    def load(*names: Any, **more: Any) -> Any:
        requests.append((*names, more))
        if more["split"] == "nowhere":
            raise ValueError('Bad split: nowhere. Available splits: ["train"]')
        return rows_of_hub

    monkeypatch.setattr(HfApi, "dataset_info", lambda *_, **__: None)
    monkeypatch.setattr(datasets, "load_dataset", load)
    yield requests


def test_rows_equal_those_of_a_file(reachable: list[tuple[Any, ...]]) -> None:
    table = hub.fetch_dataset("someone/films:small@test")
    assert reachable == [("someone/films", "small", {"split": "test", "streaming": True, "token": None})]
    assert [row.cells for row in table.rows] == [
        {"text": "good", "label": "pos"},
        {"text": "bad", "label": "neg"},
        {"text": "", "label": ""},
    ]
    (problem,) = table.problems
    assert (problem.line, table.rows[2].line) == (3, 4) and "15,000 characters" in problem.what
    assert table.summary == "4 rows of test of someone/films, small, from the hub."


def test_rows_beyond_the_limit_are_announced(reachable: list[tuple[Any, ...]]) -> None:
    first = hub.fetch_dataset("films", max_rows=2)
    assert first.summary == "The first 2 rows of train of films, from the hub." and len(first.rows) == 2
    assert hub.fetch_dataset("films", max_rows=4).summary == "4 rows of train of films, from the hub."


@pytest.mark.parametrize("many", [datasets.List, datasets.Sequence, datasets.LargeList])
def test_classes_in_a_list_are_read_by_their_names(many: Callable[..., Any]) -> None:
    tag = datasets.ClassLabel(names=["O", "B-PER"])
    features = datasets.Features({"words": many(datasets.Value("string")), "tags": many(tag), "spans": many(many(tag))})
    rows = {"words": [["Ada", "came"]], "tags": [[1, 0]], "spans": [[[1], [0, -1]]]}
    stream = datasets.Dataset.from_dict(rows, features=features).to_iterable_dataset()
    (row,), *_ = hub.read_rows(stream, 10)
    assert row.cells == {"words": ["Ada", "came"], "tags": ["B-PER", "O"], "spans": [["B-PER"], ["O", ""]]}


def test_a_visitor_does_not_use_the_token_of_the_operator(reachable: list[tuple[Any, ...]]) -> None:
    hub.fetch_dataset("someone/films", as_operator=False)
    assert reachable[0][-1]["token"] is False
    with pytest.raises(ExplorerError, match="Available splits"):
        hub.fetch_dataset("someone/films@nowhere")


@pytest.mark.parametrize("name", ["", "a/b/c", "../etc", EVIL, "a b", "a:b:c", "x" * 300, "assets", "tests/web"])
def test_an_invalid_name_sends_no_request(name: str, reachable: list[tuple[Any, ...]]) -> None:
    with pytest.raises(ExplorerError, match="is not a data set; wanted NAME"):
        hub.fetch_dataset(name)
    assert not reachable


def test_a_missing_network_is_reported_immediately() -> None:
    with pytest.raises(ExplorerError, match="cannot be fetched"):
        hub.fetch_dataset("someone/films")
