"""The query of one token and the keys of one head are those of transformers' own modules, as they enter the product."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from bertexplorer.engine import queries_and_keys, token_scores
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding, Text
from tests.conftest import Tiny
from tests.eager import FAMILIES, eager
from tests.tolerance import assert_same

PAIR = Text("The doctor said it was good, and she believes it.", "She works in <mask>.")
LINEAR = {
    "distilbert": ("q_lin", "k_lin"),
    "mpnet": ("q", "k"),
    "deberta-v2": ("query_proj", "key_proj"),
}  # else query and key


def projected(folder: Path, encoding: Encoding) -> list[tuple[Tensor, Tensor]]:
    """(queries, keys), t x d, of each layer, taken from transformers' linear modules with forward hooks."""
    model: Any = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    names = LINEAR.get(model.config.model_type, ("query", "key"))
    outputs: dict[str, list[Tensor]] = {name: [] for name in names}

    def keep(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def taken(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
            if output.shape[1] == len(encoding):  # DeBERTa passes its vectors of distances through them too
                outputs[name].append(output[0].detach())

        return taken

    hooks = [m.register_forward_hook(keep(end)) for n, m in model.named_modules() if (end := n.split(".")[-1]) in names]
    segments = {}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        segments = {"token_type_ids": torch.tensor([encoding.segments])}
    with torch.no_grad():
        model(input_ids=torch.tensor([encoding.ids]), **segments)
    for hook in hooks:
        hook.remove()
    return list(zip(*outputs.values(), strict=True))


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "modernbert"])
def test_queries_and_keys_equal_those_of_the_linear_modules(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(PAIR)
    size = checkpoint.config.head_size
    every_query, every_key = queries_and_keys(checkpoint, encoding)
    for layer, (queries, keys) in enumerate(projected(tiny(family), encoding)):
        for head in range(checkpoint.config.num_heads):
            result, part = token_scores(checkpoint, encoding, layer, head, 3), slice(head * size, (head + 1) * size)
            assert_same(checkpoint.config, result.query, queries[3, part])
            assert_same(checkpoint.config, result.keys, keys[:, part])
            assert bool(result.visible.all())
            assert_same(checkpoint.config, every_query[layer, head], queries[:, part])
            assert_same(checkpoint.config, every_key[layer, head], keys[:, part])


def test_modernbert_rotates_queries_and_keys(tiny: Tiny) -> None:
    """Transformers' rotary function receives the output of the fused matrix and returns the vectors that are
    multiplied."""
    from transformers.models.modernbert import modeling_modernbert as theirs

    checkpoint = load(tiny("modernbert"), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(PAIR)
    rotated: list[tuple[Tensor, Tensor]] = []
    real = theirs.apply_rotary_pos_emb

    def keep(*given: Any, **more: Any) -> tuple[Tensor, Tensor]:
        rotated.append(real(*given, **more))
        return rotated[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theirs, "apply_rotary_pos_emb", keep)
        eager(tiny("modernbert"), encoding)
    assert len(rotated) == checkpoint.config.num_layers
    every_query, every_key = queries_and_keys(checkpoint, encoding)
    for layer, (queries, keys) in enumerate(rotated):
        result = token_scores(checkpoint, encoding, layer, 1, 3)
        assert_same(checkpoint.config, result.query, queries[0, 1, 3].detach())
        assert_same(checkpoint.config, result.keys, keys[0, 1].detach())
        assert_same(checkpoint.config, every_query[layer], queries[0].detach())
        assert_same(checkpoint.config, every_key[layer], keys[0].detach())


@pytest.mark.parametrize("family", FAMILIES)
def test_queries_and_keys_give_the_attention_weights(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(PAIR)
    wanted = eager(tiny(family), encoding).attention
    every_query, every_key = queries_and_keys(checkpoint, encoding)
    for layer, head, position in ((0, 0, 0), (1, 1, 5), (checkpoint.config.num_layers - 1, 0, len(encoding) - 1)):
        result, row = token_scores(checkpoint, encoding, layer, head, position), wanted[layer, head, position]
        assert torch.equal(result.visible, row > 0)
        scores = (result.query * result.keys).sum(dim=-1) * result.scale
        assert (result.distance is None) == (family not in ("mpnet", "deberta"))
        if result.distance is not None:
            assert not torch.allclose(scores.softmax(dim=-1), row, atol=1e-3), "without the distances it is wrong"
            scores = scores + result.distance
        assert_same(checkpoint.config, scores.masked_fill(~result.visible, -torch.inf).softmax(dim=-1), row)
        assert_same(checkpoint.config, result.weights, row)
        assert_same(checkpoint.config, result.query, every_query[layer, head, position])
        assert_same(checkpoint.config, result.keys, every_key[layer, head])


def test_bf16_vectors_stay_near_fp32(bundled: Path) -> None:
    exact, near = (load(bundled, name="mini", precision=p, device="cpu") for p in ("fp32", "bf16"))
    encoding = exact.tokenizer.encode("The cat sat.")
    result, other = (token_scores(item, encoding, 3, 1, 2) for item in (exact, near))
    for name in ("query", "keys", "weights"):
        exact_values, its = getattr(result, name), getattr(other, name)
        assert its.dtype == exact_values.dtype and float((exact_values - its).norm() / exact_values.norm()) < 0.03
    for one, other in zip(queries_and_keys(exact, encoding), queries_and_keys(near, encoding), strict=True):
        assert other.dtype == torch.float32 and float((one - other).norm() / one.norm()) < 0.03
