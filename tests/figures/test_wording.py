"""Sentences at the edges: equal numbers, numbers that round to zero, and cosines."""

from dataclasses import replace

import pytest

from bertexplorer.figures.style import beyond_limit, count, signed
from bertexplorer.views import counterfactuals, layers, referee, saliency, switchboard
from tests.figures.test_counterfactuals import TWO, reduction
from tests.figures.test_layers import layers as layers_result
from tests.figures.test_referee import referee as referee_result
from tests.figures.test_saliency import saliency as saliency_result
from tests.figures.test_switchboard import board


def test_the_change_of_a_rank_is_described() -> None:
    assert layers.rank_change(1, 1) == "stays at rank 1"
    assert layers.rank_change(1200, 3) == "goes from rank 1,200 to rank 3"
    assert "The hidden “word1” goes from rank 12 to rank 3." in layers.say(layers_result())


@pytest.mark.parametrize(
    ("value", "text"), [(-0.5, "−0.50"), (-0.004, "−0.004"), (-0.0001, "> −0.001"), (0.0, "0"), (-12.346, "−12.35")]
)
def test_only_certainty_has_the_log_probability_0(value: float, text: str) -> None:
    assert f"(log-probability {text})" in saliency.say(replace(saliency_result(), value=value))


def test_a_rounded_zero_has_no_sign() -> None:
    assert [signed(value) for value in (-0.001, 0.0, 0.004, -0.01, 1.5)] == ["0", "0", "0", "−0.01", "+1.50"]
    sentence = switchboard.say(board((), change=board().change * 1e-6))
    assert "(0 bits)" in sentence and "−0.00" not in sentence and "+0.00" not in sentence


def test_every_view_words_the_cosine_alike() -> None:
    heads = board((), target="cosine", scored=True)
    assert "With all heads on, the cosine is 0.6" in switchboard.say(heads)
    whole = replace(saliency_result(answer="cosine"), target="score", value=0.28)
    assert saliency.say(whole).startswith("The cosine is 0.28 here.")
    assert saliency.say(replace(whole, answer="stars")).startswith("“stars” has 0.28 here.")
    assert referee.say(replace(referee_result(), answer="cosine", scored=True)).startswith("The cosine is ")


def test_a_shorter_text_with_an_equal_probability_has_as_much() -> None:
    steps = reduction(2)
    first = replace(steps.edits[0], kept=0.9962)
    same = replace(steps, probability=0.9961, edits=(first, steps.edits[1]))
    assert "Without 1 word it has as much, 99.6 %." in counterfactuals.say(same)
    assert "Without 1 word it has more, 99.6 %." in counterfactuals.say(replace(same, probability=0.4))


def test_a_head_without_further_training_is_named() -> None:
    assert "The mask head was not trained further" in counterfactuals.say(replace(TWO, stale_head=True))
    assert "not trained further" not in counterfactuals.say(TWO)


def test_counts_agree_with_their_noun() -> None:
    assert [*beyond_limit(0), *beyond_limit(1)] == ["1 token beyond the checkpoint's limit was not read."]
    assert beyond_limit(1200) == ["1,200 tokens beyond the checkpoint's limit were not read."]
    assert [count(number, "head") for number in (0, 1, 2)] == ["0 heads", "1 head", "2 heads"]
