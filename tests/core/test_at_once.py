"""What many people ask at once is answered as each of them alone would be, on a machine with a core for each."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from bertexplorer.api.calls import Call
from bertexplorer.api.perform import perform
from bertexplorer.api.view import state_json
from bertexplorer.core.ask import Answerer, opening, with_example
from bertexplorer.core.state import State
from bertexplorer.model.cache import LRUCache
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.scheduler import ComputeScheduler
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry, with_checkpoint
from bertexplorer.views import VIEWS
from tests.conftest import Tiny
from tests.golden.compare import differences
from tests.golden.normalise import normalised

PEOPLE = 8
OTHER_METHODS: dict[str, list[dict[str, Any]]] = {  # which compute in another way than the example of their view
    "sentence-similarity": [{"terms": "input words", "pooling": pooling} for pooling in ("mean", "CLS", "max")],
    "saliency": [{"method": "gradient x input"}, {"method": "occlusion"}],
    "attention": [{"measure": "norm"}],
    "embedding-map": [{"method": "PCA"}],
}
CHAOTIC = "t-SNE"  # a digit that another batch rounds otherwise moves every point


@pytest.mark.slow
def test_every_view_answers_many_at_once_as_one_alone(tiny: Tiny) -> None:
    checkpoint = load(tiny("bert"), name="tiny", precision="fp32")
    states = list(asked(replace(opening(Settings()), checkpoint="tiny", precision="fp32")))
    alone = [answer(fresh(checkpoint), state) for state in states]
    assert sum("said" in one for one in alone) > 30
    together = fresh(checkpoint)
    with ThreadPoolExecutor(PEOPLE) as people:  # who ask of one view at once
        found = list(people.map(lambda state: answer(together, state), states))
    for state, one, other in zip(states, alone, found, strict=True):
        assert not list(differences(one, other)), state


def asked(first: State) -> Iterator[State]:
    """The first example of every view, and its other methods."""
    for view in VIEWS.values():
        state = with_example(view.examples[0], replace(first, view=view.slug))
        for options in ({}, *OTHER_METHODS.get(view.slug, [])):
            changed = replace(state, options={**state.options, **options})
            if changed.options.get("method") != CHAOTIC:
                yield changed


def fresh(checkpoint: Checkpoint) -> Answerer:
    """Of the same weights, with nothing kept and with a core for each person."""
    own = replace(checkpoint, cache=LRUCache(), scheduler=ComputeScheduler(PEOPLE))
    return Answerer(with_checkpoint(CheckpointRegistry(Settings(precision="fp32")), own))


def answer(answerer: Answerer, state: State) -> Any:
    reply = perform(answerer, state, Call("view", "", "", {"state": state_json(state)}))
    read = json.loads(reply.body)
    return normalised({part: read[part] for part in ("said", "strip", "figure", "detail") if part in read})
