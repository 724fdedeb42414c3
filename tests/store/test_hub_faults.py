"""Errors of a download are reported with advice, and no damaged file is kept."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import huggingface_hub.constants
import pytest
from huggingface_hub import file_download

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store import hub_cache
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.store.conftest import NAME, SHA, Hub
from tests.store.test_hub import OTHER, pickled

INVALID = "Invalid credentials in Authorization header"


@pytest.fixture
def library(tmp_path: Path) -> CheckpointRegistry:
    return CheckpointRegistry(Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data", hub_timeout_s=1.5))


def refused(library: CheckpointRegistry) -> str:
    with pytest.raises(ExplorerError) as caught:
        list(library.fetch(NAME))
    assert NAME in str(caught.value) and "offline: mini" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (429, {"Retry_After": "90"}, "too many requests from here. Try again in 90 seconds."),
        (429, {}, "too many requests from here. Try again in a few minutes."),
        (401, {"X_Error_Message": INVALID}, "does not accept your token. Renew the one in HF_TOKEN"),
        (503, {}, "status 503. Try again later."),
    ],
)
def test_a_rejection_is_reported_with_advice(
    hub: Hub, library: CheckpointRegistry, status: int, headers: dict[str, str], message: str
) -> None:
    hub.refusal = status, headers
    assert message in refused(library)


def test_offline_mode_is_reported(library: CheckpointRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE is set" in refused(library)


def test_an_interrupted_transfer_can_be_resumed(
    hub: Hub, library: CheckpointRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_download.time, "sleep", lambda _: None)  # between the attempts of one download
    monkeypatch.setattr(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 10_000)  # received data is stored in chunks
    hub.cuts = 1000
    assert (
        "broke off" in (message := refused(library)) and "Try again: the files that have arrived are kept." in message
    )
    hub.cuts = 1
    assert list(library.fetch(NAME)) and library.get(NAME).config.num_layers == 3
    size = len(hub.repos[NAME]["model.safetensors"])
    assert 0 < max(hub.resumed) <= size // 2, "one cut costs only the rest of the file"


def test_a_checkpoint_without_its_last_small_file_is_incomplete(hub: Hub, library: CheckpointRegistry) -> None:
    """It would load with wrong settings: for example, a cased vocabulary would be lowercased."""
    hub.broken = ("tokenizer_config.json",)
    refused(library)
    snapshot = hub_cache.cache_folder(NAME) / "snapshots" / SHA
    assert (snapshot / "model.safetensors").is_file() and not (snapshot / "tokenizer_config.json").is_file()
    for name in (NAME, f"{NAME}@{SHA}"):
        assert library.find(name) is None and name not in library.offline()
    hub.broken = ()
    list(library.fetch(NAME))
    assert library.find(NAME) == snapshot and (snapshot / "tokenizer_config.json").is_file()


def test_a_complete_checkpoint_stays_usable_while_its_revision_is_fetched(
    hub: Hub, library: CheckpointRegistry
) -> None:
    """The tag names the same commit; the hub fails before it has sent anything."""
    list(library.fetch(NAME))
    hub.revisions[NAME, "v1.0"] = (SHA, hub.repos[NAME])
    hub.refusal = 429, {}
    with pytest.raises(ExplorerError):
        list(library.fetch(f"{NAME}@v1.0"))
    assert library.get(NAME).revision == SHA and NAME in library.offline()


def test_a_download_is_incomplete_if_the_hub_stops_answering(
    hub: Hub, library: CheckpointRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """snapshot_download returns the folder as it is if the hub refuses to list the files."""
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: "a folder with config.json alone")
    assert "broke off" in refused(library)
    assert library.find(NAME) is None


def test_a_conversion_of_older_weights_is_not_used(hub: Hub, library: CheckpointRegistry, tiny: Tiny) -> None:
    pickled(hub, tiny("bert"))
    files = {file.name: file.read_bytes() for file in tiny("bert").iterdir() if file.is_file()}
    hub.revisions[NAME, "refs/pr/1"] = (OTHER, files | {"pytorch_model.bin": b"those of a year ago"})
    hub.authors[NAME] = "SFconvertbot"
    list(library.fetch(NAME))
    assert "converted" in str(library.get(NAME).folder), "converted here, from the weights of today"


def test_a_repository_without_weights_for_pytorch_is_rejected(hub: Hub, library: CheckpointRegistry) -> None:
    hub.repos[NAME] = {"config.json": b"{}", "vocab.txt": b"x", "tf_model.h5": b"x"}
    with pytest.raises(ExplorerError, match=r"neither model.safetensors nor pytorch_model.bin \(it has tf_model.h5\)"):
        list(library.fetch(NAME))


@pytest.mark.parametrize("only_pickle", [False, True])
def test_weights_that_differ_from_the_published_ones_are_deleted(
    hub: Hub, library: CheckpointRegistry, tiny: Tiny, only_pickle: bool
) -> None:
    if only_pickle:
        pickled(hub, tiny("bert"))
    hub.etag = "f" * 64
    with pytest.raises(ExplorerError, match=r"is not the file that the hub published, so it was deleted.*Try again"):
        list(library.fetch(NAME))
    assert library.find(NAME) is None and NAME not in library.offline()
    assert not (hub_cache.cache_folder(NAME) / "blobs" / hub.etag).exists()
    hub.etag = ""
    list(library.fetch(NAME))
    assert library.get(NAME).config.num_layers == 3


@pytest.mark.parametrize("slow", [False, True], ids=["a mirror without pull requests", "a slow list"])
def test_a_checkpoint_is_fetched_without_pull_requests(
    hub: Hub, library: CheckpointRegistry, tiny: Tiny, slow: bool
) -> None:
    pickled(hub, tiny("bert"))
    hub.discussions, hub.delays["discussions"] = slow, 6.0 * slow
    list(library.fetch(NAME))
    assert library.get(NAME).config.num_layers == 3


def test_no_conversion_is_called_missing_while_the_hub_is_silent(
    hub: Hub, library: CheckpointRegistry, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    pickled(hub, tiny("bert"))
    hub.delays["discussions"] = 6.0
    monkeypatch.setattr(library, "settings", replace(library.settings, pickle="refuse"))
    assert "Cannot reach the hub" in refused(library)


@pytest.mark.slow
def test_a_slow_config_has_enough_time(hub: Hub, library: CheckpointRegistry) -> None:
    hub.delays["config.json"] = 3.5  # more than twice the time limit of an answer
    list(library.fetch(NAME))
    assert library.get(NAME).config.num_layers == 3


@pytest.mark.parametrize(
    "change", [{"model_type": "gpt2"}, {"auto_map": {"AutoModel": "own.Code"}, "model_type": "own"}]
)
def test_unusable_weights_are_not_downloaded(hub: Hub, library: CheckpointRegistry, change: dict[str, Any]) -> None:
    config = json.loads(hub.repos[NAME]["config.json"]) | change
    hub.repos[NAME]["config.json"] = json.dumps(config).encode()
    with pytest.raises(ExplorerError, match=f"{NAME} was not downloaded: config.json .*({'|'.join(change)})"):
        list(library.fetch(NAME))
    assert not [path for path in hub.asked if path.endswith(".safetensors")]


def test_unusable_checkpoints_in_a_shared_cache_are_not_offered(
    hub: Hub, library: CheckpointRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of other families, and formats that this server refuses, are not offered."""
    list(library.fetch(NAME))
    assert NAME in library.offline()
    config = next(hub_cache.cache_folder(NAME).glob("snapshots/*/config.json"))
    hub_cache.file_list(config.parent).unlink()
    original = config.read_text("utf-8")
    config.write_text(json.dumps(json.loads(original) | {"model_type": "llama"}), "utf-8")
    assert NAME not in library.offline()
    config.write_text(original, "utf-8")
    config.with_name("model.safetensors").rename(config.with_name("pytorch_model.bin"))
    assert NAME in library.offline()
    monkeypatch.setattr(library, "settings", replace(library.settings, pickle="refuse"))
    assert NAME not in library.offline()


