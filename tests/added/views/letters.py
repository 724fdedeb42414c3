"""Letters: a bar for each token."""

from bertexplorer.charts.chart import Chart
from bertexplorer.figures import kit
from bertexplorer.figures.style import ACCENT, finish, label
from bertexplorer.views.view import Example, View
from tests.added.analysis.letters import Letters

VIEW = View(
    "letters",
    "Input",
    title="Letters",
    question="How many letters does a token stand for?",
    note="A long word may be one token, and a rare one several.",
    papers=("Wu et al., 2016, Google's Neural Machine Translation System",),
    examples=(Example("A cat", "The cat sat."),),
)


def draw(result: Letters) -> Chart:
    fig = Chart()
    fig.add_trace(kit.bars(list(result.letters), ACCENT))
    fig.update_yaxes(kit.down([label(token, 14) for token in result.tokens]))
    return finish(fig, 300)


def say(result: Letters) -> str:
    return f"{len(result.tokens)} tokens stand for {sum(result.letters)} letters."
