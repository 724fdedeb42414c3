"""Rows that are hard to score: each is counted and named by its line, and the others have their numbers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bertexplorer.analysis import suite
from bertexplorer.analysis.suite import Options
from bertexplorer.model.checkpoint import Checkpoint
from tests.analysis.tuned import tuned


def run(checkpoint: Checkpoint, given: list[dict], **options) -> suite.Suite:
    return suite.run(checkpoint, options=Options(**options), rows=list(enumerate(given, 2)))


@pytest.mark.parametrize("text", ["word " * 600, "x" * 30_000, "\x01\x02"], ids=["tokens", "characters", "controls"])
def test_a_labelled_row_that_cannot_be_encoded_is_named(tiny: Callable[[str], Path], text: str) -> None:
    checkpoint = tuned(tiny, "label").ours
    label = checkpoint.labels[0]
    result = run(checkpoint, [{"text": text, "label": label}, {"text": "a film", "label": label}])
    assert [one.case.line for one in result.outcomes] == [3] and [one.line for one in result.unusable] == [2]
