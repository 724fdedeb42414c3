"""The characters that the rules of a tokenizer treat apart, as classes of a regular expression. The library of the
tokenizer and a browser may follow different versions of Unicode; with these lists, asked of the library, they agree."""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

from tokenizers import Regex, normalizers, pre_tokenizers

CODES = [*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE0200)]  # without surrogates
PRIVATE, ALL_PRIVATE = "\U000f0000", r"\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"  # the two last planes, all alike
CHARACTERS = [chr(code) for code in CODES]
NO_MARK = "a"  # of the combining class 0
MARK = "\u0300"  # of 230
LAST_MARK = "\u0345"  # of 240, the largest


def as_class(characters: Iterable[str]) -> str:
    """*characters* in ascending order as ranges, such as \\u{21}-\\u{2f}."""
    ranges: list[list[int]] = []
    for code in map(ord, characters):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{{{low:x}}}" + (f"-\\u{{{high:x}}}" if high > low else "") for low, high in ranges)


@cache
def of_kind(name: str) -> str:
    """The characters of the class *name*: one of KINDS, or what a regular expression of the library calls \\name or
    \\p{name}."""
    if name not in KINDS:
        return as_class(matching(name))
    test = KINDS[name]()
    return as_class(filter(test, CHARACTERS)) + (ALL_PRIVATE if test(PRIVATE) else "")


def matching(name: str) -> list[str]:
    """The characters that a regular expression calls \\*name* or \\p{*name*}, in ascending order."""
    written = f"\\{name}" if name in ("s", "d", "w") else f"\\p{{{name}}}"
    found = pre_tokenizers.Split(Regex(written), "removed", invert=True).pre_tokenize_str("".join(CHARACTERS))
    return [character for part, _ in found for character in part]


Test = Callable[[str], bool]


def bert_cleaning() -> Callable[[str], str]:
    return normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False
    ).normalize_str


def space() -> Test:
    clean = bert_cleaning()
    return lambda character: clean(character) == " "


def control() -> Test:
    clean = bert_cleaning()
    return lambda character: clean(character) == ""


def nonspacing() -> Test:
    """The marks that BERT strips."""
    strip = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    ).normalize_str
    return lambda character: strip(character) == ""


def chinese() -> Test:
    """The signs that BERT reads as words of their own."""
    separate = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=False
    ).normalize_str
    return lambda character: separate(character) == f" {character} "


def marks() -> Test:
    strip = normalizers.StripAccents().normalize_str
    return lambda character: strip(character) == ""


def changes_case() -> Test:
    lower = normalizers.Lowercase().normalize_str
    return lambda character: lower(character) != character


def punctuation() -> Test:
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    return lambda character: [part for part, _ in split(f"a{character}")] == ["a", character]


def numeric() -> Test:
    split = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str
    return lambda character: len(split(f"a{character}")) == 2


def nfd() -> Test:
    decompose = normalizers.NFD().normalize_str
    return lambda character: decompose(character) != character


def nfkd() -> Test:
    decompose = normalizers.NFKD().normalize_str
    return lambda character: decompose(character) != character


# Clusters, which the library shows by what it replaces as a whole.


def extend() -> Test:
    """The characters that belong to the cluster of the one before."""
    replace = table({b"a": "b"}).normalize_str
    return lambda character: replace(f"a{character}") == "b"


def prepend() -> Test:
    """The characters that begin the cluster of the one after."""
    replace = table(LEADS).normalize_str
    return lambda character: character > "\x7f" and replace(f"{character}a") == "x"


def breaks() -> Test:
    """The characters that are a cluster alone."""
    replace = table(LEADS).normalize_str
    return lambda character: replace(f"{character}{2 * MARK}").count("x") == 1 + (character > "\x7f")


LEADS = {bytes([byte]): "x" for byte in range(0xC2, 0xF5)}  # the first bytes of all characters but those of ASCII


def table(replaced: dict[bytes, str]) -> normalizers.Precompiled:
    """A normaliser that replaces what begins with one of the bytes *replaced*, all by the same character."""
    [to] = set(replaced.values())
    units = [0] * 512
    units[0] = 256 << 10  # the root, whose children are from 256 on
    units[1] = 1 << 31  # a leaf: the first of the replacements
    for [byte] in replaced:
        at = 256 ^ byte
        units[at] = byte | 1 << 8 | (at ^ 1) << 10
    packed = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + to.encode() + b"\0"
    return normalizers.Precompiled(packed)


KINDS: dict[str, Callable[[], Test]] = {
    "space": space,
    "control": control,
    "nonspacing": nonspacing,
    "chinese": chinese,
    "marks": marks,
    "changes_case": changes_case,
    "punctuation": punctuation,
    "numeric": numeric,
    "nfd": nfd,
    "nfkd": nfkd,
    "extend": extend,
    "prepend": prepend,
    "breaks": breaks,
}


@cache
def combining_classes() -> dict[int, str]:
    """Combining class above 0 -> its characters. The library sorts marks by these classes; Python's may be of another
    version, so a mark that it does not know has the class of one that the library treats alike."""
    decompose = normalizers.NFD().normalize_str

    def in_order(first: str, second: str) -> bool:
        return decompose(first + second) == first + second

    sorted_ones = [c for c in matching("M") if len(decompose(c)) == 1 and not in_order(LAST_MARK, c)]
    sorted_ones += [c for c in matching("M") if unicodedata.combining(c) == 240]
    examples = {unicodedata.combining(c): c for c in sorted_ones if unicodedata.combining(c)}
    found: dict[int, list[str]] = {}
    for character in sorted(sorted_ones):
        for number, example in examples.items():
            if in_order(example, character) and in_order(character, example):
                found.setdefault(number, []).append(character)
                break
    return {number: as_class(found[number]) for number in sorted(found)}
