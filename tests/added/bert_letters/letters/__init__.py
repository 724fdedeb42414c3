"""A view as a package brings it: a folder."""
