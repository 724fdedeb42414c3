"""A bundled training: its checkpoints are ordered by step and found by their names."""

from pathlib import Path

import pytest

from bertexplorer.store import catalogue
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("step-000000300", "step-000000000", "step-000000030"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}", "utf-8")
    (tmp_path / "step-000000400").mkdir()  # incomplete
    (tmp_path / "notes").mkdir()
    return tmp_path


def test_steps_are_ordered_and_the_last_has_the_plain_name(root: Path) -> None:
    result = catalogue.snapshots(root)
    assert [item.name for item in result] == ["tiny@0", "tiny@30", "tiny"]
    assert result[-1].folder == root / "step-000000300" and "300" in result[-1].label
    assert catalogue.snapshots(root / "notes") == []


def test_names_are_resolved_to_folders(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = catalogue.snapshots
    monkeypatch.setattr(catalogue, "snapshots", lambda: snapshots(root))
    assert catalogue.find_snapshot("tiny@30") == root / "step-000000030" and catalogue.find_snapshot("tiny@31") is None
    assert catalogue.find_snapshot("mini") is None and catalogue.snapshot_series("mini") == []
    library = CheckpointRegistry()
    assert library.find("tiny") == root / "step-000000300" and "tiny" in library.offline()
    assert [item.name for item in library.series("tiny@0")] == ["tiny@0", "tiny@30", "tiny"]


def test_a_pretraining_run_can_be_opened(tmp_path: Path, tiny: Tiny) -> None:
    import shutil

    from bertexplorer.store import trained
    from bertexplorer.training.checkpointing import commit

    folder = tmp_path / ("a" * 32)
    folder.mkdir()
    commit(folder / "commits", "step-000000005", lambda into: shutil.copytree(tiny("bert"), into / "model"), keep=1)
    (name,) = [name for _, name in trained.list_trained(tmp_path)]
    assert name == f"run:{'a' * 32}" and (trained.find(tmp_path, name) / "config.json").is_file()


def test_the_bundled_training_learns() -> None:
    """Its checkpoints load, are small, and find a sentence less surprising from step to step."""
    from bertexplorer.views.pseudo_likelihood import compute as pseudo_likelihood

    snapshots = catalogue.snapshots()
    assert 8 <= len(snapshots) <= 10 and snapshots[0].name == "tiny@0" and snapshots[-1].name == "tiny"
    files = [file for item in snapshots for file in item.folder.iterdir()]
    assert sum(file.stat().st_size for file in files) < 30e6
    library = CheckpointRegistry()
    chosen = [snapshots[i].name for i in (0, 2, -2, -1)]
    text = "The city is the capital of the country, and it was built in the 19th century."
    result = [pseudo_likelihood.run(library.get(name, "fp32"), text).perplexity for name in chosen]
    assert result == sorted(result, reverse=True) and result[-1] < result[0] / 20
