"""Lines that try a tokenizer: words of many scripts, marks in any order, emoji, every kind of space, special tokens."""

import random
from collections.abc import Iterator

from tests.languages import LANGUAGES

BLOCKS = [  # of Unicode: the first character, and the first after it
    *[(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x400), (0x400, 0x530), (0x590, 0x600), (0x600, 0x700)],
    *[(0x900, 0x980), (0x980, 0xA00), (0xB80, 0xC00), (0xE00, 0xE80), (0xF00, 0x1000), (0x1100, 0x1200)],
    *[(0x1780, 0x1800), (0x1E00, 0x1F00), (0x1F00, 0x2000), (0x2000, 0x2070), (0x2100, 0x2200), (0x2460, 0x2600)],
    *[(0x3000, 0x3100), (0x3200, 0x3400), (0x4E00, 0x5000), (0xA720, 0xA800), (0xAC00, 0xAD00), (0xD7B0, 0xD800)],
    *[(0xF900, 0xFB00), (0xFB00, 0xFE00), (0xFE00, 0xFF00), (0xFF00, 0xFFF0), (0x10900, 0x10A60), (0x11000, 0x11200)],
    *[(0x1D100, 0x1D200), (0x1D400, 0x1D800), (0x1F1E6, 0x1F200), (0x1F300, 0x1F700), (0x2B800, 0x2B930)],
]
WORDS = """
    👩‍👩‍👧 🇩🇪 🇫🇷🇮🇹🇯 👍🏽 ❤️ ☺️ 1️⃣ ©‍© ™‍™ ﬁ ﬃ İ ß ẞ Σς ŉ ǆ ½ ² Å Å ｶﾞ ㍿ ﷺ … ``quoted'' don't I'LL we've they're 'S
    'ſ <mask> [MASK] <s> </s> [SEP] <unk> [UNK] ▁ ▁▁a Ġ ĠĠ ##ing <0x41> 123456 1,000.50 ٣٤ १२३ x² !! “x” （z） C++ $5 —
"""
ODD = WORDS.split()
SPACES = [" ", "  ", "    ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\x85"]
HIDDEN = ["\u200b", "\u200c", "\u200d", "\u00ad", "\ufeff", "\x00", "\x07", "\x1c", "\u180e", "\u2060", "\ufe0f"]
MARKS = [
    *range(0x300, 0x370),
    *[0x345, 0x483, 0x591, 0x5B0, 0x64B, 0x93C, 0x94D, 0xE48, 0xF71, 0xF72, 0x1DC0, 0x20D0, 0x302A, 0x3099, 0x1D165],
]
BASES = [*range(0x61, 0x7B), *range(0xC0, 0x180), *range(0x391, 0x3CA), *range(0x410, 0x450), *range(0x915, 0x93A)]
BASES += [0x1100, 0x1161, 0x11A8, 0xAC00, 0xAC01]


def many_lines(count: int, seed: int = 0) -> Iterator[str]:
    """*count* lines, the same for the same *seed*."""
    chance = random.Random(seed)
    sentences = [line for group in LANGUAGES.values() for line in group]

    def marked() -> str:
        return chr(chance.choice(BASES)) + "".join(chr(chance.choice(MARKS)) for _ in range(chance.randrange(4)))

    def of_a_block() -> str:
        low, high = chance.choice(BLOCKS)
        return "".join(chr(chance.randrange(low, high)) for _ in range(chance.randrange(1, 7)))

    def word() -> str:
        kind = chance.random()
        if kind < 0.3:
            return of_a_block()
        if kind < 0.5:
            return "".join(marked() for _ in range(chance.randrange(1, 4)))
        if kind < 0.7:
            return chance.choice(ODD)
        if kind < 0.8:
            return chance.choice(HIDDEN)
        return chance.choice(sentences)

    for _ in range(count):
        parts = [word() + chance.choice(["", " ", chance.choice(SPACES)]) for _ in range(chance.randrange(1, 8))]
        yield "".join(parts).encode("utf-8", "ignore").decode()
