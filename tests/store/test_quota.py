"""The disk space that one owner may use."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.jobs import Jobs
from bertexplorer.settings import Settings
from bertexplorer.store.text_uploads import TextUploads
from bertexplorer.store.uploads import Quota

ME, YOU = "a" * 32, "b" * 32


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    table = Jobs(tmp_path / "runs")
    yield table
    table.close()


def run_of(jobs: Jobs, owner: str, bytes: int) -> str:
    id = jobs.accept(owner, "n", {}, fill=lambda folder: (folder / "data").write_bytes(b"x" * bytes) and None).id
    jobs.stop(id, owner)
    return id


def test_all_files_of_an_owner_count_and_deleting_runs_frees_space(jobs: Jobs, tmp_path: Path) -> None:
    quota = Quota(Settings(data_dir=tmp_path, quota_mb=1), jobs)
    run_of(jobs, YOU, 3_000_000)
    run_of(jobs, "", 3_000_000)
    quota.check(ME)
    first, second = run_of(jobs, ME, 700_000), run_of(jobs, ME, 700_000)
    with pytest.raises(ExplorerError, match="0.00 GB of the 0.00 GB.*delete runs"):
        quota.check(ME)
    jobs.delete(first, ME)
    quota.check(ME)
    with pytest.raises(ExplorerError, match="no run"):
        jobs.run(first, ME)
    assert jobs.run(second, ME).state == "stopped" and jobs.runs(YOU)
    TextUploads(tmp_path / "lines").save(b"a line\n" * 9_000, "a.txt", ME)
    assert 800_000 < quota.used_bytes(ME) < 1_500_000
    with pytest.raises(ExplorerError):
        quota.check(ME, 900_000)


def test_a_local_server_has_no_quota_by_default() -> None:
    assert Settings().quota == 0 and Settings(host="0.0.0.0").quota == 2_000_000_000
    assert Settings(quota_mb=5).quota == 5_000_000 and replace(Settings(host="0.0.0.0"), quota_mb=0).quota == 0
    assert Settings.from_env({"BERTEXPLORER_QUOTA_MB": "7"}).quota == 7_000_000


def test_runs_without_an_owner_belong_to_everyone_only_on_this_machine(tmp_path: Path, jobs: Jobs) -> None:
    before, mine = run_of(jobs, "", 1), run_of(jobs, ME, 1)
    assert jobs.ids(ME) == {before, mine} and jobs.ids(YOU) == {before} == jobs.ids("")
    retried = jobs.retry(before, ME)
    assert retried.owner == ME and retried.id not in jobs.ids(YOU)
    jobs.close()
    others = Jobs(tmp_path / "runs", shared=False)
    assert others.ids(YOU) == set() and {run.id for run in others.runs(ME)} == {mine, retried.id}
    with pytest.raises(ExplorerError, match="no run"):
        others.run(before, YOU)
    assert len(others.runs(None)) == 3, "the operator sees all"
    others.close()


def test_each_owner_has_another_key_for_the_same_file(tmp_path: Path) -> None:
    store = TextUploads(tmp_path)
    keys = {store.save(b"one\ntwo\n", "a.txt", owner)[0] for owner in ("", ME, YOU)}
    assert len(keys) == 3 and {store.load(key).lines for key in keys} == {store.load(min(keys)).lines}
    with pytest.raises(ExplorerError):
        store.save(b"one\n", "a.txt", "../x")
    for i in range(40):
        store.save(b"line %d\n" % i, "a.txt", YOU)
    assert sum((tmp_path / f"{ME}/{key}.json").is_file() for key in keys) == 1, "another's uploads push nothing out"
