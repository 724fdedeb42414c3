"""Two tokenizers on one text: the pieces of each above the characters that they cover."""

import re
from collections.abc import Sequence

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ACCENT, INK, MONO, ORANGE, coloured, finish, label, safe
from bertexplorer.views.tokenization.compute import Tokenization

WIDTH = 40  # characters in a line, as many as fit on a phone
LINE = 76  # pixels: both rows of a line, and the space below them
LINES = 24
SAME, OTHER = "#cfe0f3", "#f6d2b3"
MASK = re.compile(r"\[MASK\]|<mask>", re.IGNORECASE)  # spellings of equal length, so that characters keep their places
Piece = tuple[int, int, int, str, int]  # side, start and end of its characters, its name, its id


def draw(first: Tokenization, second: Tokenization, names: tuple[str, str]) -> Chart | None:
    """The pieces of *first* above those of *second*; None for different texts."""
    if not same_texts(first, second):
        return None
    both_pieces = [pieces(first), pieces(second)]
    spans_of_both = [{piece[:3] for piece in piece_list} for piece_list in both_pieces]
    lines = wrap_lines(first.texts)[:LINES]
    fig = Chart()
    for row, (result, piece_list) in enumerate(zip((first, second), both_pieces, strict=True)):
        for number, (side, start, end) in enumerate(lines):
            visible = [
                piece
                for piece in merge_same_span(piece_list)
                if piece[0] == side and piece[1] < end and piece[2] > start
            ]
            if not visible:
                continue
            colours = [SAME if piece[:3] in spans_of_both[1 - row] else OTHER for piece in visible]
            fig.add_bar(
                base=[max(piece[1], start) - start for piece in visible],
                x=[min(piece[2], end) - max(piece[1], start) for piece in visible],
                y=[3 * number + row] * len(visible),
                orientation="h",
                width=0.86,
                marker={"color": colours, "line": {"color": "#ffffff", "width": 2}},
                text=[safe(result.texts[side][max(piece[1], start) : min(piece[2], end)]) for piece in visible],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"family": MONO, "size": 12, "color": INK},
                customdata=[f"{label(names[row], 30)}: {label(piece[3])}, id {piece[4]}" for piece in visible],
                hovertemplate=kit.HOVER,
            )
    counts = [
        f"{len(piece_list)} pieces{' read' if result.left_out else ''}"
        for result, piece_list in zip((first, second), both_pieces, strict=True)
    ]
    above = f"{coloured('above', ACCENT)} {label(names[0], 30)}: {counts[0]}"
    below = f"{coloured('below', ACCENT)} {label(names[1], 30)}: {counts[1]}"
    fig.add_annotation(kit.above(f"{above}<br>{below}<br>{coloured('■', ORANGE)} cut differently", 8, size=13))
    fig.update_xaxes(range=[-0.5, WIDTH + 0.5], **kit.HIDDEN)
    fig.update_yaxes(range=[3 * len(lines) - 1.2, -0.7], **kit.HIDDEN)
    return finish(fig, 100 + LINE * len(lines), margin={"l": 8, "r": 8, "t": 80, "b": 8}, barmode="overlay")


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


def wrap_lines(texts: Sequence[str]) -> list[tuple[int, int, int]]:
    """(side, start, end) of each line: at most WIDTH characters, broken at a space if possible."""
    lines = []
    for side, text in enumerate(texts):
        start = 0
        while start < len(text):
            end = min(len(text), start + WIDTH)
            if end < len(text) and (space := text.rfind(" ", start + 1, end + 1)) > 0:
                end = space + 1
            lines.append((side, start, end))
            start = end
    return lines


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
