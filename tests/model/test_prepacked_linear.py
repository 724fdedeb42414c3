"""Packed layers give the numbers of the plain ones, and preserve every bit of the file."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from bertexplorer.model.load import load
from bertexplorer.model.prepacked_linear import (
    HalfPackedLinear,
    PackedLinear,
    can_pack,
    can_pack_half,
    in_16_bits,
    pack,
    pack_two_ways,
)
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


def stored_in(dtype: torch.dtype, folder) -> nn.ModuleDict:
    """The modules of *folder* in fp32, with weights that *dtype* holds."""
    checkpoint = load(folder, precision="fp32", device="cpu")
    return nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads}).to(dtype).float()


needs_half = pytest.mark.skipif(not (can_pack(torch.float32) and can_pack_half()), reason="this torch cannot pack")


@needs_half
@pytest.mark.parametrize("name", ["bert", "albert", "deberta", "modernbert"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_stored_in_16_bits_give_what_fp32_gives(tiny, name: str, dtype: torch.dtype) -> None:
    plain, other = stored_in(dtype, tiny(name)), stored_in(dtype, tiny(name))
    pack(other, shared=True, fp32=True)
    assert {type(m) for m in other["encoder"].modules() if isinstance(m, nn.Linear)} == {HalfPackedLinear}
    assert type(other["masked_lm"].output) is HalfPackedLinear
    first, second = logits(plain), logits(other)
    config = load(tiny(name), precision="fp32", device="cpu").config
    torch.testing.assert_close(first, second, rtol=0, atol=of_encoder(config, first))
    state = other.state_dict()
    for key, tensor in plain.state_dict().items():
        assert torch.equal(tensor, state[key]) and tensor.dtype == state[key].dtype, key


@needs_half
def test_the_bundled_checkpoint_reads_half_the_bytes(bundled) -> None:
    plain, frozen = (load(bundled, precision="fp32", device="cpu", frozen=frozen) for frozen in (False, True))
    assert all(type(m) is HalfPackedLinear for m in frozen.encoder.modules() if isinstance(m, nn.Linear))
    table = plain.encoder.embeddings.words.weight.nbytes
    layers = sum(parameter.nbytes for parameter in plain.encoder.layers.parameters())
    assert plain.num_bytes < frozen.num_bytes < plain.num_bytes + table
    assert frozen.num_bytes - plain.num_bytes == pytest.approx(table / 2, rel=0.05), "the head's copy, in 16 bits"
    kept = sum(p.nbytes for p in frozen.encoder.layers.parameters())
    assert kept == pytest.approx(layers / 2, rel=0.01)


def test_what_16_bits_do_not_hold_is_left_to_fp32() -> None:
    weight = torch.randn(300, 32, generator=torch.Generator().manual_seed(0))
    assert in_16_bits(weight) is None
    narrow = weight.bfloat16().float()
    assert torch.equal(in_16_bits(narrow).float(), narrow)
    large, small = narrow.clone(), narrow.clone()
    large[299, 0] = 2.0**17  # beyond fp16
    small[299] = 2.0**-20  # too small for fp16: the row would lose digits
    small[299, 0] *= 1 + 2**-7
    assert in_16_bits(large) is None and in_16_bits(small) is None


@pytest.mark.skipif(not can_pack(torch.float32), reason="this torch cannot pack")
def test_gradients_of_layers_packed_two_ways(tiny) -> None:
    config = load(tiny("bert"), precision="fp32", device="cpu").config
    found = []
    for packed in (False, True):
        encoder = load(tiny("bert"), precision="fp32", device="cpu").encoder
        if packed:
            pack_two_ways(encoder)
            assert not any(type(module) is nn.Linear for module in encoder.modules())
        words = encoder.embeddings.words(IDS).requires_grad_(True)
        with torch.enable_grad():
            last = encoder.from_embeddings(encoder.embeddings.finish(words)).last
            (gradient,) = torch.autograd.grad(last[0, 3].square().sum(), words)
        found.append((last.detach(), gradient))
    for first, second in zip(*found, strict=True):
        torch.testing.assert_close(first, second, rtol=0, atol=of_encoder(config, first))
