"""The registry: one load for all callers, eviction, too large checkpoints, no path out, and the catalogue's entry."""

import threading
import time
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model import load as loader
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.heads import HEADS
from bertexplorer.model.load import load
from bertexplorer.settings import Settings
from bertexplorer.store import examine
from bertexplorer.store.catalogue import BUNDLED, BY_NAME, CATALOGUE, SERIES, series_of
from bertexplorer.store.hub_cache import check_name
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny

NAMES = ("one", "two", "three")


@pytest.fixture
def models(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder with three copies (no links) of a tiny checkpoint, and an empty hub cache."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "models"
    for name in (*NAMES, "group/deep"):
        (root / name).mkdir(parents=True)
        for file in tiny("bert-mlm").iterdir():
            (root / name / file.name).write_bytes(file.read_bytes())
    return root


@pytest.fixture
def library(models: Path) -> CheckpointRegistry:
    return CheckpointRegistry(Settings(models_dir=models))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names in the order of their actual loads."""
    seen: list[str] = []
    real = loader.load

    def counted(folder: Path, **settings: Any) -> Any:
        seen.append(settings["name"])
        time.sleep(0.05)
        return real(folder, **settings)

    monkeypatch.setattr(loader, "load", counted)
    return seen


def test_eight_simultaneous_callers_share_one_load(library: CheckpointRegistry, loads: list[str]) -> None:
    got: list[Any] = []
    names = [NAMES[i % 2] for i in range(8)]
    threads = [threading.Thread(target=lambda n=n: got.append(library.get(n, "fp32"))) for n in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(loads) == ["one", "two"] and len({id(c) for c in got}) == 2 and len(got) == 8


def test_a_run_opens_for_its_owner_alone(library: CheckpointRegistry) -> None:
    library.owned_runs = {"ada": {"one"}, "bob": {"two"}}.__getitem__
    ada = library.for_owner("ada")
    assert [ada.may_open(name) for name in ("run:one", "run:one@step-3", "run:two")] == [True, True, False]
    assert library.may_open("run:two"), "the operator may open every run"
    with pytest.raises(ExplorerError, match="This run is not here. It was deleted, or it belongs to another browser"):
        ada.get("run:two")


def test_a_failed_load_can_be_retried(library: CheckpointRegistry, models: Path) -> None:
    weights = models / "one" / "model.safetensors"
    original = weights.read_bytes()
    weights.write_bytes(original[:100])
    with pytest.raises(ExplorerError, match="model.safetensors"):
        library.get("one")
    weights.write_bytes(original)
    assert library.get("one").name == "one"


def test_the_least_recently_used_checkpoint_is_evicted(
    loads: list[str], models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "num_bytes", 1_000_000)
    tight = CheckpointRegistry(Settings(models_dir=models, memory_mb=2))
    for name in ("one", "two", "one", "three", "one", "two"):
        tight.get(name, "fp32")
    assert loads == ["one", "two", "three", "two"], "two was the oldest when three came"
    assert len(tight.loaded) == 2


def test_a_checkpoint_beyond_the_budget_still_runs(models: Path) -> None:
    library = CheckpointRegistry(Settings(models_dir=models, memory_mb=0))
    for name in NAMES:
        assert library.get(name).name == name
        assert [checkpoint.name for checkpoint in library.loaded.values()] == [name]


def test_precisions_are_loaded_separately(library: CheckpointRegistry) -> None:
    assert [library.get("one", p).precision for p in ("fp32", "bf16")] == ["fp32", "bf16"]
    with pytest.raises(ExplorerError, match="'fp8'.*auto, fp32, bf16"):
        library.get("one", "fp8")


def test_bundled_and_local_checkpoints_are_found_and_listed(library: CheckpointRegistry, models: Path) -> None:
    assert library.find("mini") == BUNDLED / "mini" and library.find(" mini ") == BUNDLED / "mini"
    assert library.offline()[0] == "mini" == CATALOGUE[0].name
    assert library.find("one") == models / "one" and library.find("group/deep") == models / "group" / "deep"
    assert library.find(str(models / "one")) == models / "one"
    assert set(library.offline()) == {"mini", "sentiment", "tiny", *NAMES, "group/deep"}
    assert list(library.fetch("one")) == []
    (models / "config.json").write_text("{}")
    for name in library.offline():
        assert library.find(name) is not None, name


HOSTILE = (
    "../../etc",
    "/etc",
    "~",
    "~root",
    "~nobody-of-that-name/x",
    "..",
    ".",
    "./one/../../x",
    "a/b/c",
    "",
    "  ",
    "a\0b",
)
HOSTILE += ("x" * 300, "x" * 100_000, "a/" * 200, "one\n", "\ud800", "a\u202eb", "-x", "C:\\x", "//etc", "mini/../mini")
HOSTILE += ("http://127.0.0.1/x", "a--b/c", "models--a--b", "<img src=x>", "%2e%2e/x", "group/../../models2")


@pytest.mark.parametrize("name", [*HOSTILE, "/etc/passwd", "escape", "escape/deep"])
@pytest.mark.parametrize("anywhere", [False, True])
def test_hostile_names_are_rejected(name: str, anywhere: bool, models: Path, tiny: Tiny) -> None:
    (models / "escape").symlink_to(tiny("bert-mlm"))
    if name == "one\n":
        pytest.skip("spaces around a name are dropped")
    if anywhere and name in ("/etc", "//etc", "../../etc", "~", "~root", "escape", "..", "."):
        pytest.skip("a person's own command line may look there")
    library = CheckpointRegistry(Settings(models_dir=models), anywhere=anywhere)
    with pytest.raises(ExplorerError) as caught:
        library.get(name)
    assert len(str(caught.value)) < 1500
    assert not library.loaded and not library.loading, "nothing is left behind"


def test_no_file_outside_the_models_folder_is_read(
    library: CheckpointRegistry, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []
    real = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda path: bool(seen.append(path)) or real(path))
    for name in ("/etc", "/root/secret", "../../etc"):
        with pytest.raises(ExplorerError, match="outside the models folder"):
            library.find(name)
    assert not [path for path in seen if not path.is_relative_to(models) and not path.is_relative_to(BUNDLED)]


def test_visitors_are_not_told_the_folders_of_the_server(models: Path) -> None:
    settings = Settings(models_dir=models, host="0.0.0.0")
    for name in ("/etc", "../../etc"):
        with pytest.raises(ExplorerError, match="is outside the models folder of this server") as refused:
            CheckpointRegistry(settings).find(name)
        assert str(models) not in str(refused.value)
        with pytest.raises(ExplorerError, match="BERTEXPLORER_MODELS") as refused:
            CheckpointRegistry(Settings(models_dir=models)).find(name)
        assert str(models.resolve()) in str(refused.value), "on one's own machine they help"


def test_the_command_line_may_open_any_folder(models: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    library = CheckpointRegistry(Settings(models_dir=models), anywhere=True)
    folder = tiny("bert-mlm")
    assert library.get(str(folder)).family == "bert"
    monkeypatch.chdir(folder.parent)
    assert library.find(folder.name) == folder and library.find(f"./{folder.name}") == folder
    with pytest.raises(ExplorerError, match="No config.json in /etc"):
        library.get("/etc")


def test_a_missing_or_incomplete_checkpoint_is_reported(library: CheckpointRegistry, models: Path) -> None:
    with pytest.raises(ExplorerError, match=r"google/none is not on this disk. Available offline: mini, "):
        library.get("google/none")
    (models / "bare").mkdir()
    with pytest.raises(ExplorerError, match="No config.json"):
        library.get("bare")


def test_the_models_folder_may_be_missing(tmp_path: Path) -> None:
    library = CheckpointRegistry(Settings(models_dir=tmp_path / "absent"))
    assert "mini" in library.offline() and library.find("mini")


def test_the_memory_of_a_checkpoint_follows_from_its_headers(tiny: Tiny) -> None:
    loaded_bytes = load(tiny("bert"), precision="fp32").num_bytes
    assert loaded_bytes <= examine.weight_bytes(tiny("bert"), "fp32") < 1.5 * loaded_bytes
    assert examine.weight_bytes(tiny("bert"), "bf16") == examine.weight_bytes(tiny("bert"), "fp32") // 2


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0[]", b'\x07\0\0\0\0\0\0\0{"a":1}'])
def test_loading_reports_unreadable_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    assert examine.weight_bytes(tmp_path, "fp32") == 0


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = "anon 1\ninactive_file 300000\nactive_file 100000\nworkingset_refault_file 90000\n"
    written = {"memory.max": "5000000", "memory.current": "3000000", "memory.stat": kept}
    for name, content in written.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   1000000 kB\n")
    monkeypatch.setattr(examine, "CGROUP", tmp_path)
    monkeypatch.setattr(examine, "MEMINFO", tmp_path / "meminfo")
    assert examine.free_bytes() == 2_400_000
    (tmp_path / "memory.max").write_text("max")
    assert examine.free_bytes() == 1_024_000_000
    monkeypatch.setattr(examine, "MEMINFO", tmp_path / "none")
    assert examine.free_bytes() is None


def test_checkpoints_that_do_not_fit_are_rejected_or_evict_others(
    tiny_copy: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bert", "roberta"):
        tiny_copy(name)
    library = CheckpointRegistry(Settings(models_dir=tmp_path))
    first = library.get("bert", "fp32")
    monkeypatch.setattr(examine, "free_bytes", lambda: examine.RESERVE_BYTES)
    monkeypatch.setattr(examine, "weight_bytes", lambda *_: 30_000_000_000)
    with pytest.raises(ExplorerError, match=r"roberta takes 30.0 GB of memory and 0.0 GB are available"):
        library.get("roberta", "fp32")
    assert library.get("bert", "fp32") is first
    monkeypatch.setattr(examine, "weight_bytes", lambda *_: first.num_bytes)
    second = library.get("roberta", "fp32")
    assert [*library.loaded.values()] == [second]


def test_the_bundled_checkpoint_matches_its_entry(bundled: Path) -> None:
    entry, checkpoint = BY_NAME["mini"], load(bundled, precision="fp32", device="cpu")
    assert checkpoint.num_parameters / 1e6 == pytest.approx(entry.parameters, abs=0.1)  # written in millions, one digit
    assert (bundled / "model.safetensors").stat().st_size / 1e6 == pytest.approx(entry.megabytes, abs=0.1)  # likewise
    assert set(checkpoint.heads) - {"pooler"} == set(entry.heads)
    assert checkpoint.licence == entry.licence


def test_every_entry_of_the_catalogue_is_complete() -> None:
    assert len(BY_NAME) == len(CATALOGUE) == 20
    for entry in CATALOGUE:
        check_name(entry.name)
        assert set(entry.heads) <= set(HEADS) and (entry.heads or "a vector" in entry.about)
        assert entry.parameters > 1 and entry.licence and entry.about
        assert entry.name == "sentiment" or 1.9 < entry.megabytes / entry.parameters < 4.1, "2 or 4 bytes a parameter"
    for series in SERIES:
        assert [name for name in series if name in BY_NAME] == list(series)[-1:], "the last step, which is the best"
        for name in series:
            check_name(name)
            assert series_of(name) == series
    assert series_of("google-bert/bert-base-uncased") == {}
