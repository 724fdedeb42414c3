"""Two tokenizers on one text: the pieces of each above the characters that they cover."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bertexplorer.charts.marks import Figure, MarkedSpan, Panel, Spans, StyledWords, TextLines, Tone, key
from bertexplorer.charts.style import clip
from bertexplorer.model.text import Span
from bertexplorer.views.tokenization.compute import Tokenization

MASK = re.compile(r"\[MASK\]|<mask>", re.IGNORECASE)  # spellings of equal length, so that characters keep their places


class Piece(NamedTuple):
    """A piece, and the characters that it covers."""

    span: Span
    token: str
    id: int


def draw(first: Tokenization, second: Tokenization, names: tuple[str, str]) -> Figure | None:
    """The pieces of *first* above those of *second*; None for different texts."""
    if not same_texts(first, second):
        return None
    first_pieces = pieces(first)
    second_pieces = pieces(second)
    above = marked_spans(first, first_pieces, second_pieces, names[0])
    below = marked_spans(second, second_pieces, first_pieces, names[1])
    legend: list[StyledWords | Sequence[StyledWords]] = [
        count_line("above", first, first_pieces, names[0]),
        count_line("below", second, second_pieces, names[1]),
        *key(("■", "orange", "cut differently")).lines,
    ]
    texts = ["\n".join(result.texts) for result in (first, second)]
    return Figure([Panel([Spans(texts, [above, below]), TextLines(legend)])])


def marked_spans(result: Tokenization, own: Sequence[Piece], others: Sequence[Piece], name: str) -> list[MarkedSpan]:
    """The *own* pieces of a tokenizer; pale where the other one cuts alike."""
    cut_alike = {piece.span for piece in others}
    starts = [0, len(result.texts[0]) + 1]  # of both sides of a pair in one text
    row = []
    for piece in merge_same_span(own):
        tone: Tone = "pale" if piece.span in cut_alike else "orange"
        start = starts[piece.span.side]
        hover = f"{clip(name, 30)}: {clip(piece.token)}, id {piece.id}"
        row.append(MarkedSpan(start + piece.span.start, start + piece.span.end, tone, hover))
    return row


def count_line(place: str, result: Tokenization, own: Sequence[Piece], name: str) -> list[StyledWords]:
    """How many pieces a tokenizer makes."""
    count = f"{len(own)} pieces read" if result.left_out else f"{len(own)} pieces"
    return [StyledWords(place, "blue"), StyledWords(f" {clip(name, 30)}: {count}")]


def same_texts(first: Tokenization, second: Tokenization) -> bool:
    """Whether both are of the same texts, however their checkpoints spell the mask."""
    first_texts = [MASK.sub("[MASK]", text) for text in first.texts]
    second_texts = [MASK.sub("[MASK]", text) for text in second.texts]
    return first_texts == second_texts


def pieces(result: Tokenization) -> list[Piece]:
    """The pieces that cover characters, without special tokens."""
    covering = []
    for span, token, id in zip(result.spans, result.tokens, result.ids, strict=True):
        if span is not None and span.end > span.start:
            covering.append(Piece(span, token, id))
    return covering


def merge_same_span(own: Sequence[Piece]) -> list[Piece]:
    """*own* pieces, with those of the same character, such as the bytes of “ë”, merged; such a piece has the first
    id."""
    merged: dict[Span, Piece] = {}
    for piece in own:
        previous = merged.get(piece.span)
        if previous:
            piece = previous._replace(token=f"{previous.token} + {piece.token}")
        merged[piece.span] = piece
    return list(merged.values())


def say(first: Tokenization, second: Tokenization) -> str:
    """The numbers of pieces, and how many cover the same characters; "" for different texts."""
    if not same_texts(first, second):
        return ""
    first_pieces = pieces(first)
    second_pieces = pieces(second)
    if first.left_out or second.left_out:
        first_cuts = f"cuts {part_read(first)}"
        second_cuts = f"the second ({second.kind}) cuts {part_read(second)}"
    else:
        first_cuts = "cuts the text"
        second_cuts = f"the second ({second.kind})"
    shared = {piece.span for piece in first_pieces} & {piece.span for piece in second_pieces}
    return (
        f"The first tokenizer ({first.kind}) {first_cuts} into {len(first_pieces)} pieces, {second_cuts} into "
        f"{len(second_pieces)}; {len(shared)} cover the same characters. On average a piece of the first has "
        f"{mean_letters(first, first_pieces):.1f} letters, one of the second {mean_letters(second, second_pieces):.1f}."
    )


def part_read(result: Tokenization) -> str:
    """How much of a text is read, where not all checkpoints read all of it."""
    return "the part of the text that its checkpoint reads" if result.left_out else "the whole text"


def mean_letters(result: Tokenization, own: Sequence[Piece]) -> float:
    """The characters that the pieces cover, each counted once and spaces left out, for each piece."""
    covered = set()
    for piece in own:
        for i in range(piece.span.start, piece.span.end):
            covered.add((piece.span.side, i))
    letters = sum(not result.texts[side][i].isspace() for side, i in covered)
    return letters / max(1, len(own))
