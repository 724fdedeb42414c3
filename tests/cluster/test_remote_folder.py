"""A folder on object storage is complete or absent, no matter who writes it and where writing is interrupted."""

import json
import random
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from bertexplorer.cluster.check import check_storage
from bertexplorer.cluster.remote_folder import RemoteFolder, StorageError
from bertexplorer.errors import ExplorerError
from bertexplorer.training.checkpointing import commit
from bertexplorer.training.ownership import Superseded
from tests.cluster.object_storage import Objects, contents, digest, remote, write

pytestmark = pytest.mark.usefixtures("objects")


@pytest.mark.parametrize("url", ["objects://runs/1", "memory://runs/1", "file://{}/store/1"])
def test_a_folder_arrives_unchanged(url: str, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    given = {
        "spec.json": "{}",
        "data/train.jsonl": "one\n",
        "commits/a/manifest.json": "",
        "commits/a/w": "1" * 2_000_000,
    }
    write(here, given | {"lock": "7", "trouble": "none", ".x.partial": "half", "commits/.b.partial/w": "half"})
    source = RemoteFolder(url.format(tmp_path))
    source.take_ownership()
    assert source.push(here, {}) and not source.push(here, {})
    assert RemoteFolder(url.format(tmp_path)).pull(there, inputs=True)
    assert contents(there) == {name: text.encode() for name, text in given.items()}
    source.delete()
    assert not RemoteFolder(url.format(tmp_path)).pull(tmp_path / "empty")


def test_only_the_node_receives_the_inputs(tmp_path: Path) -> None:
    front, node = tmp_path / "front", tmp_path / "node"
    write(tmp_path / "model", {"config.json": "{}", "deep/w": "2"})
    write(front, {"spec.json": "of the front"})
    server = remote()
    server.push(front, {"checkpoint": tmp_path / "model", "one": tmp_path / "model" / "config.json"})
    worker = remote()
    worker.pull(node, inputs=True)
    assert set(contents(node)) == {
        "spec.json", "inputs/checkpoint/config.json", "inputs/checkpoint/deep/w", "inputs/one",
    }  # fmt: skip
    write(node, {"spec.json": "of the node", "log.txt": "begun\n"})
    worker.push(node)
    server.pull(front)
    assert contents(front) == {"spec.json": b"of the front", "log.txt": b"begun\n"}
    later = remote(owner=False)
    later.pull(tmp_path / "later", inputs=True)
    assert contents(tmp_path / "later")["spec.json"] == b"of the front"


def test_only_changes_are_written_and_logs_in_few_parts(tmp_path: Path, objects: type[Objects]) -> None:
    here, there, source, sink = tmp_path / "here", tmp_path / "there", remote(), remote(owner=False)
    write(here, {"data/rows": "rows" * 1000})
    source.push(here)
    before = len(objects.written)
    lengths, most = 0, 0
    for number in range(200):
        with (here / "events.jsonl").open("a") as log:
            log.write(f'{{"event": "steps", "step": {number}}}\n')
        source.push(here)
        lengths += sum(size for _, size in source.state["events.jsonl"][-1:])
        most = max(most, len(source.state["events.jsonl"]))
        if number % 7 == 0:
            sink.pull(there)
            assert contents(there) == contents(here)
    assert len(objects.written) - before == 400, "a part and a state each time"
    assert most <= 9 and lengths < 10 * (here / "events.jsonl").stat().st_size
    named = {name for state in source.states for blobs in state.values() for name, _ in blobs}
    stored = {path.split("/blobs/")[1] for path in objects.store if "/blobs/" in path}
    assert stored == named and len(source.names("states")) == 2, "unneeded blobs and states are deleted"


def test_a_truncated_log_is_rewritten(tmp_path: Path) -> None:
    here, there, source, sink = tmp_path / "here", tmp_path / "there", remote(), remote(owner=False)
    for text in ("one\ntwo\nthree\n", "one\ntwo\nthree\nfour\n", "one\n", "other\n"):
        write(here, {"log.txt": text})
        source.push(here)
        sink.pull(there)
        assert contents(there) == {"log.txt": text.encode()}


def test_commits_that_the_run_deletes_are_deleted(tmp_path: Path) -> None:
    here, there, source, sink = tmp_path / "here", tmp_path / "there", remote(), remote(owner=False)
    write(there, {"name": "mine", "stop": "", "export.zip": "from the server"})
    for number in range(5):
        commit(here / "commits", f"step-{number}", lambda folder, n=number: write(folder, {"weights": str(n)}))
        source.push(here)
        sink.pull(there)
    assert sorted(path.name for path in (there / "commits").iterdir()) == ["step-3", "step-4"]
    assert {"name", "stop", "export.zip"} <= set(contents(there))


def test_an_interruption_at_any_write_leaves_a_complete_state(tmp_path: Path, objects: type[Objects]) -> None:
    """Interrupted at any write of ten commits, a reader gets the state of the last push or of the one before."""
    here = tmp_path / "here"

    def steps(source: RemoteFolder) -> Iterator[str]:
        shutil.rmtree(here, ignore_errors=True)
        for number in range(10):
            with_log = {"events.jsonl": "".join(f"event {n}\n" for n in range(number + 1)), "best.json": f"{number}"}
            write(here, with_log)
            commit(
                here / "commits", f"step-{number}", lambda folder, n=number: write(folder, {"w": f"{n}", "m": "same"})
            )
            yield digest(here)
            source.push(here)

    complete = list(steps(remote()))
    total = len(objects.written)
    for budget in range(1, total):
        objects.store, objects.pseudo_dirs, objects.writes_left = {}, [""], budget
        pushed: list[str] = []
        with pytest.raises(StorageError, match="no space"):
            for state in steps(remote()):
                pushed.append(state)
        there = tmp_path / f"there-{budget}"
        if RemoteFolder("objects://runs/1").pull(there):
            assert digest(there) in complete[max(0, len(pushed) - 2) : len(pushed)]
        else:
            assert len(pushed) <= 1
    assert total > 40


def test_a_superseded_writer_changes_nothing(tmp_path: Path) -> None:
    old, new = remote(), None
    write(tmp_path / "old", {"log.txt": "begun\n"})
    old.push(tmp_path / "old")
    new = remote()
    new.pull(tmp_path / "new")
    new.push(tmp_path / "new")
    write(tmp_path / "old", {"log.txt": "begun\nlate\n"})
    with pytest.raises(Superseded):
        old.push(tmp_path / "old")
    old.check_ownership = lambda: None  # as if the check had been just before the new owner appeared
    old.push(tmp_path / "old")
    remote(owner=False).pull(tmp_path / "seen")
    assert contents(tmp_path / "seen") == {"log.txt": b"begun\n"}, "the state of a superseded owner does not count"
    for number in range(4):
        old_log = f"begun\nlate {number}\n"
        write(tmp_path / "old", {"log.txt": old_log})
        old.push(tmp_path / "old")
    write(tmp_path / "new", {"log.txt": "begun\nlate 1\nagain\n"})
    new.push(tmp_path / "new")
    remote(owner=False).pull(tmp_path / "seen")
    assert contents(tmp_path / "seen") == contents(tmp_path / "new"), "nor does it delete the files of other owners"


def test_only_one_of_two_simultaneous_owners_writes(tmp_path: Path) -> None:
    first, second = remote(owner=False), remote(owner=False)
    names = first.names
    first.names = lambda kind: [] if kind == "owners" else names(kind)  # both see no owner
    first.take_ownership()
    del first.names
    second.names = lambda kind: [] if kind == "owners" else names(kind)
    second.take_ownership()
    del second.names
    write(tmp_path, {"log.txt": "one\n"})
    wrote = []
    for writer in (first, second):
        try:
            wrote.append(writer.push(tmp_path))
        except Superseded:
            wrote.append(False)
    assert sorted(wrote) == [False, True]


def test_random_changes_arrive(tmp_path: Path) -> None:
    draw, here, there = random.Random(3), tmp_path / "here", tmp_path / "there"
    source, sink = remote(), remote(owner=False)
    here.mkdir()
    for number in range(60):
        for _ in range(draw.randint(0, 3)):
            name = draw.choice(["best/a", "best/b/c", "snapshots/x/y", "card.md", "output.txt"])
            write(here, {name: draw.choice(["", "a", "b" * draw.randint(1, 50)])})
        if draw.random() < 0.3:
            shutil.rmtree(here / draw.choice(["best", "snapshots"]), ignore_errors=True)
        if number % 9 == 8:
            source = remote()
            source.pull(tmp_path / f"node-{number}")
        source.push(here)
        if draw.random() < 0.5:
            sink.pull(there)
            assert contents(there) == contents(here)


def test_unusable_urls_are_rejected(tmp_path: Path, objects: type[Objects]) -> None:
    check_storage(f"file://{tmp_path}/store")
    (tmp_path / "file").write_text("")
    objects.writes_left = 0
    unusable: list[tuple[str, str]] = [
        (f"file://{tmp_path}/file", "cannot be used"), ("nothing://x", "nothing"), ("objects://x", "no space"),
    ]  # fmt: skip
    for url, words in unusable:
        with pytest.raises(ExplorerError, match=words) as raised:
            check_storage(url)
        assert "BERTEXPLORER_RUNS_URL" in str(raised.value)


def test_a_state_is_plain_json(tmp_path: Path, objects: type[Objects]) -> None:
    source = remote()
    write(tmp_path, {"log.txt": "é\n"})
    source.push(tmp_path)
    (path,) = [path for path in objects.store if "/states/" in path]
    wanted = sha256("é\n".encode()).hexdigest()
    assert json.loads(objects().cat_file(path)) == {"files": {"log.txt": [[f"{source.owner}/{wanted}", 3]]}}
