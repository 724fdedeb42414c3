"""Rollout is the formula written out; flow is networkx's maximum flow on the same graph."""

import networkx
import numpy as np
import pytest

from bertexplorer import engine
from bertexplorer.answers.attention_weights import rollout
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.attention_flow import compute as attention_flow
from bertexplorer.views.attention_flow.compute import AttentionFlow, Options, flow
from tests.conftest import Tiny
from tests.eager import FAMILIES, eager
from tests.tolerance import assert_within, of_encoder

TEXT = "The capital of <mask> is good."


def random_attention(layers: int, tokens: int, seed: int = 0, spread: float = 0.3) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(tokens, spread), (layers, tokens))


def ask(checkpoint: Checkpoint, text: Text | str, **options: object) -> AttentionFlow:
    return attention_flow.run(checkpoint, text, options=Options(**options))


def written_out(attention: np.ndarray) -> np.ndarray:
    """Abnar and Zuidema (2020), equation 1, as a sum over all paths of one step a layer."""
    layers, tokens, _ = attention.shape
    result = np.zeros((layers, tokens, tokens))
    for i in range(layers):
        for a in range(tokens):
            for b in range(tokens):
                for c in range(tokens):
                    step = 0.5 * attention[i, a, c] + 0.5 * (a == c)
                    result[i, a, b] += step * (result[i - 1, c, b] if i else c == b)
    return result


def by_networkx(attention: np.ndarray, top: int, token: int, sink: int) -> float:
    graph = networkx.DiGraph()
    tokens = attention.shape[-1]
    for i in range(top + 1):
        for a in range(tokens):
            for b in range(tokens):
                graph.add_edge((i + 1, a), (i, b), capacity=0.5 * attention[i, a, b] + 0.5 * (a == b))
    return float(networkx.maximum_flow_value(graph, (top + 1, token), (0, sink)))


def test_rollout_equals_its_formula() -> None:
    attention = random_attention(4, 5)
    result = rollout(attention)
    np.testing.assert_allclose(result, written_out(attention), atol=1e-12)  # float64
    np.testing.assert_allclose(result.sum(axis=-1), 1)


@pytest.mark.parametrize("seed", range(3))
def test_flow_equals_the_maximum_flow_of_networkx(seed: int) -> None:
    attention = random_attention(4, 5, seed, spread=0.15)
    for token in range(5):
        result = flow(attention, token)
        wanted = [[by_networkx(attention, top, token, sink) for sink in range(5)] for top in range(4)]
        np.testing.assert_allclose(result, wanted, atol=1e-4)  # ours in whole millionths, an edge each
    assert result.max() <= 1.0001 and result.min() >= 0


def test_flow_equals_a_computation_by_hand() -> None:
    # Two tokens attend to each other: half stays, half crosses, so each edge carries one half.
    result = flow(np.array([[[0.0, 1.0], [1.0, 0.0]]] * 2), 0)
    np.testing.assert_allclose(result, [[0.5, 0.5], [1.0, 1.0]], atol=1e-5)  # whole millionths
    assert rollout(np.ones((3, 1, 1))).tolist() == flow(np.ones((3, 1, 1)), 0)[:, :, None].tolist() == [[[1.0]]] * 3


@pytest.mark.parametrize("family", FAMILIES)
def test_every_method_equals_a_computation_from_transformers_attention(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(TEXT)
    attention = eager(tiny(family), encoding).attention.mean(dim=1).numpy()
    spot = encoding.masked[0]
    result = ask(checkpoint, TEXT)
    assert result.about == (spot,) and result.layer == checkpoint.config.num_layers - 1 and not result.picked
    assert_within(result.raw, attention[:, spot], of_encoder(checkpoint.config))
    assert_within(result.shares, written_out(attention)[:, spot], of_encoder(checkpoint.config))
    assert_within(ask(checkpoint, TEXT, method="raw").shares, attention[:, spot], of_encoder(checkpoint.config))
    results = ask(checkpoint, TEXT, method="flow").shares
    for top, sink in ((0, 0), (1, 2), (2, 3)):  # whole millionths over the edges of a cut, tokens x tokens at most
        assert results[top, sink] == pytest.approx(
            by_networkx(attention, top, spot, sink), abs=1e-6 * len(encoding) ** 2
        )


def test_the_view_is_about_the_picked_word_or_the_first_token(mini: Checkpoint) -> None:
    text = "The cat was unbelievably tired."
    start = text.index("un")
    picked = Text(text, picked=(Span(0, start, start + 12),))
    result = ask(mini, picked, layer=2)
    assert result.picked and result.about == (4, 5, 6, 7, 8) and result.layer == 1
    alone = [ask(mini, Text(text, picked=(Span(0, start + i, start + i + 1),))) for i in (0, 2, 5, 7, 9)]
    assert [item.about for item in alone] == [(4,), (5,), (6,), (7,), (8,)]
    assert_within(result.shares, np.mean([item.shares for item in alone], axis=0), 1e-12)  # float64
    assert ask(mini, text).about == (0,)


def test_texts_and_picks_beyond_the_limits_of_flow_are_rejected(mini: Checkpoint) -> None:
    long = "cat " * 70
    assert ask(mini, long).shares.shape == (6, 72)
    with pytest.raises(ExplorerError, match="72 tokens.*64 at most.*choose rollout"):
        ask(mini, long, method="flow")
    text = "The cat sat on the big old mat."
    with pytest.raises(ExplorerError, match="9 tokens are picked.*8 at most"):
        ask(mini, Text(text, picked=(Span(0, 0, len(text)),)), method="flow")
    with pytest.raises(ExplorerError, match=r"Layer 7 .* Choose 1 to 6\.$"):
        ask(mini, text, layer=7)


def test_special_tokens_can_be_left_out(small: Checkpoint) -> None:
    """The rows are scaled up before anything is multiplied, and positions count in the whole text."""
    text = Text("a b c d", picked=(Span(0, 2, 3),))
    attention = engine.attentions(small, small.tokenizer.encode(text)).mean(1).double().numpy()[:, 1:-1, 1:-1]
    scaled = attention / attention.sum(-1, keepdims=True)
    result = ask(small, text, special="left out")
    assert (result.tokens, result.positions, result.about) == (("a", "b", "c", "d"), (1, 2, 3, 4), (1,))
    np.testing.assert_allclose(result.shares, rollout(scaled)[:, 1], atol=1e-6)
    assert attention_flow.rows(result)[0]["to_position"] == 1
    with pytest.raises(ExplorerError, match=r"The text has only \[CLS\] and \[SEP\], and these are left out."):
        ask(small, "[SEP]", special="left out")
