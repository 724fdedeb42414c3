"""BERT Explorer: `python app.py` opens the page; `--public` serves it to others without a class code."""

import sys

from bertexplorer.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
