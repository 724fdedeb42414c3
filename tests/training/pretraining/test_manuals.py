"""The corpus of docstrings: prose only, a document per module, written once."""

from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.training.pretraining import manuals

DOCSTRING = '''"""Return the sum of all the numbers in :class:`List <x>` as one.

    >>> add([1, 2, 3]) is not prose but it has many words in it.

    x : int
        A parameter.

    This paragraph is long enough to be kept, and it
    goes on in a second line. Too short.

    12 13 14 15 16 17 18 19 20 21 22 ends with a dot.
    """'''


def test_only_sentences_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_text(f"def add(x):\n    {DOCSTRING}\n", "utf-8")
    assert list(manuals.module_paragraphs(file)) == [
        "Return the sum of all the numbers in List as one.",
        "This paragraph is long enough to be kept, and it goes on in a second line. Too short.",
    ]
    file.write_text("def broken(:\n", "utf-8")
    assert list(manuals.module_paragraphs(file)) == []


@pytest.mark.slow
def test_the_text_of_a_package_consists_of_documents_of_prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manuals, "PACKAGES", ("numpy", "not_installed_here"))
    path = manuals.collect_manuals(tmp_path / "new")
    blocks = path.read_text("utf-8").strip().split("\n\n")
    assert len(blocks) > 50 and all(len(block.splitlines()) > 1 for block in blocks)
    when = path.stat().st_mtime_ns
    assert manuals.collect_manuals(tmp_path / "new").stat().st_mtime_ns == when


def test_without_any_package_the_error_names_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manuals, "PACKAGES", ("not_installed_here",))
    with pytest.raises(ExplorerError, match="text file of your own"):
        manuals.collect_manuals(tmp_path)
    assert not list(tmp_path.iterdir())