@pytest.mark.parametrize(("host", "sent"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_visitors_do_not_use_the_token_of_the_operator(
    hub: Hub,
    tmp_path: Path,
    tiny: Tiny,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    sent: bool,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    library = CheckpointRegistry(Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data", host=host))
    list(library.fetch(NAME))
    hub.gated.add("someone/gated-bert")
    hub.put("someone/gated-bert", tiny("bert"))
    advice = "set HF_TOKEN" if sent else "The operator of this page can download it"
    with pytest.raises(ExplorerError, match=advice):
        list(library.fetch("someone/gated-bert"))
    assert ("Bearer hf_secret" in hub.tokens) == sent


@pytest.mark.slow
def test_the_command_line_downloads_a_revision_from_the_named_endpoint(hub: Hub, tmp_path: Path) -> None:
    """Without patches in the process: HF_ENDPOINT is set as for a mirror."""
    hub.revisions[NAME, "v1.0"] = (OTHER, hub.repos[NAME])
    command = [sys.executable, "-m", "bertexplorer", "fill-mask", "the [MASK] was", "--checkpoint", f"{NAME}@v1.0"]
    variables = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "BERTEXPLORER_DATA": str(tmp_path / "data")}
    left_out = ("HF_HUB_OFFLINE", "HF_HUB_CACHE")
    env = {name: value for name, value in os.environ.items() if name not in left_out} | variables
    for url in (hub.url, "http://127.0.0.1:9"):  # the second time, nothing is requested
        answer = subprocess.run([*command, "--json"], env=env | {"HF_ENDPOINT": url}, capture_output=True, text=True)
        assert answer.returncode == 0, answer.stderr
        assert json.loads(answer.stdout)["provenance"]["revision"] == OTHER
