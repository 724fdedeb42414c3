"""Precision: `auto` is bf16 only if the machine has it, and the checkpoint reports the choice."""

from collections.abc import Iterator

import pytest
import torch

from bertexplorer.model import precision
from bertexplorer.model.load import load
from tests.tolerance import BF16, of_encoder

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    """Another answer of the processor than before."""
    precision.has_bf16.cache_clear()
    yield
    precision.has_bf16.cache_clear()


@pytest.mark.parametrize(("has", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_follows_the_machine(monkeypatch, has: bool, dtype: torch.dtype) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has, raising=False)
    assert precision.resolve("auto", CPU) == dtype


def test_auto_is_fp32_where_torch_cannot_tell(monkeypatch) -> None:
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported", raising=False)
    assert precision.resolve("auto", CPU) == torch.float32
    assert precision.resolve("auto", torch.device("mps")) == torch.float32


@pytest.mark.parametrize(("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_the_encoder_runs_in_the_requested_precision(tiny, name, dtype: torch.dtype) -> None:
    checkpoint = load(tiny("bert"), precision=name, device="cpu")
    assert checkpoint.precision == name
    for module in (checkpoint.encoder, *checkpoint.heads.values()):
        assert {p.dtype for p in module.parameters()} == {dtype}
    assert checkpoint.stored_dtype == torch.float32


def test_bf16_stays_near_fp32(bundled) -> None:
    ids = torch.tensor([[101, 1996, 3007, 1997, 2605, 2003, 103, 1012, 102]])
    fp32, bf16 = (load(bundled, precision=p, device="cpu") for p in ("fp32", "bf16"))
    first, second = (c.masked_lm(c.encoder(ids).last[0, 6]).float().softmax(-1) for c in (fp32, bf16))
    assert first.argmax() == second.argmax()
    assert 0 < (first - second).abs().max() < 0.05


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_bf16_ignores_padding_too(tiny, name: str) -> None:
    checkpoint = load(tiny(name), precision="bf16", device="cpu")
    ids = torch.arange(5, 25)[None]
    padded = torch.cat([ids, torch.full((1, 6), checkpoint.config.pad_id)], dim=1)
    mask = torch.arange(26)[None] < 20
    for attention in (False, True):
        alone = checkpoint.encoder(ids, attention=attention).last
        with_padding = checkpoint.encoder(padded, mask=mask, attention=attention).last[:, :20]
        allowed = of_encoder(checkpoint.config, alone, unit=BF16)
        torch.testing.assert_close(alone.float(), with_padding.float(), rtol=0, atol=allowed)
