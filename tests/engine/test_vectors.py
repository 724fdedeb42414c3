"""Vectors of many texts are those of transformers, each text run by itself: padding and order leave no trace."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer.engine import vectors
from bertexplorer.engine.vectors import kept_sentence_vectors, sentence_vectors, token_vectors, word_vectors
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from tests.conftest import Tiny
from tests.eager import FAMILIES as ALL
from tests.tolerance import assert_same

FAMILIES = [name for name in ALL if name != "electra-generator"]  # the vectors of its discriminator are enough
TEXTS = (
    "the capital of france is paris .",
    "a cat .",
    "she works as a nurse in london and he works as a doctor .",
    "a",
)


def states(folder: Path, checkpoint: Checkpoint) -> list[Tensor]:
    """For each text its hidden states by transformers, layers x t x d."""
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    result = []
    for text in TEXTS:
        ids = torch.tensor([checkpoint.tokenizer.encode(text).ids])
        with torch.no_grad():
            hidden = model(input_ids=ids, output_hidden_states=True).hidden_states
        result.append(torch.cat(hidden))
    return result


def pooled(hidden: Tensor, layer: int, pooling: str) -> Tensor:
    if pooling == "CLS":
        return hidden[layer, 0]
    if pooling == "max":
        return hidden[layer].max(dim=0).values
    if pooling == "mean":
        return hidden[layer].sum(dim=0) / hidden.shape[1]
    return sum(hidden[i] for i in range(max(1, len(hidden) - 4), len(hidden))).mean(dim=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_pooling_of_every_layer_equals_that_of_transformers(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    wanted = states(tiny(family), checkpoint)
    encodings = [checkpoint.tokenizer.encode(text) for text in TEXTS]
    for pooling in ("mean", "CLS", "max", "last four summed"):
        for layer in (0, 1, checkpoint.config.num_layers):
            result = sentence_vectors(checkpoint, encodings, layer=layer, pooling=pooling)
            expected = torch.stack([pooled(hidden, layer, pooling) for hidden in wanted])
            assert_same(checkpoint.config, result, expected)
    words = [[[1], [1, 2]], [], [[3, 4, 5]], [[1]]]
    result = word_vectors(checkpoint, encodings, words)
    expected = [wanted[i][:, at].mean(dim=1) for i, groups in enumerate(words) for at in groups]
    assert_same(checkpoint.config, result, torch.stack(expected, dim=1))
    result = token_vectors(checkpoint, encodings, layer=2, pooling="mean")
    assert_same(checkpoint.config, result, torch.cat([hidden[2] for hidden in wanted]))


def test_last_four_summed_adds_four_layers(tiny: Tiny) -> None:
    checkpoint = load(tiny("modernbert"), precision="fp32", device="cpu")
    assert checkpoint.config.num_layers == 5
    encodings = [checkpoint.tokenizer.encode(text) for text in TEXTS]
    result = token_vectors(checkpoint, encodings, layer=0, pooling="last four summed")
    summed = sum(token_vectors(checkpoint, encodings, layer=i, pooling="mean") for i in (2, 3, 4, 5))
    assert_same(checkpoint.config, result, summed)


def test_bf16_vectors_are_returned_as_fp32(tiny: Tiny) -> None:
    exact, half = (load(tiny("bert"), precision=p, device="cpu") for p in ("fp32", "bf16"))
    encodings = [exact.tokenizer.encode(text) for text in TEXTS]
    result = sentence_vectors(half, encodings, layer=3, pooling="mean")
    assert result.dtype == torch.float32
    similarity = torch.cosine_similarity(result, sentence_vectors(exact, encodings, layer=3, pooling="mean"))
    assert similarity.min() > 0.99


def test_non_finite_numbers_are_rejected(tiny: Tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    with torch.no_grad():
        checkpoint.encoder.layers[0].feed_forward.contract.bias.fill_(float("inf"))
    with pytest.raises(ExplorerError, match="not finite.*fp32"):
        sentence_vectors(checkpoint, [checkpoint.tokenizer.encode("a cat")], layer=3, pooling="mean")


def test_kept_vectors_are_computed_once_for_what_is_read_alike(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = load(tiny("bert-mlm"), precision="fp32", device="cpu")
    encodings = [checkpoint.tokenizer.encode(text) for text in TEXTS]
    wanted = sentence_vectors(checkpoint, encodings, layer=2, pooling="mean")
    first = kept_sentence_vectors(checkpoint, encodings, layer=2, pooling="mean")
    assert torch.equal(first, wanted)
    first.zero_()  # the kept ones stay as they are
    computed = []
    monkeypatch.setattr(vectors, "sentence_vectors", lambda *_, **how: computed.append(how) or wanted + len(computed))
    assert torch.equal(kept_sentence_vectors(checkpoint, encodings, layer=2, pooling="mean"), wanted)
    assert not computed
    others = [
        (encodings[:2], {"layer": 2, "pooling": "mean"}),
        ([replace(one, unpooled=1) for one in encodings], {"layer": 2, "pooling": "mean"}),
        (encodings, {"layer": 1, "pooling": "mean"}),
        (encodings, {"layer": 2, "pooling": "CLS"}),
    ]
    for number, (asked, how) in enumerate(others, 1):
        assert torch.equal(kept_sentence_vectors(checkpoint, asked, **how), wanted + number)
    assert len(computed) == len(others)
