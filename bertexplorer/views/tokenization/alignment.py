"""Two tokenizers on one text: the pieces of each above the characters that they cover."""

import re
from collections.abc import Sequence

from bertexplorer.charts.marks import Figure, MarkedSpan, Panel, Spans, StyledWords, TextLines, Tone, key
from bertexplorer.charts.style import clip
from bertexplorer.views.tokenization.compute import Tokenization

MASK = re.compile(r"\[MASK\]|<mask>", re.IGNORECASE)  # spellings of equal length, so that characters keep their places
Piece = tuple[int, int, int, str, int]  # side, start and end of its characters, its name, its id


def draw(first: Tokenization, second: Tokenization, names: tuple[str, str]) -> Figure | None:
    """The pieces of *first* above those of *second*; None for different texts."""
    if not same_texts(first, second):
        return None
    both_pieces = [pieces(first), pieces(second)]
    covered = [{piece[:3] for piece in piece_list} for piece_list in both_pieces]
    starts = [0, len(first.texts[0]) + 1]  # of both sides of a pair in one text
    rows = []
    lines: list[StyledWords | Sequence[StyledWords]] = []
    for place, result, name, piece_list, others in zip(
        ("above", "below"), (first, second), names, both_pieces, reversed(covered), strict=True
    ):
        row = []
        for side, start, end, token, id in merge_same_span(piece_list):
            tone: Tone = "pale" if (side, start, end) in others else "orange"
            hover = f"{clip(name, 30)}: {clip(token)}, id {id}"
            row.append(MarkedSpan(starts[side] + start, starts[side] + end, tone, hover))
        rows.append(row)
        read = " read" if result.left_out else ""
        lines.append([StyledWords(place, "blue"), StyledWords(f" {clip(name, 30)}: {len(piece_list)} pieces{read}")])
    texts = ["\n".join(result.texts) for result in (first, second)]
    lines += key(("■", "orange", "cut differently")).lines
    return Figure([Panel([Spans(texts, rows), TextLines(lines)])])


def same_texts(first: Tokenization, second: Tokenization) -> bool:
    """Whether both are of the same texts, however their checkpoints spell the mask."""
    one, other = ([MASK.sub("[MASK]", text) for text in result.texts] for result in (first, second))
    return one == other


def pieces(result: Tokenization) -> list[Piece]:
    """The pieces that cover characters, without special tokens."""
    return [
        (*span, token, id)
        for span, token, id in zip(result.spans, result.tokens, result.ids, strict=True)
        if span is not None and span.end > span.start
    ]


def merge_same_span(piece_list: Sequence[Piece]) -> list[Piece]:
    """*piece_list* with pieces of the same character, such as the bytes of “ë”, merged."""
    merged: dict[tuple[int, int, int], Piece] = {}
    for side, start, end, token, id in piece_list:
        previous = merged.get((side, start, end))
        name, first_id = (f"{previous[3]} + {token}", previous[4]) if previous else (token, id)
        merged[side, start, end] = (side, start, end, name, first_id)
    return list(merged.values())


def say(first: Tokenization, second: Tokenization) -> str:
    """The numbers of pieces, and how many cover the same characters; "" for different texts."""
    if not same_texts(first, second):
        return ""
    both_pieces = [pieces(first), pieces(second)]
    shared = len({piece[:3] for piece in both_pieces[0]} & {piece[:3] for piece in both_pieces[1]})
    first_mean, second_mean = (
        f"{letters_covered(result, piece_list) / max(1, len(piece_list)):.1f}"
        for result, piece_list in zip((first, second), both_pieces, strict=True)
    )
    cut = first.left_out or second.left_out
    whole = "the whole text" if cut else "the text"
    parts = [
        "the part of the text that its checkpoint reads" if result.left_out else whole for result in (first, second)
    ]
    return (
        f"The first tokenizer ({first.kind}) cuts {parts[0]} into {len(both_pieces[0])} pieces, the second "
        f"({second.kind}){f' cuts {parts[1]}' if cut else ''} into {len(both_pieces[1])}; {shared} cover the same "
        f"characters. On average a piece of the first has {first_mean} letters, one of the second {second_mean}."
    )


def letters_covered(result: Tokenization, piece_list: Sequence[Piece]) -> int:
    """The characters that the pieces cover, each counted once and spaces left out."""
    covered = {(side, i) for side, start, end, *_ in piece_list for i in range(start, end)}
    return sum(not result.texts[side][i].isspace() for side, i in covered)
