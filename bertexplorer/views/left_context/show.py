"""Figure for left context: the two lists of answers, and below each list its attention mask."""

import math

import numpy as np

from bertexplorer.answers.candidates import Blank
from bertexplorer.charts.marks import Bar, Bars, Cells, Figure, Panel
from bertexplorer.charts.style import percent, quote, unlike_uncertainties
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

DRAWN = 128  # tokens of the attention masks to draw


def draw(result: LeftContext) -> Figure:
    return Figure(
        [
            Panel([answers(result.both)], "both sides"),
            Panel([answers(result.left)], "left side only", beside=True),
            Panel([attention_mask(result, result.sees_both)], "attention mask"),
            Panel([attention_mask(result, result.sees_left)], beside=True),
        ]
    )


def answers(blank: Blank) -> Bars:
    """A bar for each answer."""
    bars = [Bar(answer.token, answer.probability, percent(answer.probability)) for answer in blank.candidates]
    return Bars(bars, high=1, tokens=True)


def attention_mask(result: LeftContext, sees: np.ndarray) -> Cells:
    """Which token, down, can look at which, across."""
    tokens = result.tokens[:DRAWN]
    values = sees[: len(tokens), : len(tokens)].astype(int)
    hover = []
    for token, row in zip(tokens, values.tolist(), strict=True):
        verbs = ["sees" if can else "does not see" for can in row]
        hover.append([f"{token} {verb} {other}" for verb, other in zip(verbs, tokens, strict=True)])
    return Cells(tokens, tokens, values, low=0, high=1, hover=hover, tokens=True)


def say(result: LeftContext) -> str:
    both = result.both.candidates[0]
    left = result.left.candidates[0]
    sentences = [
        f"With both sides in view it would put {quote(both.token)} ({percent(both.probability)}); with the right side "
        f"hidden, {quote(left.token)} ({percent(left.probability)}).",
        f"Its uncertainty goes from {result.both.entropy:.1f} to {result.left.entropy:.1f} bits.",
    ]
    if result.window:
        sentences.append(
            f"In most layers of this checkpoint a token sees only the {result.window} nearest on each side."
        )
    if len(result.tokens) > DRAWN:
        sentences.append(f"The first {DRAWN} of {len(result.tokens)} tokens are drawn.")
    return " ".join(sentences)


def compare(first: LeftContext, second: LeftContext) -> str:
    """The largest possible uncertainty of each, if their vocabularies differ in size."""
    return unlike_uncertainties(math.log2(first.vocab_size), math.log2(second.vocab_size))
