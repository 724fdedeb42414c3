"""The command line: python -m bertexplorer.

main.py  every analysis as a command, its Options as flags; checkpoints; runs that learn
"""

from bertexplorer.cli.main import main, make_parser

__all__ = ["main", "make_parser"]
