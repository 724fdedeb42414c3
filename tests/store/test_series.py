"""A training that ships: its checkpoints by step, in order, and found by their names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bertexplorer.store import series
from bertexplorer.store.library import Library


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("step-000000300", "step-000000000", "step-000000030"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}", "utf-8")
    (tmp_path / "step-000000400").mkdir()  # not whole
    (tmp_path / "notes").mkdir()
    return tmp_path


def test_steps_are_in_order_and_the_last_has_the_plain_name(root: Path) -> None:
    found = series.saved(root)
    assert [one.name for one in found] == ["tiny@0", "tiny@30", "tiny"]
    assert found[-1].folder == root / "step-000000300" and "300" in found[-1].label
    assert series.saved(root / "notes") == []


def test_names_lead_to_folders(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = series.saved
    monkeypatch.setattr(series, "saved", lambda: saved(root))
    assert series.find("tiny@30") == root / "step-000000030" and series.find("tiny@31") is None
    assert series.find("mini") is None and series.series("mini") == []
    library = Library()
    assert library.find("tiny") == root / "step-000000300" and "tiny" in library.offline()
    assert [one.name for one in library.series("tiny@0")] == ["tiny@0", "tiny@30", "tiny"]


def test_a_pretraining_run_can_be_opened(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    import shutil

    from bertexplorer.store import runs
    from bertexplorer.training.commit import commit

    folder = tmp_path / ("a" * 32)
    folder.mkdir()
    commit(folder / "commits", "step-000000005", lambda into: shutil.copytree(tiny("bert"), into / "model"), keep=1)
    (name,) = [name for _, name in runs.trained(tmp_path)]
    assert name == f"run:{'a' * 32}" and (runs.find(tmp_path, name) / "config.json").is_file()
