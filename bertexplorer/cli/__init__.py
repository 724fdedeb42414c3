"""The command line: python -m bertexplorer.

main.py     every analysis as a command, its Options as flags; checkpoints; training runs
serve.py    serves the page until a signal ends it
cluster.py  checks the nodes of a Ray cluster
lesson.py   lists and checks lessons
"""

from bertexplorer.cli.main import main, make_parser
from bertexplorer.cli.serve import serve

__all__ = ["main", "make_parser", "serve"]
