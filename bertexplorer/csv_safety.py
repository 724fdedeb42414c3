"""CSV safety: escapes text so that spreadsheets show it and do not run it as a formula."""

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # a spreadsheet reads these as the start of a formula


def escape_formula(value: object) -> object:
    """*value* with an apostrophe in front if a spreadsheet would read it as a formula, even after leading spaces. Other
    texts and numbers are unchanged (https://owasp.org/www-community/attacks/CSV_Injection)."""
    if isinstance(value, str) and (value.startswith(FORMULA) or value.lstrip().startswith(FORMULA)):
        return "'" + value
    return value
