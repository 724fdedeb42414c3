"""A link restores its state; unusable parts are reported."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from bertexplorer.core.ask import VIEWS, Answerer, with_example
from bertexplorer.core.link import restore_state
from bertexplorer.core.state import State
from bertexplorer.model.initialise import with_heads
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.options import build
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry

OPENING = State("The capital of France is [MASK].", checkpoint="mini")


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(CheckpointRegistry())


@pytest.mark.parametrize("view", [view for view in VIEWS if view != OPENING.view])
def test_a_view_alone_opens_with_its_first_example(answerer: Answerer, view: str) -> None:
    state, message = restore_state(answerer, {"view": view}, OPENING)
    example = with_example(VIEWS[view].examples[0], replace(OPENING, view=view))
    example = replace(example, checkpoint=VIEWS[view].checkpoint or OPENING.checkpoint)
    assert not message
    assert state == replace(example, options=asdict(build(VIEWS[view].analysis.Options, dict(example.options))))


def test_a_view_opens_with_the_page_s_own_checkpoint_if_the_operator_chose_one(answerer: Answerer) -> None:
    state, _ = restore_state(answerer, {"view": "answer"}, replace(OPENING, checkpoint="somebody/theirs"))
    assert state.checkpoint == "somebody/theirs"
    assert restore_state(answerer, {"view": "answer", "checkpoint": "tiny"}, OPENING)[0].checkpoint == "tiny"


def test_the_link_overrides_the_example(answerer: Answerer) -> None:
    query = {"view": "contrast", "other": "In Rome [MASK].", "checkpoint": "a/b@v1.0", "precision": "fp32"}
    state, message = restore_state(answerer, query, OPENING)
    assert (state.text, state.options["other"]) == (VIEWS["contrast"].examples[0].text, "In Rome [MASK].")
    assert (state.checkpoint, state.precision, message) == ("a/b@v1.0", "fp32", "")


@pytest.mark.parametrize("name", ["bert-TokenClassification", "bert-QuestionAnswering"])
def test_a_checkpoint_alone_opens_on_a_view_of_its_head(name: str, tiny: Callable[[str], Path], tmp_path: Path) -> None:
    """Without a fill-mask head, that is the view of its fine-tuned head, with a text that it can answer."""
    for item in (name, "bert-mlm"):
        shutil.copytree(tiny(item), tmp_path / item)
    answerer = Answerer(CheckpointRegistry(Settings(models_dir=tmp_path)))
    state, message = restore_state(answerer, {"checkpoint": name}, OPENING)
    assert (state.view, state.checkpoint, message) == ("answer", name, "") and answerer.answer(state).error == ""
    both = with_heads(load(tiny("bert-mlm"), precision="fp32"), ["sequence_classifier"], seed=0, labels=("a", "b"))
    save(both, tmp_path / "both")
    for other in ("both", "bert-mlm", "mini", "nowhere/to-be-found"):
        state, _ = restore_state(answerer, {"checkpoint": other}, OPENING)
        assert (state.view, state.text, state.checkpoint) == (OPENING.view, OPENING.text, other)


@pytest.mark.parametrize("query", [{}, {"utm": "1"}, {"view": OPENING.view}])
def test_an_empty_link_opens_the_default_state(answerer: Answerer, query: dict[str, str]) -> None:
    state, message = restore_state(answerer, query, OPENING)
    assert replace(state, options={}) == OPENING and not message


def test_unusable_parts_of_a_link_are_reported(answerer: Answerer) -> None:
    state, message = restore_state(answerer, {"view": "heads", "text": "A robin is a [MASK].", "top": "many"}, OPENING)
    assert (state.view, state.text, state.options["top"]) == (OPENING.view, "A robin is a [MASK].", 10)
    assert message.startswith("There is no view 'heads'. Pick one of those shown. ")
    assert "many" in message and message.endswith("The link's settings are left out.")


@pytest.mark.parametrize("query", ["view=next_sentence", "view=next_sentence&text=a&pair=b"])
def test_a_view_is_named_with_hyphens_alone(query: str) -> None:
    """The names of modules have underscores; links never had."""
    answerer = Answerer(CheckpointRegistry())
    state, notice = restore_state(answerer, dict(parse_qsl(query)), State("a [MASK]"))
    assert state.view == "fill-mask" and "There is no view 'next_sentence'" in notice
    assert "next_sentence" not in VIEWS and None not in VIEWS
