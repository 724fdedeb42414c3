"""Numbers in sentences."""


def plural(noun: str, number: int) -> str:
    """*noun*, with an s unless *number* is 1.

    >>> plural("row", 1), plural("row", 0)
    ('row', 'rows')
    """
    return noun if number == 1 else f"{noun}s"


def counted(number: int, noun: str) -> str:
    """*number* with its *noun*.

    >>> counted(1, "head"), counted(2300, "row")
    ('1 head', '2,300 rows')
    """
    return f"{number:,} {plural(noun, number)}"
