"""The answer to every example of every view, alone, compared and exported, is that of the golden files, and shows what
the example is there to show."""

from dataclasses import replace

import pytest

from bertexplorer.core.ask import Answerer, opening, with_example
from bertexplorer.learn.expressions import Expression
from bertexplorer.learn.grading import facts_of
from bertexplorer.views import VIEWS
from bertexplorer.views.view import Example
from tests.golden.compare import check
from tests.golden.conftest import Asked
from tests.golden.files import NAMES


@pytest.mark.golden
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("views/")])
def test_answers_are_the_golden_ones(asked: Asked, answerer: Answerer, name: str) -> None:
    """What an example shows is read from the same answers, which the server still has."""
    check(name, asked)
    view = VIEWS[name.removeprefix("views/")]
    for example in view.examples:
        if example.shows or not view.tuned:  # the others are for a person's own runs
            shows_its_point(answerer, view.slug, example)


def shows_its_point(answerer: Answerer, view: str, example: Example) -> None:
    start = opening(answerer.registry.settings)
    state = with_example(example, replace(start, view=view, checkpoint=VIEWS[view].checkpoint or start.checkpoint))
    facts = facts_of(answerer, state)
    expression = Expression.read(example.shows, facts)
    assert expression.holds(facts), (example.label, expression.unmet(facts))
