"""Figure for contrast: each piece of the vocabulary at its probability in one sentence and in the other."""

import math
from collections.abc import Sequence

import numpy as np

from bertexplorer.charts.marks import Figure, Panel, Points, Tone
from bertexplorer.charts.style import clip, percent, quote
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


def draw(result: Contrast) -> Figure:
    """A point for each word: its probability in the first sentence to the right, in the second upwards."""
    first, second = np.exp(result.first), np.exp(result.second)
    low = math.floor(math.log10(max(1e-9, float(np.quantile(np.minimum(first, second), 0.02)))))
    marks = [
        named(result, "blue", [word for word in result.words if word.log_ratio < 0]),
        named(result, "orange", [word for word in result.words if word.log_ratio > 0]),
    ]
    dots, words_in = thin_out(first, second, -low / CELLS)
    visible = np.minimum(first[dots], second[dots]) >= 10.0**low
    dots, words_in = dots[visible], words_in[visible]
    hover = []
    for i, number in zip(dots.tolist(), words_in.tolist(), strict=True):
        more = f" and {number - 1:,} more" if number > 1 else ""
        hover.append(f"{result.vocabulary[i]}{more}: {percent(float(first[i]))} and {percent(float(second[i]))}")
    x = first[dots].astype(np.float32)
    y = second[dots].astype(np.float32)
    faint = np.round(1 - (1 - FAINT) ** words_in, 2)
    equal = [10.0**low, 1.0]  # as likely in both sentences
    marks.append(Points(x, y, tone="grey", size="dot", opacity=faint, hover=hover, log=True))
    marks.append(Points(equal, equal, tone="grey", size="dot", joined=True, dash="dot", log=True))
    return Figure([Panel(marks, x=result.texts[0], y=result.texts[1])])


def named(result: Contrast, tone: Tone, words: Sequence[Word]) -> Points:
    """The words that are more likely in one of the sentences, with their names."""
    x = [math.exp(word.first) for word in words]
    y = [math.exp(word.second) for word in words]
    names = [clip(word.token, 16) for word in words]
    hover = [f"{word.token}: {percent(a)} and {percent(b)}" for word, a, b in zip(words, x, y, strict=True)]
    return Points(x, y, tone, names=names, hover=hover, log=True)


def thin_out(first: np.ndarray, second: np.ndarray, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (the first word of the vocabulary in each square *cell*, the number of words in that cell); *cell* is in
    decades.

    A browser needs seconds for the 30,000 dots of a vocabulary, most of which overlap.
    """
    places = np.floor(np.log10(np.maximum(1e-30, np.stack([first, second]))) / cell)
    _, first_indices, counts = np.unique(places, axis=1, return_index=True, return_counts=True)
    return first_indices, counts


def times_as_likely(word: Word) -> str:
    """The larger of its two probabilities divided by the smaller."""
    ratio = math.exp(abs(word.log_ratio))
    return f"{ratio:,.1f} times as likely" if ratio < MANY else f"over {MANY:,} times as likely"


def say(result: Contrast) -> str:
    in_first = [word for word in result.words if word.log_ratio < 0]
    in_second = [word for word in result.words if word.log_ratio > 0]
    sentences = [
        f"More likely in the first sentence: {list_words(in_first)}. In the second: {list_words(in_second)}.",
        f"Overall, the two answers differ by {result.divergence:.2f} bits (Jensen-Shannon: 0 the same, 1 nothing in "
        "common).",
    ]
    if result.alone:
        sentences.append("Each sentence is read alone.")
    for note in result.notes:
        sentences.append(f"Other sentence: {note}")
    return " ".join(sentences)


def list_words(words: Sequence[Word]) -> str:
    """The first three words."""
    named = [f"{quote(word.token)} ({times_as_likely(word)})" for word in words[:3]]
    return ", ".join(named) or "no word"
