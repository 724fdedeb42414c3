"""The HTTP API, which the page uses too."""
