"""The server: the page inside layers, each with one task."""
