"""Whether a text falls into pieces of a few letters, as one in a language that the vocabulary lacks does."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

# Sentences of plain English have about 6 % of their letters in such pieces of mini, those in German or French 40 to
# 80 %. Above MUCH are 10 of 12 sentences of a European language, nearly all in another script, and 1 of 400 English
# ones, most of them quotations or terms of anatomy. (tests/languages.py; tests/model/test_small_pieces.py)
MUCH = 0.4  # of the letters
SMALL = 3  # letters of a piece; two would find 8 German sentences of 12, and fewer Finnish ones
WORDS = 2  # that fall apart and do not begin with a capital: a rare word, or a list of names, is no other language
LARGE = 4  # letters of a piece that a vocabulary of characters has hardly any of
FEWEST = 200  # such pieces of a vocabulary that reads words: below are those of characters, and toys
# In these scripts a sign is a syllable or a word, and nothing is between words: a small piece is a whole one.
SIGNS = re.compile("[\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U0003ffff]")  # Chinese, Korean
SYLLABLES = re.compile("[\u3041-\u30ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # kana; Thai, Lao, Burmese, Khmer


class Piece(NamedTuple):
    """A token that stands for the characters of a text from *start* to *end*, and the number of its word."""

    start: int
    end: int
    word: int | None
    unknown: bool  # whether it stands for what is not in the vocabulary


def largest_small_piece(letters: str) -> int:
    """How many letters a part of a word may have to be small, in the script of *letters*."""
    if SIGNS.search(letters):
        return 0
    if SYLLABLES.search(letters):
        return 1
    return SMALL


def what_it_falls_into(text: str, pieces: Sequence[Piece], unknown: str) -> str:
    """What much of *text* is read as, such as "in pieces of one to three letters"; "" if whole words and larger pieces
    prevail. *pieces*: those of the text in order. *unknown*: the token for what is not in the vocabulary."""
    sizes = Counter(piece.word for piece in pieces)
    capital: dict[int | None, bool] = {}  # whether a word begins with a capital
    broken: set[tuple[int | None, int]] = set()  # words that fall apart
    letters = small = as_unknown = counted = 0
    for i, piece in enumerate(pieces):
        capital.setdefault(piece.word, text[piece.start : piece.start + 1].isupper())
        # Several pieces may be bytes of one character, which counts once.
        divided = i + 1 < len(pieces) and pieces[i + 1].start < piece.end
        new = "".join(filter(str.isalpha, text[max(piece.start, counted) : piece.end]))
        counted = max(counted, piece.end)
        if not new:
            continue
        letters += len(new)
        limit = largest_small_piece(new)
        part_of_word = sizes[piece.word] > 1
        if piece.unknown or divided or (part_of_word and len(new) <= limit):
            small += len(new)
            as_unknown += len(new) * piece.unknown
            if not capital[piece.word]:
                broken.add((piece.word, i if limit < SMALL else -1))  # without spaces, each sign is a word
    if small < MUCH * letters or len(broken) < WORDS:
        return ""
    return f"as {unknown}" if 2 * as_unknown > small else "in pieces of one to three letters"


def language_note(texts: tuple[str, str], pieces: Sequence[Sequence[Piece]], unknown: str, language: str) -> str:
    """A sentence or two for people if one of *texts* falls apart; "" if none does. *pieces*: those of each.
    *language*: the one that the checkpoint was trained on; "" if that is not known."""
    found = {}
    for side in (0, 1):
        if what := what_it_falls_into(texts[side], pieces[side], unknown):
            found[side] = what
    if not found:
        return ""
    name = "this text"
    if texts[1]:
        name = "both texts" if len(found) > 1 else f"the {('first', 'second')[min(found)]} text"
    if language:
        reason = f"This checkpoint was trained on {language}; in another language, its answers mean little."
    else:
        reason = "The vocabulary of this checkpoint has few of these words, so its answers here mean little."
    return f"Much of {name} is read {found[min(found)]}. {reason}"
