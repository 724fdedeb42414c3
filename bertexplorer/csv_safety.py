"""CSV safety: rows as CSV whose text spreadsheets show and do not run as a formula."""

import csv
import io
from collections.abc import Mapping, Sequence

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # a spreadsheet reads these as the start of a formula


def escape_formula(value: object) -> object:
    """*value* with an apostrophe in front if a spreadsheet would read it as a formula, even after leading spaces. Other
    texts and numbers are unchanged (https://owasp.org/www-community/attacks/CSV_Injection)."""
    if isinstance(value, str) and (value.startswith(FORMULA) or value.lstrip().startswith(FORMULA)):
        return "'" + value
    return value


def as_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV (RFC 4180); a text cell that a spreadsheet would take for a formula starts with an apostrophe."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\r\n")
    writer.writerow({key: escape_formula(key) for key in writer.fieldnames})
    writer.writerows({key: escape_formula(value) for key, value in row.items()} for row in rows)
    return out.getvalue()
