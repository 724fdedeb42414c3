"""The input of BertViz: attention of the chosen layers, queries and keys for its neuron view, and no more than a
browser can draw."""

import numpy as np
import pytest

from bertexplorer import engine
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Text
from bertexplorer.views.bertviz import compute as bertviz
from bertexplorer.views.bertviz.compute import BertViz, Options
from tests.tolerance import assert_within
from tests.views.conftest import NEAR

PAIR = Text("The cat sat.", "It slept.")


def ask(checkpoint: Checkpoint, text: Text | str, **options: object) -> BertViz:
    return bertviz.run(checkpoint, text, options=Options(**options))


def test_all_or_the_chosen_layers_are_passed_on(mini: Checkpoint) -> None:
    wanted = engine.attentions(mini, mini.tokenizer.encode(PAIR)).numpy()
    result = ask(mini, PAIR)
    np.testing.assert_array_equal(result.attention, wanted)
    assert result.layers == (0, 1, 2, 3, 4, 5) and result.second == 6 and result.queries is None
    assert result.tokens == ("[CLS]", "the", "cat", "sat", ".", "[SEP]", "it", "slept", ".", "[SEP]")
    some = ask(mini, "The cat sat.", layers="5, 2-3; 3–2", kind="model")
    assert some.layers == (1, 2, 4) and some.attention.shape == (3, 12, 6, 6) and some.second is None


def test_the_neuron_view_has_queries_and_keys(mini: Checkpoint) -> None:
    result = ask(mini, PAIR, kind="neuron", layers="4")
    assert result.queries is not None and result.keys is not None and result.queries.shape == (1, 12, 10, 32)
    scores = result.queries @ result.keys.swapaxes(-1, -2) / 32**0.5
    shares = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    assert_within(shares, result.attention, NEAR)


@pytest.mark.parametrize(
    ("tokens", "options", "message"),
    [
        (100, {"kind": "head"}, "100 tokens.*head view.*up to 5 layers"),
        (60, {"kind": "model"}, "60 tokens.*model view.*up to 3 layers"),
        (80, {"kind": "model"}, "Shorten it; the view 'Heads'"),
        (60, {"kind": "neuron"}, "60 tokens.*neuron view.*Shorten it"),
        (200, {"kind": "head", "layers": "1"}, "1 layer of it. Shorten"),
        (9, {"layers": "0"}, "Layer 0.*Choose 1 to 6"),
        (9, {"layers": "2-9"}, "Layer 9"),
        (9, {"layers": "all"}, "'all' is not a layer"),
        (9, {"layers": "1" * 3000}, "3,000 characters"),
    ],
)
def test_too_large_views_and_unknown_layers_are_rejected(
    tokens: int, options: dict[str, str], message: str, mini: Checkpoint
) -> None:
    with pytest.raises(ExplorerError, match=message):
        ask(mini, "cat " * (tokens - 2), **options)


def test_the_limits_fit_bert_base() -> None:
    """12 layers of 12 heads with vectors of 64: 64 tokens in the head view, 32 in the model view, 24 in the neuron
    view."""
    for kind, tokens in (("head", 64), ("model", 32), ("neuron", 24)):
        vectors = 2 * tokens * 64 if kind == "neuron" else 0
        bertviz.check_size(kind, tokens, 12 * (tokens**2 + vectors), 12)
        with pytest.raises(ExplorerError, match="would freeze the page with 12 layers"):
            bertviz.check_size(kind, 2 * tokens, 12 * (4 * tokens**2 + 2 * vectors), 12)


def test_longer_texts_fit_with_fewer_layers(mini: Checkpoint) -> None:
    assert ask(mini, "cat " * 98, layers="2-6").attention.shape == (5, 12, 100, 100)
    assert ask(mini, "cat " * 58, kind="model", layers="1-3").attention.shape == (3, 12, 60, 60)


@pytest.mark.parametrize("kind", ["head", "neuron"])
def test_special_tokens_can_be_left_out(mini: Checkpoint, kind: str) -> None:
    text = Text("The man went.", "He ate.")
    whole = bertviz.run(mini, text, options=Options(kind=kind))
    result = bertviz.run(mini, text, options=Options(kind=kind, special="left out"))
    kept = [i for i, token in enumerate(whole.tokens) if token not in ("[CLS]", "[SEP]")]
    assert result.tokens == tuple(whole.tokens[i] for i in kept) and result.second == 4
    np.testing.assert_allclose(result.attention.sum(-1), 1, atol=NEAR)
    row = whole.attention[0, 0, kept[2]][kept]
    np.testing.assert_allclose(result.attention[0, 0, 2], row / row.sum(), atol=NEAR)
    assert (result.queries is None) == (kind == "head")
    if result.keys is not None and whole.keys is not None:
        np.testing.assert_array_equal(result.keys, whole.keys[:, :, kept])
