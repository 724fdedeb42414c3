"""Two tokenizers drawn over one text: the pieces of each above the characters that they cover."""

from collections.abc import Sequence

import plotly.graph_objects as go

from bertexplorer.analysis.tokenization import Tokenization
from bertexplorer.figures import kit
from bertexplorer.figures.style import ACCENT, INK, MONO, ORANGE, coloured, finish, label, safe

WIDTH = 40  # characters of a line, what a phone has room for
LINE = 76  # pixels: both rows of a line, and the space below them
LINES = 24
SAME, OTHER = "#cfe0f3", "#f6d2b3"
Piece = tuple[int, int, int, str, int]  # side, start and end of its characters, its name, its id


def draw(first: Tokenization, second: Tokenization, names: tuple[str, str]) -> go.Figure | None:
    """The pieces of *first* above those of *second*; None if they are of two texts."""
    if first.texts != second.texts:
        return None
    both = [pieces(first), pieces(second)]
    places = [{piece[:3] for piece in found} for found in both]
    lines = wrapped(first.texts)[:LINES]
    fig = go.Figure()
    for row, found in enumerate(both):
        for number, (side, start, end) in enumerate(lines):
            here = [piece for piece in joined(found) if piece[0] == side and piece[1] < end and piece[2] > start]
            if not here:
                continue
            colours = [SAME if piece[:3] in places[1 - row] else OTHER for piece in here]
            fig.add_bar(
                base=[max(piece[1], start) - start for piece in here],
                x=[min(piece[2], end) - max(piece[1], start) for piece in here],
                y=[3 * number + row] * len(here),
                orientation="h",
                width=0.86,
                marker={"color": colours, "line": {"color": "#ffffff", "width": 2}},
                text=[safe(first.texts[side][max(piece[1], start) : min(piece[2], end)]) for piece in here],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"family": MONO, "size": 12, "color": INK},
                customdata=[f"{label(names[row], 30)}: {label(piece[3])}, id {piece[4]}" for piece in here],
                hovertemplate=kit.HOVER,
            )
    counts = [len(found) for found in both]
    above = f"{coloured('above', ACCENT)} {label(names[0], 30)}: {counts[0]} pieces"
    below = f"{coloured('below', ACCENT)} {label(names[1], 30)}: {counts[1]} pieces"
    fig.add_annotation(kit.above(f"{above}<br>{below}<br>{coloured('■', ORANGE)} cut in another way", 8, size=13))
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


def joined(found: Sequence[Piece]) -> list[Piece]:
    """*found* with the pieces of one character, such as the bytes of “ë”, as one."""
    made: dict[tuple[int, int, int], Piece] = {}
    for side, start, end, token, id in found:
        held = made.get((side, start, end))
        made[side, start, end] = (side, start, end, f"{held[3]} + {token}" if held else token, held[4] if held else id)
    return list(made.values())


def wrapped(texts: Sequence[str]) -> list[tuple[int, int, int]]:
    """(side, start, end) of each line: at most WIDTH characters, broken at a space where there is one."""
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
    """How many pieces each makes, and how many cover the same characters. "" for two texts."""
    if first.texts != second.texts:
        return ""
    both = [pieces(first), pieces(second)]
    shared = len({piece[:3] for piece in both[0]} & {piece[:3] for piece in both[1]})
    letters = sum(len(text.replace(" ", "")) for text in first.texts)
    means = " and ".join(f"{letters / max(1, len(found)):.1f}" for found in both)
    return (
        f"The first tokenizer ({first.kind}) cuts the text into {len(both[0])} pieces, the second ({second.kind}) into "
        f"{len(both[1])}; {shared} cover the same characters. A piece has {means} letters on average."
    )
