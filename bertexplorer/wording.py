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


def distance(value: float) -> str:
    """The distance between two vectors in two digits, or that it is below the noise of fp32.

    >>> distance(0.01234), distance(0.1004), distance(3e-9)
    ('0.012', '0.10', 'below 1e-6')
    """
    if value < 1e-6:
        return "below 1e-6"
    return f"{value:#.2g}" if value >= 1e-3 else f"{value:.2g}"
