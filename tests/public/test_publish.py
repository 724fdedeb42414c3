"""What needs a public address: the Colab links of the notebooks, and the thumbnail of the Space."""

import ast
import json
import shutil
from pathlib import Path

import pytest

from docs.publish import publish
from tests.conftest import ROOT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in ("examples", "space"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_every_notebook_and_the_space_get_their_links_once(copy: Path) -> None:
    notebooks = sorted((copy / "examples").glob("*.ipynb"))
    before = {path: json.loads(path.read_text("utf-8")) for path in notebooks}
    assert publish("https://github.com/someone/bert-explorer", copy) == [*notebooks, copy / "space" / "README.md"]
    assert publish("https://github.com/someone/bert-explorer.git", copy) == []
    assert len(publish("https://github.com/other/fork", copy)) == len(notebooks) + 1
    for path in notebooks:
        title, install, *cells = json.loads(path.read_text("utf-8"))["cells"]
        assert "".join(title["source"]).count("(https://colab.research.google.com/github/other/fork/blob/main/") == 1
        assert "github.com/other/fork/archive/refs/heads/main.zip" in "".join(install["source"])
        ast.parse("".join(install["source"]).replace("%pip", "pip #"))
        assert cells == before[path]["cells"][1:]
        assert not [cell for cell in (title, install) if "![" in "".join(cell["source"])]  # no image of another host
    card = (copy / "space" / "README.md").read_text("utf-8")
    assert card.count("thumbnail: ") == 1
    assert "raw.githubusercontent.com/other/fork/main/assets/screenshot.png" in card


def test_another_host_is_refused(copy: Path) -> None:
    with pytest.raises(ValueError, match="wanted https://github.com/OWNER/REPOSITORY"):
        publish("https://example.org/me/bert", copy)
