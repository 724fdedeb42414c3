"""A data set of the hub: names, streams, and errors. A local folder replaces the hub."""

from collections.abc import Iterator
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
    assert hub.fetch_dataset("films", max_rows=2).summary == "2 rows of train of films, from the hub."


def test_a_visitor_does_not_use_the_token_of_the_operator(reachable: list[tuple[Any, ...]]) -> None:
    hub.fetch_dataset("someone/films", as_operator=False)
    assert reachable[0][-1]["token"] is False


@pytest.mark.parametrize("name", ["", "a/b/c", "../etc", EVIL, "a b", "a:b:c", "x" * 300, "assets", "tests/ui"])
def test_an_invalid_name_sends_no_request(name: str, reachable: list[tuple[Any, ...]]) -> None:
    with pytest.raises(ExplorerError, match="is not a data set; wanted NAME"):
        hub.fetch_dataset(name)
    assert not reachable


def test_a_missing_split_is_reported(reachable: list[tuple[Any, ...]]) -> None:
    with pytest.raises(ExplorerError, match="Available splits"):
        hub.fetch_dataset("someone/films@nowhere")


def test_a_missing_network_is_reported_immediately() -> None:
    with pytest.raises(ExplorerError, match="cannot be fetched"):
        hub.fetch_dataset("someone/films")
