"""The hub: a checkpoint is fetched once with its progress and then used offline; failures are reported soon and
plainly."""

import io
import shutil
import socket
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file

from bertexplorer.core import provenance
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.settings import Settings
from bertexplorer.store import catalogue, hub as store, hub_cache
from bertexplorer.store.hub import Progress, select_files
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.store.conftest import NAME, SHA, Hub
from tests.tiny import write_sentence_encoder

OTHER = "fedcba9876543210fedcba9876543210fedcba98"


@pytest.fixture
def library(tmp_path: Path) -> CheckpointRegistry:
    return CheckpointRegistry(Settings(models_dir=tmp_path / "models", hub_timeout_s=1.5))


def refused(library: CheckpointRegistry, name: str = NAME) -> str:
    with pytest.raises(ExplorerError) as caught:
        list(library.fetch(name))
    return str(caught.value)


def test_a_download_reports_its_progress_and_works_offline_afterwards(
    hub: Hub, library: CheckpointRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "POLL_S", 0.05)
    hub.repos[NAME] |= {"pytorch_model.bin": b"never", "modeling.py": b"never"}
    hub.pause_s = 0.2
    assert library.find(NAME) is None and NAME not in library.offline()
    message = list(library.fetch(NAME))
    size = sum(len(body) for name, body in hub.repos[NAME].items() if not name.endswith((".bin", ".py"))) / 1e6
    assert message[-1] == Progress(message[-1].total, message[-1].total) and message[-1].total == pytest.approx(size)
    done = [p.done for p in message]
    assert done == sorted(done) and any(0 < d < size for d in done), "it moves"
    assert not [path for path in hub.asked if path.endswith((".bin", ".py"))]
    requests = len(hub.asked)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert list(library.fetch(NAME)) == [] and NAME in library.offline()
    checkpoint = library.get(NAME, "fp32")
    assert checkpoint.name == NAME and checkpoint.revision == SHA
    assert len(hub.asked) == requests, "nothing more was asked of the network"


def test_the_files_of_a_sentence_encoder_are_downloaded_and_missed(
    hub: Hub, library: CheckpointRegistry, tiny_copy: Tiny, tmp_path: Path
) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "cls"}, dense=["Tanh"], max_seq_length=6)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.safetensors").write_bytes(b"never")
    hub.put(NAME, folder)
    list(library.fetch(NAME))
    assert not [path for path in hub.asked if "onnx" in path]
    wanted, ours = load(folder).sentence_encoder, library.get(NAME).sentence_encoder
    assert wanted and ours and ours.fingerprint == wanted.fingerprint and ours.max_tokens == 6
    (snapshot,) = tmp_path.glob("cache/models--someone--tiny-bert/snapshots/*")
    for lost in ("modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors", "sentence_bert_config.json"):
        (snapshot / lost).unlink()
        assert library.find(NAME) is None, lost
        assert list(library.fetch(NAME))
        assert library.find(NAME) == snapshot


def test_a_dense_layer_that_the_hub_did_not_publish_is_deleted(
    hub: Hub, library: CheckpointRegistry, tiny_copy: Tiny, tmp_path: Path
) -> None:
    hub.put(NAME, write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "cls"}, dense=["Tanh"]))
    list(library.fetch(NAME))
    (dense,) = tmp_path.glob("cache/models--someone--tiny-bert/snapshots/*/2_Dense/model.safetensors")
    dense.resolve().write_bytes(b"other")
    with pytest.raises(ExplorerError, match="not the file that the hub published, so it was deleted"):
        store.check_content(NAME, [dense])
    assert not dense.is_symlink() and len(list(dense.parents[1].glob("*.safetensors"))) == 1


def test_spaces_around_a_name_are_ignored(hub: Hub, library: CheckpointRegistry) -> None:
    list(library.fetch(f"  {NAME} "))
    assert library.get(f" {NAME}") is library.get(NAME)


def test_an_interrupted_download_is_resumed(hub: Hub, library: CheckpointRegistry, tmp_path: Path) -> None:
    list(library.fetch(NAME))
    (folder,) = tmp_path.glob("cache/models--someone--tiny-bert/snapshots/*")
    for lost in ("tokenizer.json", "model.safetensors", "config.json"):
        (folder / lost).unlink()
        assert library.find(NAME) is None and NAME not in library.offline(), lost
        assert list(library.fetch(NAME))
        assert library.find(NAME) == folder


def test_a_missing_shard_is_detected(tmp_path: Path) -> None:
    for name in ("config.json", "vocab.txt", "model-00001-of-00002.safetensors"):
        (tmp_path / name).write_text("{}")
    shards = '{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}'
    (tmp_path / "model.safetensors.index.json").write_text(shards)
    assert not hub_cache.is_complete(tmp_path)
    (tmp_path / "model-00002-of-00002.safetensors").write_text("")
    assert hub_cache.is_complete(tmp_path)


