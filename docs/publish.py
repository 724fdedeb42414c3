"""Writes what needs a public address: the Colab links of the notebooks, and the thumbnail of the Space.

python -m docs.publish https://github.com/OWNER/REPOSITORY     again after a move, or for a fork

The links are text: a badge would be an image from another host, which a notebook would fetch when it is opened.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ADDRESS = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
COLAB = re.compile(r"\n\n\[Open in Colab\]\(.*?\)")
INSTALL = 'import sys\n\nif "google.colab" in sys.modules:\n    %pip install -q {archive}'
THUMBNAIL = re.compile(r"^thumbnail: .*\n", re.MULTILINE)


def publish(address: str, root: Path = ROOT) -> list[Path]:
    """Write the links for the repository at *address* below *root*. Returns the files that changed.

    Raises ValueError for an address that is not a repository on GitHub, from where Colab opens notebooks."""
    match = ADDRESS.fullmatch(address)
    if match is None:
        raise ValueError(f"{address!r} is no repository that Colab opens; wanted https://github.com/OWNER/REPOSITORY.")
    repository = match[1]
    written = {path: notebook(path, repository) for path in sorted((root / "examples").glob("*.ipynb"))}
    space = root / "space" / "README.md"
    picture = f"thumbnail: https://raw.githubusercontent.com/{repository}/main/assets/screenshot.png\n"
    written[space] = THUMBNAIL.sub("", space.read_text("utf-8")).replace("pinned:", f"{picture}pinned:", 1)
    changed = [path for path, content in written.items() if content != path.read_text("utf-8")]
    for path in changed:
        path.write_text(written[path], "utf-8")
    return changed


def notebook(path: Path, repository: str) -> str:
    """The notebook with its link below the title, and a first code cell that installs the package in Colab."""
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    title, *cells = content["cells"]
    link = f"https://colab.research.google.com/github/{repository}/blob/main/examples/{path.name}"
    words = COLAB.sub("", "".join(title["source"])) + f"\n\n[Open in Colab]({link})"
    title["source"] = words.splitlines(keepends=True)
    archive = f'"bertexplorer[train] @ https://github.com/{repository}/archive/refs/heads/main.zip"'
    install: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": INSTALL.format(archive=archive).splitlines(keepends=True),
    }
    content["cells"] = [title, install, *(cell for cell in cells if cell.get("id") != "install")]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    publish(sys.argv[1])
