"""BERT Explorer: `python app.py` opens the page; `--public` serves it to others without an access code."""

import sys

from bertexplorer.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
