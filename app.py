"""BERT Explorer: `python app.py` opens the page."""

import os
import sys

from bertexplorer.settings import QUIET, Settings
from bertexplorer.store.library import Library


def main() -> int:
    os.environ.update(QUIET)  # before gradio is imported
    settings = Settings.from_env(os.environ)
    library = Library(settings)

    from bertexplorer.ui.launch import launch

    return launch(library, settings)


if __name__ == "__main__":
    sys.exit(main())
