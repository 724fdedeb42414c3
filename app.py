"""BERT Explorer: `python app.py` opens the page."""

import os
import sys

from bertexplorer.settings import QUIET, Settings


def main() -> int:
    os.environ.update(QUIET)  # before gradio is imported
    from bertexplorer.ui.quick import import_gradio

    import_gradio()
    from bertexplorer.store.library import Library
    from bertexplorer.ui.launch import launch

    settings = Settings.from_env(os.environ)
    return launch(Library(settings), settings)


if __name__ == "__main__":
    sys.exit(main())
