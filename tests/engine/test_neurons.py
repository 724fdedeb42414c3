"""Queries and keys, multiplied and softmaxed, are the attention weights of transformers."""

from pathlib import Path

import pytest
import torch

from bertexplorer.engine import queries_and_keys
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from tests.conftest import Tiny
from tests.eager import FAMILIES, eager
from tests.tolerance import assert_same

PAIR = Text("The doctor said it was good, and she believes it.", "She works in <mask>.")


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("mpnet", "deberta")])
def test_queries_and_keys_give_the_attention_weights(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(PAIR)
    wanted = eager(tiny(family), encoding).attention
    queries, keys = queries_and_keys(checkpoint, encoding)
    assert queries.shape == keys.shape == (*wanted.shape[:3], checkpoint.config.head_size)
    scores = queries @ keys.transpose(-1, -2) / checkpoint.config.head_size**0.5
    for layer, weights in enumerate(wanted):
        seen = weights > 0  # ModernBERT's local layers see a window
        assert bool(seen.all()) is not checkpoint.config.is_local(layer)
        result = scores[layer].masked_fill(~seen, -torch.inf).softmax(dim=-1)
        assert_same(checkpoint.config, result, weights)


def test_bf16_vectors_stay_near_fp32(bundled: Path) -> None:
    exact, near = (load(bundled, name="mini", precision=p, device="cpu") for p in ("fp32", "bf16"))
    encoding = exact.tokenizer.encode("The cat sat.")
    for one, other in zip(queries_and_keys(exact, encoding), queries_and_keys(near, encoding), strict=True):
        assert other.dtype == torch.float32 and float((one - other).norm() / one.norm()) < 0.03
