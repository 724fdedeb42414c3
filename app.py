"""BERT Explorer: `python app.py` opens the page."""

import os
import sys

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import QUIET, Settings


def main() -> int:
    os.environ.update(QUIET)  # before gradio is imported
    from bertexplorer.ui.quick import import_gradio

    import_gradio()
    from bertexplorer.store.library import Library
    from bertexplorer.ui.launch import launch

    try:
        settings = Settings.from_env(os.environ)
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error}\n")
        return 2
    return launch(Library(settings, shared=True), settings)


if __name__ == "__main__":
    sys.exit(main())
