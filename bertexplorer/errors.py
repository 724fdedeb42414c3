"""The one error that a person is meant to read: what was given, what was wanted, what to do."""


class ExplorerError(ValueError):
    """Raised on bad input of any kind; its text is shown as it is, on the page and by the command line."""
