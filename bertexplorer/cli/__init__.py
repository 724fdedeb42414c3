"""The command line: python -m bertexplorer."""

from bertexplorer.cli.main import main, make_parser, table

__all__ = ["main", "make_parser", "table"]
