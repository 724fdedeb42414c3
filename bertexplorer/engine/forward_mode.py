"""Derivatives in forward mode, in one thread at a time.

torch has one level of forward mode, and one choice of attention kernels, for all threads of a process. Of two threads
that take derivatives at once, the one that ends first takes the level of the other away, whose derivatives then fail
or are 0."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

ONE_AT_A_TIME = threading.Lock()
R = TypeVar("R")


def jvp(function: Callable[..., R], at: tuple[Any, ...], along: tuple[Any, ...]) -> R:
    """The derivative of *function* at the arguments *at* in the direction *along*, which has their shapes. Another
    thread waits meanwhile, so *function* must not request a slot of a scheduler."""
    with ONE_AT_A_TIME, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):  # the fused kernels have no forward mode
        derivative: R = torch.func.jvp(function, at, along)[1]
    return derivative