def test_an_unknown_or_gated_checkpoint_is_reported_with_advice(hub: Hub, library: CheckpointRegistry) -> None:
    published = hub.repos.pop(NAME)
    message = refused(library)
    assert f"no public checkpoint called {NAME}" in message and "offline: mini" in message
    hub.repos[NAME] = published
    hub.gated.add(NAME)
    assert "licence that must first be accepted on the hub. Accept it there and set HF_TOKEN" in refused(library)


def pickled(hub: Hub, folder: Path) -> None:
    """NAME with its weights only in pytorch_model.bin."""
    hub.put(NAME, folder, without=("model.safetensors",))
    content = io.BytesIO()
    torch.save(load_file(folder / "model.safetensors"), content)
    hub.repos[NAME]["pytorch_model.bin"] = content.getvalue()


def test_a_checkpoint_with_only_a_pickle_is_converted(hub: Hub, library: CheckpointRegistry, tiny: Tiny) -> None:
    pickled(hub, tiny("bert"))
    assert list(library.fetch(NAME)) and NAME in library.offline()
    checkpoint, own = library.get(NAME, "fp32"), load(tiny("bert"), precision="fp32")
    assert "converted" in str(checkpoint.folder) and list(library.fetch(NAME)) == []
    for ours, theirs in zip(
        checkpoint.encoder.embeddings.parameters(), own.encoder.embeddings.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs)


def test_a_pickle_is_not_fetched_if_conversion_is_off(hub: Hub, tmp_path: Path) -> None:
    hub.repos[NAME] = {"config.json": b"{}", "pytorch_model.bin": b"x", "vocab.txt": b"x"}
    message = refused(CheckpointRegistry(Settings(models_dir=tmp_path, host="0.0.0.0")))
    assert "no model.safetensors (it has pytorch_model.bin)" in message and "BERTEXPLORER_PICKLE=convert" in message
    assert not [path for path in hub.asked if "resolve" in path], "nothing was fetched"


@pytest.mark.parametrize("author", ["SFconvertbot", "someone else"])
def test_the_conversion_of_the_hub_is_preferred(hub: Hub, library: CheckpointRegistry, tiny: Tiny, author: str) -> None:
    pickled(hub, tiny("bert"))
    files = {file.name: file.read_bytes() for file in tiny("bert").iterdir() if file.is_file()}
    hub.revisions[NAME, "refs/pr/1"] = (OTHER, files)
    hub.authors[NAME] = author
    list(library.fetch(NAME))
    result = library.get(NAME, "fp32")
    assert (result.revision == OTHER) is (author == "SFconvertbot") is not ("converted" in str(result.folder))
    assert bool([path for path in hub.asked if path.endswith(".bin")]) is (author != "SFconvertbot")


def test_a_published_training_lists_the_required_downloads(hub: Hub, library: CheckpointRegistry, tiny: Tiny) -> None:
    first, *_, last = catalogue.MULTIBERTS
    hub.put(first, tiny("bert"))
    list(library.fetch(first))
    series = library.series(first)
    assert [item.name for item in series] == list(catalogue.MULTIBERTS) == [item.name for item in library.series(last)]
    assert [item.megabytes for item in series] == [0.0, *[440.5] * 5]
    assert library.title(first) == "MultiBERTs seed 0, step 20,000"


