"""A run in one line."""

import pytest

from bertexplorer.api.run_models import status
from bertexplorer.runs.run_folder import Run


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (Run("a" * 32, state="queued"), "queued"),
        (Run("a" * 32, state="running", progress=0.25, seconds_left=90.0), "running 25 %, about 2 min left"),
        (Run("a" * 32, state="running", progress=0.999), "running 99 %"),
        (Run("a" * 32, state="running", progress=1.0), "running, all steps are done; testing and saving"),
        (Run("a" * 32, state="failed", message="the disk is full"), "failed: the disk is full"),
        (Run("a" * 32, state="finished", progress=1.0, message="finished"), "finished"),
    ],
)
def test_the_state_of_a_run(run: Run, words: str) -> None:
    assert status(run) == words
