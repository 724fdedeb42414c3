"""The command line: python -m bertexplorer.

main.py     every analysis as a command, its Options as flags; checkpoints; runs that learn
serve.py    the page, served until a signal ends it
cluster.py  what is wrong with the nodes of a Ray cluster
lesson.py   the lessons, listed and checked
"""

from bertexplorer.cli.main import main, make_parser
from bertexplorer.cli.serve import serve

__all__ = ["main", "make_parser", "serve"]
