"""Long, repetitive texts that could slow down regular expressions: every view answers within seconds."""

import shutil
import time
from dataclasses import replace

import pytest

from bertexplorer.core.ask import VIEWS, Answerer
from bertexplorer.core.state import State, read_spans
from bertexplorer.options import option_specs
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny

pytestmark = pytest.mark.slow

SOON = 6.0  # seconds on a busy machine; a pattern that runs away takes minutes
LISTS = ("(a+)+$" + "a" * 19_000, "a,|" * 4_000, "1·" * 9_900)
SIGNS = ("_" * 19_900, "{a|" * 6_000, "[mask" * 3_900)


@pytest.fixture(scope="module")
def answerer(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Answerer:
    folder = tmp_path_factory.mktemp("bombs")
    shutil.copytree(tiny("bert"), folder / "models" / "bert")
    explorer = Answerer(CheckpointRegistry(Settings(models_dir=folder / "models", data_dir=folder / "data")))
    explorer.answer(State("The cat sat.", checkpoint="bert", precision="fp32"))
    return explorer


@pytest.mark.parametrize("view", [name for name, view in VIEWS.items() if view.text])
def test_every_view_answers_quickly(answerer: Answerer, view: str) -> None:
    plain = State("[MASK] {cat|dog} sat. It is.", checkpoint="bert", precision="fp32", view=view)
    words = [
        setting.name
        for setting in option_specs(VIEWS[view].analysis.Options)
        if setting.kind is str and not setting.choices
    ]
    texts = [replace(plain, text=bomb) for bomb in SIGNS]
    for state in (*texts, *(replace(plain, options={name: bomb}) for name in words for bomb in LISTS)):
        started = time.thread_time()
        answer = answerer.answer(state)
        assert time.thread_time() - started < SOON, (state.text[:20], [*state.options])
        assert answer.figure is not None or "Internal error" not in answer.error
        assert len(answer.error) < 2_000, answer.error[:200]


def test_the_spans_of_a_link_are_parsed_quickly() -> None:
    started = time.thread_time()
    for bomb in (*SIGNS, *LISTS, "0:0-1," * 3_000, "0:" * 9_000, "1" * 19_000):
        read_spans(bomb * 50)
    assert time.thread_time() - started < SOON
