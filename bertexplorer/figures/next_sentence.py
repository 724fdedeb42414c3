"""Next sentence drawn: the tokens with their segment ids, both orders of the pair, and the candidates by rank."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.analysis.next_sentence import NextSentence, Score
from bertexplorer.figures.style import ACCENT, MONO, PALE, TEXT, clip, finish, percent, quote, safe

SHOWN = 30  # tokens of each segment that are drawn
LINE = 44  # characters of a line of tokens, which fit 390 px
LINE_HEIGHT, ROW_HEIGHT = 46, 62  # px
TINTS = ("rgba(43,108,176,0.20)", "rgba(213,94,0,0.18)")  # segments 0 and 1
APART = 0.5  # rows between both orders and the candidates
REST = "rgba(138,148,163,0.18)"


def draw(result: NextSentence) -> go.Figure:
    chips = lay_out(result)
    lines = 1 + chips[-1][1]
    names, scores = bars_of(result)
    heights = [LINE_HEIGHT * lines, ROW_HEIGHT * (positions(len(scores))[-1] + 1.05)]
    gap = 34
    fig = make_subplots(rows=2, cols=1, row_heights=heights, vertical_spacing=gap / (sum(heights) + gap))
    tokens(fig, chips)
    bars(fig, names, scores)
    fig.update_xaxes(visible=False, fixedrange=True)
    fig.update_yaxes(visible=False, fixedrange=True)
    return finish(
        fig, max(320, round(40 + sum(heights) + gap)), barmode="stack", margin={"l": 8, "r": 8, "t": 30, "b": 10}
    )


def lay_out(result: NextSentence) -> list[tuple[float, int, float, str, int]]:
    """(left edge, line, width in characters, label, segment) of each chip; long segments are cut in the middle."""
    chips: list[tuple[float, int, float, str, int]] = []
    left, line = 0.0, 0
    for segment in (0, 1):
        pieces = [clip(t, 16) for t, s in zip(result.tokens, result.segments, strict=True) if s == segment]
        if len(pieces) > SHOWN:
            pieces = [*pieces[: SHOWN - 2], f"… {len(pieces) - SHOWN + 1} more", pieces[-1]]
        for piece in pieces:
            width = len(piece) + 1.6
            if left and left + width > LINE:
                left, line = 0.0, line + 1
            chips.append((left, line, width, piece, segment))
            left += width + 0.5
    return chips


def tokens(fig: go.Figure, chips: list[tuple[float, int, float, str, int]]) -> None:
    fig.add_bar(
        x=[width for _, _, width, _, _ in chips],
        base=[left for left, *_ in chips],
        y=[line for _, line, *_ in chips],
        orientation="h",
        width=0.84,
        marker={"color": [TINTS[segment] for *_, segment in chips], "line": {"width": 0}},
        text=[f"{safe(piece)}<br>{segment}" for *_, piece, segment in chips],
        textposition="inside",
        insidetextanchor="middle",
        constraintext="none",
        textangle=0,
        textfont={"family": MONO, "size": 12, "color": TEXT},
        hovertext=[f"{safe(piece)}: segment {'AB'[segment]}, id {segment}" for *_, piece, segment in chips],
        hovertemplate="%{hovertext}<extra></extra>",
        row=1,
        col=1,
    )
    lines = 1 + chips[-1][1]
    fig.update_yaxes(range=[lines - 0.5, -0.5], row=1, col=1)
    fig.update_xaxes(range=[0, LINE], row=1, col=1)
    heading(fig, 1, "What BERT reads, with the segment id under each token")


def bars_of(result: NextSentence) -> tuple[list[str], list[Score]]:
    """What stands over each bar, and its score: both orders, then the candidates where there are any beside B."""
    pairs = [("A, then B", result.forward), ("B, then A", result.backward)]
    named = [f"{way}: logits {digits(s.logits[0])} is next, {digits(s.logits[1])} not" for way, s in pairs]
    scores = [score for _, score in pairs]
    if len(result.candidates) > 1:
        for rank, score in enumerate(result.candidates, 1):
            mark = "B: " if score is result.forward else ""
            named.append(f"{rank}. {mark}{clip(score.second, 44 - len(mark))}")
            scores.append(score)
    return named, scores


def bars(fig: go.Figure, names: list[str], scores: list[Score]) -> None:
    places = positions(len(scores))
    told = [
        f"A: {safe(clip(s.first, 60))}<br>B: {safe(clip(s.second, 60))}<br>is next {percent(s.is_next)}, logit "
        f"{digits(s.logits[0])}<br>not next {percent(s.not_next)}, logit {digits(s.logits[1])}"
        for s in scores
    ]
    shares = ([s.is_next for s in scores], ACCENT), ([s.not_next for s in scores], REST)
    for share, colour in shares:
        fig.add_bar(
            x=share,
            y=places,
            orientation="h",
            width=0.36,
            marker={"color": colour},
            customdata=told,
            hovertemplate="%{customdata}<extra></extra>",
            row=2,
            col=1,
        )
    beside = [f"{percent(s.is_next)} is next<br>{percent(s.not_next)} not" for s in scores]
    write(fig, 1.02, places, beside)
    write(fig, 0, [p - 0.4 for p in places], [safe(name) for name in names])
    if len(scores) > 2:
        fig.add_hline(y=1.36, line={"color": PALE, "width": 1}, row=2, col=1)
        write(fig, 0, [1.66], ["A, then each candidate, likeliest first"])
    fig.update_yaxes(range=[places[-1] + 0.4, -0.65], row=2, col=1)
    fig.update_xaxes(range=[-0.01, 1.46], row=2, col=1)
    heading(fig, 2, "Does the second follow the first? Blue: is next")


def positions(count: int) -> list[float]:
    """Where each bar stands, in rows; the candidates begin lower, to leave room for their heading."""
    return [row + (APART if row > 1 else 0.0) for row in range(count)]


def write(fig: go.Figure, x: float, y: list[float], text: list[str]) -> None:
    """Text that starts at x."""
    fig.add_scatter(
        x=[x] * len(y),
        y=y,
        text=text,
        mode="text",
        textposition="middle right",
        textfont={"size": 13, "color": TEXT},
        hoverinfo="skip",
        cliponaxis=False,
        row=2,
        col=1,
    )


def heading(fig: go.Figure, row: int, text: str) -> None:
    """A line over one of the two parts."""
    axis = "" if row == 1 else str(row)
    place = {"xref": f"x{axis} domain", "yref": f"y{axis} domain", "x": 0, "y": 1}
    fig.add_annotation(
        text=text,
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
        yshift=4,
        font={"size": 13, "color": TEXT},
        **place,
    )


def digits(logit: float) -> str:
    return f"{logit:.2f}".replace("-", "−")


def say(result: NextSentence) -> str:
    pair, turned = result.forward, result.backward
    told = (
        f"B follows A with {percent(pair.is_next)}, does not with {percent(pair.not_next)} (logits "
        f"{digits(pair.logits[0])} for is next, {digits(pair.logits[1])} for is not next, in this order); "
        f"the other way round, A follows B with {percent(turned.is_next)}."
    )
    if len(result.candidates) > 1:
        best = result.candidates[0]
        mine = "B itself" if result.rank == 1 else f"{quote(clip(best.second, 60))}, and B comes {place(result.rank)}"
        told += f" Of {len(result.candidates)} candidates the likeliest ({percent(best.is_next)}) is {mine}."
    if result.left_out:
        told += f" The pair was too long: {result.left_out} tokens were left out."
    return told


def place(rank: int) -> str:
    """2nd, 3rd, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th") if rank % 100 not in (11, 12, 13) else "th"
    return f"{rank}{ending}"