def test_a_revision_is_opened_by_its_name(
    hub: Hub, library: CheckpointRegistry, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {file.name: file.read_bytes() for file in tiny("bert-mlm").iterdir() if file.is_file()}
    hub.revisions[NAME, "step_20k"] = (OTHER, files)
    for name in (f"{NAME}@step_20k", NAME):
        list(library.fetch(name))
    assert (library.get(NAME).revision, library.get(f"{NAME}@step_20k").revision) == (SHA, OTHER)
    assert {NAME, f"{NAME}@step_20k"} <= set(library.offline())
    assert library.get(f"{NAME}@{OTHER}").revision == OTHER
    assert "has no revision 'step_30k' on the hub" in refused(library, f"{NAME}@step_30k")
    for name in (f"{NAME}@", f"{NAME}@../x", f"{NAME}@a@b"):
        assert "is not a checkpoint name" in refused(library, name)


def test_a_tag_of_the_newest_commit_opens_the_same_files(hub: Hub, library: CheckpointRegistry) -> None:
    hub.revisions[NAME, "v1"] = (SHA, hub.repos[NAME])
    for name in (f"{NAME}@v1", NAME):
        list(library.fetch(name))
        assert library.get(name).revision == SHA and name in library.offline()
    assert list(library.fetch(f"{NAME}@{SHA}")) == []


def test_a_requested_commit_is_not_stored_as_the_newest(hub: Hub, library: CheckpointRegistry, tiny: Tiny) -> None:
    files = {file.name: file.read_bytes() for file in tiny("bert-mlm").iterdir() if file.is_file()}
    hub.revisions[NAME, "old"] = (OTHER, files)
    list(library.fetch(f"{NAME}@{OTHER}"))
    assert library.find(NAME) is None
    list(library.fetch(NAME))
    assert library.get(NAME).revision == SHA and f"{NAME}@{OTHER}" in library.offline()


def test_the_conversion_is_found_by_the_name_and_by_its_pull_request(
    hub: Hub, library: CheckpointRegistry, tiny: Tiny
) -> None:
    pickled(hub, tiny("bert"))
    files = {file.name: file.read_bytes() for file in tiny("bert").iterdir() if file.is_file()}
    hub.revisions[NAME, "refs/pr/1"] = (OTHER, files)
    hub.authors[NAME] = "SFconvertbot"
    for name in (f"{NAME}@refs/pr/1", NAME):
        list(library.fetch(name))
        assert library.get(name).revision == OTHER
    facts = dict(provenance.checkpoint_facts(library.get(NAME)))
    assert facts["Weights"].startswith("converted to safetensors by the hub")


def test_a_snapshot_without_a_name_is_still_found(hub: Hub, library: CheckpointRegistry) -> None:
    """As stored by version 0.2."""
    list(library.fetch(NAME))
    (hub_cache.cache_folder(NAME) / "refs" / "main").unlink()
    assert library.get(NAME).revision == SHA and list(library.fetch(NAME)) == []


@pytest.mark.parametrize("revision", ["feature/a", "refs/pr/1", "v1.0", "a--b"])
def test_a_revision_may_have_slashes_and_hyphens(hub: Hub, library: CheckpointRegistry, revision: str) -> None:
    hub.revisions[NAME, revision] = (OTHER, hub.repos[NAME])
    list(library.fetch(f"{NAME}@{revision}"))
    assert library.get(f"{NAME}@{revision}").revision == OTHER


def test_a_run_that_is_missing_or_not_yours_is_not_a_hub_name(library: CheckpointRegistry) -> None:
    with pytest.raises(ExplorerError, match="a run opens in the one that started it") as caught:
        library.get("run:" + "0" * 32)
    assert caught.value.code == ""


@pytest.mark.parametrize(("lost", "message"), [("config.json", "no config.json"), ("tokenizer.json", "no tokenizer")])
def test_unusable_checkpoints_are_not_downloaded(
    hub: Hub, library: CheckpointRegistry, tiny: Tiny, lost: str, message: str
) -> None:
    hub.put(NAME, tiny("bert"), without=(lost,))
    assert message in refused(library)
    assert not [path for path in hub.asked if "resolve" in path]


def test_a_server_that_fails_midway_is_reported(hub: Hub, library: CheckpointRegistry) -> None:
    hub.broken = ("model.safetensors",)
    message = refused(library)
    assert NAME in message and "offline: mini" in message and library.find(NAME) is None


@pytest.mark.slow
def test_a_hub_that_never_answers_is_reported_in_time(hub: Hub, library: CheckpointRegistry) -> None:
    hub.hang.clear()
    message = refused(library)
    assert not hub.asked  # the hub answers only after 30 s: the error was raised earlier
    assert f"Cannot reach the hub for {NAME}" in message and "offline: mini" in message


def test_a_closed_port_is_reported(connect: Callable[[str], None], library: CheckpointRegistry) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    connect(f"http://127.0.0.1:{port}")
    message = refused(library)
    assert "Cannot reach the hub" in message and "offline: mini" in message
    assert Settings().hub_timeout_s <= 5


def test_a_full_disk_is_reported_before_the_download(
    hub: Hub, library: CheckpointRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    Usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10, 10, 400_000_000))
    message = refused(library)
    assert "needs 0.0 GB and 0.4 GB are free" in message and "0.5 GB stay reserved" in message
    assert not [path for path in hub.asked if "resolve" in path]


def test_all_shards_are_required_and_a_single_file_is_preferred() -> None:
    small = {"config.json": 1, "tokenizer.json": 1}
    shards = {
        "model.safetensors.index.json": 1,
        "model-00001-of-00002.safetensors": 1,
        "model-00002-of-00002.safetensors": 1,
    }
    assert set(select_files("a/b", shards | small | {"x.h5": 1})) == set(shards | small)
    assert set(select_files("a/b", {"model.safetensors": 1} | shards | small)) == {"model.safetensors", *small}
    for vocabulary in (("vocab.txt",), ("vocab.json", "merges.txt"), ("sentencepiece.bpe.model",), ("spm.model",)):
        sizes = {"model.safetensors": 1, "config.json": 1, **dict.fromkeys(vocabulary, 1)}
        assert set(select_files("a/b", sizes)) == set(sizes)
