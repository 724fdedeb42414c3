"""Figure for next sentence: the tokens with their segment ids, both orders of the pair, and the candidates by rank."""

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    MONO,
    PALE,
    TEXT,
    beyond_limit,
    clip,
    decimal,
    finish,
    label,
    percent,
    quote,
    safe,
)
from bertexplorer.views.next_sentence.compute import NextSentence, Score
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Sentences",
    place=1,
    title="Next sentence",
    question="Does B follow A?",
    note=(
        "In training, B came from another document half of the time, so the answer rests on topic more than on order "
        "or sense: a shared topic fools it, even where B contradicts A or the two are the wrong way round. Label 0 is "
        "“is next”, label 1 “is not next”: here 0 means yes."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example(
            "The store",
            "The man went to the store.",
            "He bought a gallon of milk.",
            {"candidates": "Penguins are flightless. | He sold a gallon of milk. | The store was closed."},
            shows="is_next() > 0.5",
        ),
        Example(
            "Penguins",
            "The man went to the store.",
            "Penguins are flightless birds.",
            {"candidates": "He bought a gallon of milk. | Penguins went to the store."},
            shows="is_next() < 0.1 and is_next() < is_next_of(best_candidate())",
        ),
        Example(
            "Wrong order",
            "She walked into the house and sat down.",
            "She walked up to the house and rang the bell.",
            {"candidates": "Then she fell asleep in the chair. | The treaty was signed in 1648."},
            shows="is_next() > 0.5 and is_next_swapped() > 0.5",
        ),
        Example(
            "A contradiction",
            "The museum is closed today.",
            "The museum is open today.",
            {"candidates": "We will visit it tomorrow. | The river is wide and deep."},
            shows="is_next() > 0.5",
        ),
        Example(
            "A question",
            "What is the capital of France?",
            "The capital of France is Paris.",
            {"candidates": "The capital of France is Berlin. | What is the capital of France? | It is Paris. | Yes."},
            shows='is_next() > 0.5 and is_next_of("The capital of France is Berlin.") > 0.5',
        ),
    ),
)

SHOWN = 30  # tokens of each segment to draw
LINE = 44  # characters in a line of tokens, as many as fit on 390 px
# px
LINE_HEIGHT = 46
ROW_HEIGHT = 62
GAP = 34
TINTS = ("rgba(43,108,176,0.20)", "rgba(213,94,0,0.18)")  # segments 0 and 1
APART = 0.5  # rows between both orders and the candidates
REST = "rgba(138,148,163,0.18)"


def draw(result: NextSentence) -> Chart:
    chips = layout_chips(result)
    lines = 1 + chips[-1][1]
    names, scores = bar_rows(result)
    heights = [LINE_HEIGHT * lines, ROW_HEIGHT * (positions(len(scores))[-1] + 1.05)]
    fig = kit.panels(heights, GAP)
    tokens(fig, chips)
    bars(fig, names, scores)
    fig.update_xaxes(kit.HIDDEN)
    fig.update_yaxes(kit.HIDDEN)
    height = max(320, 40 + kit.height_of(heights, GAP))
    return finish(fig, height, barmode="stack", margin={"l": 8, "r": 8, "t": 30, "b": 10})


def layout_chips(result: NextSentence) -> list[tuple[float, int, float, str, int]]:
    """Return (left edge, line, width in characters, label, segment) for each chip; long segments are cut in the
    middle."""
    chips: list[tuple[float, int, float, str, int]] = []
    x, line = 0.0, 0
    for segment in (0, 1):
        pieces = [clip(t, 16) for t, s in zip(result.tokens, result.segments, strict=True) if s == segment]
        if len(pieces) > SHOWN:
            pieces = [*pieces[: SHOWN - 2], f"… {len(pieces) - SHOWN + 1} more", pieces[-1]]
        for piece in pieces:
            width = len(piece) + 1.6
            if x and x + width > LINE:
                x, line = 0.0, line + 1
            chips.append((x, line, width, piece, segment))
            x += width + 0.5
    return chips


def tokens(fig: Chart, chips: list[tuple[float, int, float, str, int]]) -> None:
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
    fig.add_annotation(kit.above("What BERT reads, with segment ids", 4, row=1, size=13))


def bar_rows(result: NextSentence) -> tuple[list[str], list[Score]]:
    """The heading of each bar, and its score: both orders, then the candidates if there are any besides B."""
    pairs = [("A, then B", result.forward), ("B, then A", result.backward)]
    headings = [f"{way}: logits {decimal(s.logits[0])} is next, {decimal(s.logits[1])} not" for way, s in pairs]
    scores = [score for _, score in pairs]
    if len(result.candidates) > 1:
        for rank, score in enumerate(result.candidates, 1):
            mark = "B: " if score is result.forward else ""
            headings.append(f"{rank}. {mark}{clip(score.second, 44 - len(mark))}")
            scores.append(score)
    return headings, scores


def bars(fig: Chart, names: list[str], scores: list[Score]) -> None:
    places = positions(len(scores))
    hovers = [
        f"A: {label(s.first, 60)}<br>B: {label(s.second, 60)}<br>is next {percent(s.is_next)}, logit "
        f"{decimal(s.logits[0])}<br>not next {percent(s.not_next)}, logit {decimal(s.logits[1])}"
        for s in scores
    ]
    shares = ([s.is_next for s in scores], ACCENT), ([s.not_next for s in scores], REST)
    for share, colour in shares:
        fig.add_trace(kit.bars(share, colour, hover=hovers, y=places, width=0.36), 2, 1)
    share_texts = [f"{percent(s.is_next)} is next<br>{percent(s.not_next)} not" for s in scores]
    fig.add_trace(kit.texts(1.02, places, share_texts), 2, 1)
    fig.add_trace(kit.texts(0, [p - 0.4 for p in places], [safe(name) for name in names]), 2, 1)
    if len(scores) > 2:
        fig.add_hline(y=1.36, line={"color": PALE, "width": 1}, row=2, col=1)
        fig.add_trace(kit.texts(0, [1.66], ["A, then each candidate, likeliest first"]), 2, 1)
    fig.update_yaxes(range=[places[-1] + 0.4, -0.65], row=2, col=1)
    fig.update_xaxes(range=[-0.01, 1.46], row=2, col=1)
    fig.add_annotation(kit.above("Does the second follow the first? Blue: is next", 4, row=2, size=13))


def positions(count: int) -> list[float]:
    """The position of each bar, in rows. The candidates start lower, to leave room for their heading."""
    return [row + (APART if row > 1 else 0.0) for row in range(count)]


def say(result: NextSentence) -> str:
    pair, turned = result.forward, result.backward
    sentence = (
        f"B follows A with {percent(pair.is_next)}, does not with {percent(pair.not_next)} (logits "
        f"{decimal(pair.logits[0])} for is next, {decimal(pair.logits[1])} for is not next, in this order); "
        f"the other way round, A follows B with {percent(turned.is_next)}."
    )
    if len(result.candidates) > 1:
        best = result.candidates[0]
        mine = "B itself" if result.rank == 1 else f"{quote(clip(best.second, 60))}, and B comes {ordinal(result.rank)}"
        sentence += f" Of {len(result.candidates)} candidates the likeliest ({percent(best.is_next)}) is {mine}."
    return " ".join([sentence, *beyond_limit(result.left_out)])


def ordinal(rank: int) -> str:
    """2nd, 3rd, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th") if rank % 100 not in (11, 12, 13) else "th"
    return f"{rank}{ending}"
