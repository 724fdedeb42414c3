"""The version, stated here and nowhere else: the package's metadata and `bertexplorer --version` read it."""

__version__ = "0.2.0"
