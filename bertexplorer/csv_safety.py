"""CSV safety: a text as a spreadsheet may be given it, so that it is shown and never run."""

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # what a spreadsheet takes for the start of a formula


def escape_formula(value: object) -> object:
    """A text that would be taken for a formula, spaces before it aside, with an apostrophe in front; any other text,
    and a number, as it is (https://owasp.org/www-community/attacks/CSV_Injection)."""
    if isinstance(value, str) and (value.startswith(FORMULA) or value.lstrip().startswith(FORMULA)):
        return "'" + value
    return value
