"""Each example of each view shows, on the bundled checkpoint, what it is there to show."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bertexplorer.core.ask import Answerer, opening, with_example
from bertexplorer.learn.expressions import Expression
from bertexplorer.learn.grading import facts_of
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS
from bertexplorer.views.view import Example


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answerer]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), precision="fp32")
    yield Answerer(CheckpointRegistry(settings))


EXAMPLES = [
    (slug, example)
    for slug, view in VIEWS.items()
    for example in view.examples
    if not view.tuned or example.shows  # the other examples are for a person's own runs
]


@pytest.mark.parametrize(("view", "example"), EXAMPLES, ids=[f"{slug}-{one.label}" for slug, one in EXAMPLES])
def test_the_example_shows_its_point(answerer: Answerer, view: str, example: Example) -> None:
    start = opening(answerer.registry.settings)
    state = with_example(example, replace(start, view=view, checkpoint=VIEWS[view].checkpoint or start.checkpoint))
    facts = facts_of(answerer, state)
    expression = Expression.read(example.shows, facts)
    assert expression.holds(facts), expression.unmet(facts)
