"""Sharing: a run has one key, however often and by however many it is shared at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.sharing import MAX_POINTS, SharedRuns, finite, thinned


def test_many_presses_make_one_link_and_one_ends_it(tmp_path: Path) -> None:
    shared = SharedRuns(tmp_path / "shared")
    with ThreadPoolExecutor(16) as threads:
        keys = set(threads.map(lambda _: shared.share("run-1"), range(200)))
    assert len(keys) == 1 and len(list(shared.folder.iterdir())) == 1
    (key,) = keys
    assert shared.run_of(key) == "run-1" and shared.key_of("run-1") == key and shared.share("run-2") != key
    shared.end("run-1")
    shared.end("run-1")
    assert shared.key_of("run-1") == ""
    with pytest.raises(ExplorerError, match="This run is not shared"):
        shared.run_of(key)
    assert shared.share("run-1") != key, "an old link stays closed"


@pytest.mark.parametrize("key", ["", "run-2", "../shared/run-2", "0" * 16])
def test_only_a_key_opens_a_run(tmp_path: Path, key: str) -> None:
    shared = SharedRuns(tmp_path)
    shared.share("run-2")
    with pytest.raises(ExplorerError, match="This run is not shared"):
        shared.run_of(key)


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    points = [(i / 10, float(i)) for i in range(4001)]
    drawn = thinned(points)
    assert len(drawn) <= MAX_POINTS and drawn[-1] == points[-1] and thinned(points[:5]) == points[:5]
    assert finite([(0.0, float("nan")), (1.0, float("inf")), (2.0, 3.0)]) == [(2.0, 3.0)]
