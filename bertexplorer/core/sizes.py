"""Sizes: about how many bytes a result takes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

import numpy as np

OBJECT = 64  # bytes of a small object
SAMPLED = 50  # items of a long sequence that stand for all


def held_by(array: np.ndarray) -> int:
    """The bytes of the memory behind *array*, of which it may show a part."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    storage = getattr(array.base, "untyped_storage", None)  # of a tensor
    if storage is None:
        return array.nbytes
    return int(storage().nbytes())


def size_of(value: Any) -> int:
    """About how many bytes *value* takes: arrays with all that they keep in memory, of a long sequence the mean of its
    first items times all.

    Example:
        >>> size_of(np.zeros(1000)), size_of((1, 2, 3))
        (8000, 256)
    """
    if isinstance(value, np.ndarray):
        return held_by(value)
    if isinstance(value, str | bytes):
        return OBJECT + 4 * len(value)  # at most
    if is_dataclass(value):
        return OBJECT + sum(size_of(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, Mapping):
        return OBJECT + size_of(tuple(value)) + size_of(tuple(value.values()))
    if isinstance(value, Sequence | frozenset):
        sizes = [size_of(item) for item in islice(value, SAMPLED)]
        if not sizes:
            return OBJECT
        return OBJECT + sum(sizes) * len(value) // len(sizes)
    return OBJECT
