"""Two tokenizers on one text: the pieces of each above the characters that they cover."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertexplorer.analysis.tokenization import Tokenization
from bertexplorer.figures import kit
from bertexplorer.figures.style import ACCENT, INK, MONO, ORANGE, coloured, finish, label, safe

WIDTH = 40  # characters in a line, as many as fit on a phone
LINE = 76  # pixels: both rows of a line, and the space below them
LINES = 24
SAME, OTHER = "#cfe0f3", "#f6d2b3"
Piece = tuple[int, int, int, str, int]  # side, start and end of its characters, its name, its id


def draw(first: Tokenization, second: Tokenization, names: tuple[str, str]) -> go.Figure | None:
    """The pieces of *first* above those of *second*; None for different texts."""
    if first.texts != second.texts:
        return None
    both_pieces = [pieces(first), pieces(second)]
    spans_of_both = [{piece[:3] for piece in piece_list} for piece_list in both_pieces]
    lines = wrap_lines(first.texts)[:LINES]
    fig = go.Figure()
    for row, piece_list in enumerate(both_pieces):
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
                text=[safe(first.texts[side][max(piece[1], start) : min(piece[2], end)]) for piece in visible],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"family": MONO, "size": 12, "color": INK},
                customdata=[f"{label(names[row], 30)}: {label(piece[3])}, id {piece[4]}" for piece in visible],
                hovertemplate=kit.HOVER,
            )
    counts = [len(piece_list) for piece_list in both_pieces]
    above = f"{coloured('above', ACCENT)} {label(names[0], 30)}: {counts[0]} pieces"
    below = f"{coloured('below', ACCENT)} {label(names[1], 30)}: {counts[1]} pieces"
    fig.add_annotation(kit.above(f"{above}<br>{below}<br>{coloured('■', ORANGE)} cut differently", 8, size=13))
    fig.update_xaxes(range=[-0.5, WIDTH + 0.5], **kit.HIDDEN)
    fig.update_yaxes(range=[3 * len(lines) - 1.2, -0.7], **kit.HIDDEN)
    return finish(fig, 100 + LINE * len(lines), margin={"l": 8, "r": 8, "t": 80, "b": 8}, barmode="overlay")


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
    if first.texts != second.texts:
        return ""
    both_pieces = [pieces(first), pieces(second)]
    shared = len({piece[:3] for piece in both_pieces[0]} & {piece[:3] for piece in both_pieces[1]})
    letters = sum(len(text.replace(" ", "")) for text in first.texts)
    first_mean, second_mean = (f"{letters / max(1, len(piece_list)):.1f}" for piece_list in both_pieces)
    return (
        f"The first tokenizer ({first.kind}) cuts the text into {len(both_pieces[0])} pieces, the second "
        f"({second.kind}) into {len(both_pieces[1])}; {shared} cover the same characters. On average a piece "
        f"of the first has {first_mean} letters, one of the second {second_mean}."
    )
