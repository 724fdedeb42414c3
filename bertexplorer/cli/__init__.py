"""The command line: python -m bertexplorer."""

from bertexplorer.cli.main import main
from bertexplorer.cli.parser import make_parser
from bertexplorer.cli.serve import serve

__all__ = ["main", "make_parser", "serve"]
