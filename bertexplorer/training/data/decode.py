"""Decode the bytes of an uploaded file as text, and detect their encoding."""

from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.wording import counted

MAX_BYTES = 25_000_000
BINARY_FORMATS = {  # first bytes -> kind of file
    b"PK": "a zip archive, as .xlsx and .docx files are",
    b"\x1f\x8b": "packed with gzip",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
    b"7z\xbc\xaf": "a 7z archive",
    b"PAR1": "a Parquet file",
    b"%PDF-": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Office file",
}
MARKUP_STARTS = ("<!doctype", "<html", "<?xml")


def display_name(filename: str) -> str:
    """A file's own name, shortened and without invisible characters."""
    name = Path(filename.replace("\\", "/")).name
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in name[:60]) or "The file"


def decode(content: bytes, name: str) -> tuple[str, str]:
    """(text, name of its encoding): UTF-16 with a byte order mark, UTF-8, else Windows or plain Latin-1. UTF-8 with
    single broken bytes is still read as UTF-8, and described so. Raises ExplorerError for files that are not text, for
    archives (which are never unpacked), web pages, and more than 25 MB; *name* appears in the message."""
    if len(content) > MAX_BYTES:
        raise ExplorerError(f"{name} has {len(content) / 1e6:.1f} MB; the limit is {MAX_BYTES / 1e6:.0f}. Shorten it.")
    for start, description in BINARY_FORMATS.items():
        if content.startswith(start) and (b"\0" in content or not content.isascii()):
            raise ExplorerError(
                f"{name} is {description}; such files are not opened. Save the table itself as CSV in UTF-8."
            )
    text, encoding = decode_text(content, name)
    head = text[:100_000]
    control_characters = sum(sign < " " and sign not in "\t\n\r\f\v" for sign in head)
    if "\0" in text or control_characters > len(head) / 100:
        raise ExplorerError(f"{name} is not text: it contains binary data. Save it as CSV or TXT in UTF-8.")
    if head.lstrip()[:20].lower().startswith(MARKUP_STARTS):
        raise ExplorerError(
            f"{name} is a web page or XML, not a table. Download the data itself, as CSV, JSONL or TXT."
        )
    return text.lstrip("\ufeff"), encoding


def decode_text(content: bytes, name: str) -> tuple[str, str]:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return content.decode("utf-16"), "UTF-16"
        except UnicodeDecodeError as error:
            raise ExplorerError(f"{name} is UTF-16 and damaged at byte {error.start:,}. Save it as UTF-8.") from error
    try:
        has_mark = content.startswith(b"\xef\xbb\xbf")
        return content.decode("utf-8-sig"), "UTF-8 with a byte order mark" if has_mark else "UTF-8"
    except UnicodeDecodeError:
        text = content.decode("utf-8-sig", errors="replace")
    broken = text.count("\ufffd") - content.count("\ufffd".encode())
    if broken < len(text) - len(text.encode("ascii", "ignore")) - broken:
        return text, f"UTF-8 ({counted(broken, 'broken character')} shown as \ufffd)"
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:  # the five bytes that cp1252 leaves undefined
        return content.decode("latin-1"), "Latin-1"
    return text, "Latin-1" if text == content.decode("latin-1") else "Windows Latin-1"
