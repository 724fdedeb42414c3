"""Figure for contrast: each piece of the vocabulary at its probability in one sentence and in the other."""

import math
from textwrap import wrap

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ACCENT, GREY, MONO, ORANGE, clip, finish, label, quote, safe
from bertexplorer.views.contrast.compute import Contrast, Word
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fill-mask",
    place=4,
    title="Two sentences",
    question="What changes when one word of the sentence changes?",
    note=(
        "Each dot is a piece of the vocabulary, or several in the same place; on the dotted line it is equally likely "
        "in both. The words that change the answer most are named, not those with the largest ratio. A difference "
        "shows what the training text contains, not what is true or fair."
    ),
    papers=("Pearce, 2021, What Have Language Models Learned?",),
    examples=(
        Example(
            "Farmer, student",
            "The farmer went to the market to buy some [MASK].",
            options={"other": "The student went to the market to buy some [MASK]."},
            shows='p("cattle", 1) > p("cattle", 2) and p("textbooks", 2) > p("textbooks", 1)',
        ),
        Example(
            "Doctor, nurse",
            "The doctor put on [MASK] coat.",
            options={"other": "The nurse put on [MASK] coat."},
            shows='p("her", 2) > 5 * p("her", 1)',
        ),
        Example(
            "Is, is not",
            "A pigeon is a [MASK].",
            options={"other": "A pigeon is not a [MASK]."},
            shows='divergence() < 0.1 and top(1) == "bird" and top(2) == "bird"',
        ),
        Example(
            "River bank, savings bank",
            "We sat by the river and looked at the [MASK].",
            options={"other": "We went to the bank and asked about the [MASK]."},
            shows="divergence() > 0.5",
        ),
        Example(
            "Then, now",
            "In the 14th century they built a [MASK].",
            options={"other": "In the 20th century they built a [MASK]."},
            shows='p("abbey", 1) > p("abbey", 2) and p("skyscraper", 2) > p("skyscraper", 1)',
        ),
    ),
)

LINE = 34  # characters of a sentence below the plot, on a phone
CELLS = 120  # along each axis; a cell is about one dot wide
FAINT = 0.25  # the opacity of one word
MANY = 1000  # a larger ratio of two probabilities is not worth its digits


def draw(result: Contrast) -> Chart:
    first, second = np.exp(result.first), np.exp(result.second)
    low, high = math.floor(math.log10(max(1e-9, float(np.quantile(np.minimum(first, second), 0.02))))), 0
    fig = Chart()
    fig.add_scatter(x=[10**low, 1], y=[10**low, 1], mode="lines", line={"color": GREY, "dash": "dot"}, hoverinfo="skip")
    dots, words_in = thin_out(first, second, (high - low) / CELLS)
    fig.add_scatter(
        x=first[dots].astype(np.float32),
        y=second[dots].astype(np.float32),
        mode="markers",
        marker={"size": 4, "color": GREY, "opacity": np.round(1 - (1 - FAINT) ** words_in, 2)},
        text=[
            safe(result.vocabulary[i]) + (f" and {n - 1:,} more" if n > 1 else "")
            for i, n in zip(dots, words_in, strict=True)
        ],
        hovertemplate="%{text}: %{x:.2%} and %{y:.2%}<extra></extra>",
    )
    for side, colour in ((-1, ACCENT), (1, ORANGE)):
        words = [w for w in result.words if w.log_ratio * side > 0]
        labelled = without_overlap(words, high - low)
        fig.add_scatter(
            x=[math.exp(w.first) for w in words],
            y=[math.exp(w.second) for w in words],
            mode="markers+text",
            marker={"size": 8, "color": colour},
            text=[label(w.token, 16) if w in labelled else "" for w in words],
            textposition=[label_position(side, w, low) for w in words],
            customdata=[safe(w.token) for w in words],
            textfont={"family": MONO, "size": 13, "color": colour},
            hovertemplate="%{customdata}: %{x:.2%} and %{y:.2%}<extra></extra>",
            cliponaxis=False,
        )
    ticks = {"type": "log", "range": [low - 0.3, high], "tickformat": "~%", "tick0": 0, "tickfont": {"size": 12}}
    titles = [kit.title(label(text, 52), 10) for text in result.texts]
    titles[0]["text"] = "<br>".join(
        map(safe, wrap(clip(result.texts[0], 2 * LINE), LINE, max_lines=2, placeholder="…"))
    )
    fig.update_xaxes(title=titles[0], dtick=2 if low > -5 else 4, tickangle=0, **ticks)
    fig.update_yaxes(title=titles[1], dtick=2, **ticks)
    return finish(fig, 560, margin={"l": 8, "r": 24, "t": 16, "b": 8})


def thin_out(first: np.ndarray, second: np.ndarray, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (the first word of the vocabulary in each square *cell*, the number of words in that cell); *cell* is in
    decades.

    A browser needs seconds for the 30,000 dots of a vocabulary, most of which overlap.
    """
    places = np.floor(np.log10(np.maximum(1e-30, np.stack([first, second]))) / cell)
    _, first_indices, counts = np.unique(places, axis=1, return_index=True, return_counts=True)
    return first_indices, counts


def label_position(side: int, word: Word, low: int) -> str:
    """The position for the label of *word*: away from the diagonal and from the edges of the plot."""
    x = word.first / math.log(10)
    if side < 0:
        return "middle right" if x < -2 else "bottom center"
    return "middle left" if x > low + 2 else "top center"


def without_overlap(words: list[Word], decades: int) -> list[Word]:
    """The *words* whose labels do not overlap an earlier label. The others appear under the pointer."""
    placed: list[Word] = []
    for word in words:
        x, y = word.first / math.log(10) / decades, word.second / math.log(10) / decades
        if all(
            abs(x - k.first / math.log(10) / decades) > 0.011 * (len(word.token) + len(k.token))
            or abs(y - k.second / math.log(10) / decades) > 0.04
            for k in placed
        ):
            placed.append(word)
    return placed


def times_as_likely(word: Word) -> str:
    ratio = math.exp(abs(word.log_ratio))
    return f"{ratio:,.1f} times as likely" if ratio < MANY else f"over {MANY:,} times as likely"


def say(result: Contrast) -> str:
    def side(sign: int) -> str:
        words = [w for w in result.words if w.log_ratio * sign > 0][:3]
        times = [f"{quote(w.token)} ({times_as_likely(w)})" for w in words]
        return ", ".join(times) or "no word"

    return (
        f"More likely in the first sentence: {side(-1)}. In the second: {side(1)}. Overall, the two answers differ "
        f"by {result.divergence:.2f} bits (Jensen-Shannon: 0 the same, 1 nothing in common)."
        + (" Each sentence is read alone." if result.alone else "")
        + "".join(f" Other sentence: {note}" for note in result.notes)
    )
