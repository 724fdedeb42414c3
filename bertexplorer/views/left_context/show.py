"""Figure for left context: the two lists of answers, and below each list its attention mask."""

import math

import numpy as np

from bertexplorer.answers.candidates import Blank
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart, grid
from bertexplorer.charts.style import ACCENT, finish, label, percent, quote, safe, unlike_uncertainties
from bertexplorer.views.left_context.compute import LeftContext
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fill-mask",
    place=5,
    title="Left side only",
    question="What does it mean to read in both directions?",
    note=(
        "On the right no token can see what follows it, as in a left-to-right language model. BERT was not trained "
        "that way, so its left-only answers are worse than such a model's would be."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example(
            "The farmers",
            "The farmers cultivate the [MASK] to grow crops.",
            shows="entropy_left() > entropy_both() + 1",
        ),
        Example(
            "The answer comes last",
            "The [MASK] barked at the postman.",
            shows='top_both() == "dog" and top_left() != "dog"',
        ),
        Example(
            "The capital of France",
            "[MASK] is the capital of France.",
            shows='top_both() == "paris" and top_left() != "paris"',
        ),
        Example(
            "The reason comes last",
            "They went to the [MASK] to pray.",
            shows='top_both() == "church" and top_left() != "church"',
        ),
        Example(
            "A question",
            "[MASK] wrote this book? It was written by my father.",
            shows='top_both() == "who" and top_left() != "who"',
        ),
    ),
)

SHOWN = 32  # tokens up to which the attention masks show names
ROWS, COLUMNS = 20, 8  # names for which an attention mask has room, on a phone too
ROOM = 2.3  # the axis over its longest bar, so that the numbers next to it fit
DRAWN = 128  # tokens of the attention masks to draw


def draw(result: LeftContext) -> Chart:
    fig = grid(
        rows=2,
        cols=2,
        row_heights=[0.52, 0.48],
        vertical_spacing=0.14,
        horizontal_spacing=0.2,
        titles=("both sides", "left side only", "attention mask", ""),
    )
    widest = max(c.probability for c in (*result.both.candidates, *result.left.candidates))
    for column, blank, visible in ((1, result.both, result.sees_both), (2, result.left, result.sees_left)):
        answers(fig, blank, column, widest)
        matrix(fig, result, visible, column)
    return finish(fig, 620, bargap=0.28)


def fix_scale(fig: Chart) -> None:
    """Give the bars an axis from 0 to 1."""
    for name in ("xaxis", "xaxis2"):
        fig.settings[name]["range"] = [0, ROOM]


def answers(fig: Chart, blank: Blank, column: int, widest: float) -> None:
    shares = [percent(c.probability) for c in blank.candidates]
    hovers = [safe(c.token) for c in blank.candidates]
    bars = kit.bars([c.probability for c in blank.candidates], ACCENT, text=shares, hover=hovers)
    fig.add_trace({**bars, "hovertemplate": "%{customdata} %{text}<extra></extra>"}, 1, column)
    labels = [label(c.token, 14) for c in blank.candidates]
    fig.update_yaxes(kit.down(labels, mono=13), row=1, col=column)
    fig.update_xaxes(range=[0, widest * ROOM], visible=False, row=1, col=column)


def matrix(fig: Chart, result: LeftContext, visible: np.ndarray, column: int) -> None:
    labels = [label(t, 10) for t in result.tokens[:DRAWN]]
    has_names = len(labels) <= SHOWN
    every_row, every_column = (-(-len(labels) // most) if has_names else 1 for most in (ROWS, COLUMNS))
    names = [[f"{a} looks at {b}" for b in labels] for a in labels] if has_names else None
    scale = [[0, "rgba(138,148,163,0.18)"], [1, ACCENT]]
    cells = kit.cells(visible[:DRAWN, :DRAWN].astype(np.uint8), scale, 0, 1, gap=int(has_names), hover=names)
    looks = "%{customdata}" if has_names else "%{y} looks at %{x}"
    fig.add_trace({**cells, "hovertemplate": f"{looks}: %{{z}}<extra></extra>"}, 2, column)
    rows = kit.down(labels, step=every_row, mono=12)
    fig.update_yaxes(rows, showticklabels=has_names and column == 1, row=2, col=column)
    ticks = kit.ticks(labels, step=every_column, mono=12)
    fig.update_xaxes(showticklabels=has_names, tickangle=-90, showgrid=False, **ticks, row=2, col=column)


def say(result: LeftContext) -> str:
    both, left = result.both.candidates[0], result.left.candidates[0]
    notes = ""
    if result.window:
        notes += f" In most layers of this checkpoint a token sees only the {result.window} nearest on each side."
    if len(result.tokens) > DRAWN:
        notes += f" The first {DRAWN} of {len(result.tokens)} tokens are drawn."
    return (
        f"With both sides in view it would put {quote(both.token)} ({percent(both.probability)}); with the right side "
        f"hidden, {quote(left.token)} ({percent(left.probability)}). Its uncertainty goes from "
        f"{result.both.entropy:.1f} to {result.left.entropy:.1f} bits.{notes}"
    )


def compare(first: LeftContext, second: LeftContext) -> str:
    """The largest possible uncertainty of each, if their vocabularies differ in size."""
    return unlike_uncertainties(math.log2(first.vocab_size), math.log2(second.vocab_size))
