"""Letters: a bar for each token."""

from bert_letters.letters.compute import Letters

from bertexplorer.charts.marks import Bar, Bars, Figure, Panel
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Input",
    place=4,
    title="Letters",
    question="How many letters does a token stand for?",
    note="A long word may be one token, and a rare one several.",
    papers=("Wu et al., 2016, Google's Neural Machine Translation System",),
    examples=(Example("A cat", "The cat sat.", shows="total() == 10"),),
)


def draw(result: Letters) -> Figure:
    bars = [Bar(token, count, str(count)) for token, count in zip(result.tokens, result.letters, strict=True)]
    return Figure([Panel([Bars(bars, tokens=True)])])


def say(result: Letters) -> str:
    return f"{len(result.tokens)} tokens stand for {sum(result.letters)} letters."
