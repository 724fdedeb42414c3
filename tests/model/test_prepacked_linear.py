"""Packed layers give the numbers of the plain ones, and preserve every bit of the file."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from bertexplorer.model.load import load
from bertexplorer.model.prepacked_linear import PackedLinear, can_pack, pack
from bertexplorer.model.save import save
from tests.tolerance import BF16, of_encoder

needs_packing = pytest.mark.skipif(not can_pack(), reason="this torch cannot pack")
IDS = torch.arange(5, 45)[None]


def in_bf16(folder) -> nn.ModuleDict:
    """Without `load`, which packs."""
    checkpoint = load(folder, precision="fp32", device="cpu")
    return nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads}).bfloat16()


def logits(modules: nn.ModuleDict) -> torch.Tensor:
    return modules["masked_lm"](modules["encoder"](IDS).last)


@needs_packing
@pytest.mark.parametrize("name", ["bert", "albert", "deberta", "modernbert"])
@pytest.mark.parametrize("shared", [False, True])
def test_packed_layers_give_the_same(tiny, name: str, shared: bool) -> None:
    plain, other = in_bf16(tiny(name)), in_bf16(tiny(name))
    pack(other, shared=shared)
    kinds = {type(module) for module in other["encoder"].modules()}
    assert PackedLinear in kinds
    assert nn.Linear not in kinds
    first, second = logits(plain), logits(other)
    config = load(tiny(name), precision="fp32", device="cpu").config
    torch.testing.assert_close(first, second, rtol=0, atol=of_encoder(config, first, unit=BF16))
    state = other.state_dict()
    for key, tensor in plain.state_dict().items():
        assert torch.equal(tensor, state[key]), key


@needs_packing
@pytest.mark.parametrize("shared", [False, True])
def test_the_tied_output_is_packed_only_on_request(tiny, shared: bool) -> None:
    modules = in_bf16(tiny("bert"))
    pack(modules, shared=shared)
    assert type(modules["encoder"].embeddings.words) is nn.Embedding
    assert isinstance(modules["masked_lm"].output, PackedLinear) == shared


@needs_packing
def test_a_packed_checkpoint_is_saved_bit_for_bit(bundled, tmp_path) -> None:
    checkpoint = load(bundled, precision="bf16", device="cpu")
    pack(nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads}))
    save(checkpoint, tmp_path)
    before, after = (load_file(f / "model.safetensors") for f in (bundled, tmp_path))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)


@pytest.mark.skipif(not can_pack(torch.float32), reason="this torch cannot pack")
@pytest.mark.parametrize("name", ["bert", "electra-discriminator", "albert", "modernbert"])
def test_a_frozen_fp32_checkpoint_gives_the_same(tiny, name: str, tmp_path) -> None:
    plain, other = (load(tiny(name), precision="fp32", device="cpu", frozen=frozen) for frozen in (False, True))
    kinds = {type(module) for module in other.encoder.modules()}
    assert PackedLinear in kinds and nn.Linear not in kinds
    first, second = plain.encoder(IDS).last, other.encoder(IDS).last
    torch.testing.assert_close(first, second, rtol=0, atol=of_encoder(plain.config, first))
    state = other.encoder.state_dict()
    assert all(torch.equal(tensor, state[key]) for key, tensor in plain.encoder.state_dict().items())
    assert other.num_parameters == plain.num_parameters


def test_a_large_table_is_not_copied(tiny, monkeypatch) -> None:
    monkeypatch.setattr("bertexplorer.model.prepacked_linear.MAX_COPY", 1000)
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu", frozen=True)
    assert type(checkpoint.masked_lm.output) is nn.Linear


def test_parameters_are_counted_alike_in_both_precisions(tiny) -> None:
    fp32, bf16 = (load(tiny("bert"), precision=p, device="cpu") for p in ("fp32", "bf16"))
    assert fp32.num_parameters == bf16.num_parameters


def test_fp32_is_not_packed(tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    pack(checkpoint.encoder)
    assert not any(isinstance(module, PackedLinear) for module in checkpoint.encoder.modules())
