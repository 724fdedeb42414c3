"""Precision and device: what `auto` selects on this machine."""

from functools import cache
from typing import Literal

import torch

Precision = Literal["auto", "fp32", "bf16"]
NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16"}


def best_device() -> torch.device:
    """CUDA, else Apple's GPU, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


@cache  # each answer asks, and torch asks the processor each time
def has_bf16(device: torch.device) -> bool:
    """Whether *device* multiplies bf16 in hardware; emulation would only be slower."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        capable = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # the public function checks AVX512 only
        return bool(capable and capable())
    return False


def resolve(precision: Precision, device: torch.device) -> torch.dtype:
    """The dtype of *precision* on *device*. Raises ValueError for an unknown name."""
    if precision == "auto":
        return torch.bfloat16 if has_bf16(device) else torch.float32
    for dtype, name in NAMES.items():
        if name == precision:
            return dtype
    raise ValueError(f"Precision {precision!r} is not known; wanted auto, fp32 or bf16.")
