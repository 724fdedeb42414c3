"""Query and key: products add up to scores whose softmax is the attention; the default query; errors; long texts."""

import numpy as np
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import TOKENS, Span, Text
from bertexplorer.views.attention import compute as attention
from bertexplorer.views.query_key import compute as query_key
from bertexplorer.views.query_key.compute import Options, QueryKey
from tests.conftest import Tiny
from tests.views.conftest import NEAR

KEYS = "The keys to the cabinet [MASK] on the table."


def ask(checkpoint: Checkpoint, text: Text | str, layer: int = 1, head: int = 1) -> QueryKey:
    return query_key.run(checkpoint, text, options=Options(layer=layer, head=head))


def test_the_softmax_of_the_scores_equals_the_weights_of_the_view_heads(mini: Checkpoint) -> None:
    result = ask(mini, KEYS, 4, 2)
    every = attention.run(mini, KEYS).every
    powers = np.exp(result.scores - result.scores.max())
    np.testing.assert_allclose(powers / powers.sum(), every[3, 1, result.position], atol=1e-5)
    np.testing.assert_allclose(result.weights, every[3, 1, result.position], atol=1e-6)
    np.testing.assert_allclose(result.products.sum(axis=1), result.keys @ result.query, rtol=1e-4, atol=1e-4)
    assert result.products.shape == (12, 32) and result.scale == pytest.approx(32**0.5)
    assert result.tokens[int(result.weights.argmax())] == "keys"


def test_the_query_is_the_picked_token_or_the_mask(mini: Checkpoint) -> None:
    def query_of(text: Text | str) -> tuple[str, bool, int]:
        result = ask(mini, text)
        return result.tokens[result.position], result.picked, result.others

    assert query_of(KEYS) == ("[MASK]", False, 0)
    assert query_of("The cat sat.") == ("the", False, 0)
    assert query_of(Text(KEYS, picked=(Span(0, 4, 8),))) == ("keys", True, 0)
    assert query_of(Text(KEYS, picked=(Span(0, 4, 11),))) == ("keys", True, 1)
    assert query_of(Text(KEYS, picked=(Span(TOKENS, 0, 1),))) == ("[CLS]", True, 0)
    assert query_of(Text("The cat sat.", picked=(Span(0, 90, 99),))) == ("the", False, 0)
    assert query_of("[SEP]")[0] == "[CLS]"


@pytest.mark.parametrize(("layer", "head", "message"), [(7, 1, "Layer 7.*6 layers"), (1, 13, "Head 13.*12 heads"),
                                                     (-1, 1, "Layer -1"), (1, -1, "Head -1")])  # fmt: skip
def test_an_unknown_layer_or_head_is_rejected(layer: int, head: int, message: str, mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match=message):
        ask(mini, KEYS, layer, head)


def test_a_long_export_keeps_the_tokens_with_the_largest_weights(
    mini: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ask(mini, KEYS, 4, 2)
    monkeypatch.setattr(query_key, "MAX_ROWS", 100)
    positions = {row["to_position"] for row in query_key.rows(result)}
    assert positions == set(np.argsort(-result.weights)[:3].tolist())


def test_tokens_outside_the_window_of_a_local_layer_have_weight_0(tiny: Tiny) -> None:
    checkpoint = load(tiny("modernbert"), precision="fp32", device="cpu")
    text = "The doctor said it was good, and she believes it. She works in <mask>."
    local = next(layer for layer in range(5) if checkpoint.config.is_local(layer))
    result = ask(checkpoint, text, local + 1)
    assert not result.seen.all() and (result.weights[~result.seen] == 0).all() and result.seen[result.position]
    assert {row["seen"] for row in query_key.rows(result)} == {True, False}


def test_facts_give_the_numbers_of_a_token(mini: Checkpoint) -> None:
    result = ask(mini, KEYS, 4, 2)
    facts = query_key.Facts(mini, Text(KEYS), result)
    assert facts.weight("keys") == result.weights[2] > result.weights[1] and facts.score("keys") == result.scores.max()
    assert facts.score("the", 2) == result.scores[4]


def test_without_a_head_it_is_the_one_in_which_the_token_looks_at_another_word_most(mini: Checkpoint) -> None:
    text = "The capital of France is [MASK]."
    free = query_key.run(mini, text)
    assert free.link is not None and free.head == free.link.head
    assert free.weights[free.link.target] == pytest.approx(free.link.weight, abs=NEAR)
    named = query_key.run(mini, text, options=Options(layer=free.head.layer + 1, head=free.head.head + 1))
    assert np.array_equal(free.weights, named.weights)
    assert query_key.run(mini, text, options=Options(layer=2)).head == (1, 0)
    assert query_key.run(mini, "cat").head == (0, 0), "there is no other word to look at"
