"""BERT Explorer: `python app.py` opens the page; `--public` serves it to others without a class code."""

import os
import sys
from dataclasses import replace

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import QUIET, Settings


def main() -> int:
    if strange := [word for word in sys.argv[1:] if word != "--public"]:
        sys.stderr.write(f"bertexplorer: {strange[0]!r:.60} is not known; wanted --public, or nothing.\n")
        return 2
    try:
        settings = replace(Settings.from_env(os.environ), public="--public" in sys.argv[1:])
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error}\n")
        return 2
    os.environ.update(QUIET | {"GRADIO_TEMP_DIR": str(settings.uploads_dir.resolve())})  # before gradio is imported
    import bertexplorer.ui.gradio_patches  # noqa: F401 - before gradio itself
    from bertexplorer.server.launch import launch
    from bertexplorer.store.library import Library

    return launch(Library(settings, shared=True), settings)


if __name__ == "__main__":
    sys.exit(main())
