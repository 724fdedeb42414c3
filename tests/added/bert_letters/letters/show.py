"""Letters: a bar for each token."""

from bert_letters.letters.compute import Letters

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ACCENT, finish, label
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Input",
    place=4,
    title="Letters",
    question="How many letters does a token stand for?",
    note="A long word may be one token, and a rare one several.",
    papers=("Wu et al., 2016, Google's Neural Machine Translation System",),
    examples=(Example("A cat", "The cat sat.", shows="most() == 3"),),
)


def draw(result: Letters) -> Chart:
    fig = Chart()
    fig.add_trace(kit.bars(list(result.letters), ACCENT))
    fig.update_yaxes(kit.down([label(token, 14) for token in result.tokens]))
    return finish(fig, 300)


def say(result: Letters) -> str:
    return f"{len(result.tokens)} tokens stand for {sum(result.letters)} letters."
