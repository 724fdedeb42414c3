"""The vectors of another program: checked, how their numbers were rounded, and the texts that the search uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bertexplorer.errors import ExplorerError
from bertexplorer.wording import counted

FEWEST = 2  # texts: one to find a recipe, and one to confirm it
MAX_TEXTS = 2_000  # that are read
MAX_NUMBERS = 16_384  # of a vector
EXACT = 1e-6  # the distance of two programs that compute in fp32
DECIMALS = 5  # digits after the point, from which on rounding is no longer noticed


class TextVectors(NamedTuple):
    """Texts and the vectors of another program, as they were read."""

    texts: Sequence[str]
    vectors: Sequence[Sequence[float]]


@dataclass(frozen=True, eq=False)
class Given:
    """Texts, and the vectors that another program made of them."""

    texts: tuple[str, ...]
    vectors: Float[np.ndarray, "n d"]  # fp64
    kind: str  # "numbers", or "binary" for vectors of which only the signs are kept
    rounding: str  # how the numbers were rounded, as part of a sentence; "" if they were not
    floor: float  # distances below this say nothing: those of rounding, and of the order in which numbers are added
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return self.vectors.shape[1]

    @property
    def lengths(self) -> Float[np.ndarray, " n"]:
        """The length of each vector."""
        return np.asarray(np.linalg.norm(self.vectors, axis=1))


def check(texts: Sequence[str], vectors: object) -> Given:
    """*texts* and *vectors*, n rows of numbers, as they are used. Raises ExplorerError for vectors that cannot be
    compared."""
    array = as_array(vectors)
    if len(texts) != len(array):
        raise ExplorerError(
            f"There are {counted(len(texts), 'text')} and {counted(len(array), 'vector')}. Give a vector for each, "
            "in the same order."
        )
    notes = []
    if len(array) > MAX_TEXTS:
        notes.append(f"The first {MAX_TEXTS:,} of {len(array):,} texts are used.")
        texts = texts[:MAX_TEXTS]
        array = array[:MAX_TEXTS]
    array = array.astype(np.float64)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        row = int(finite.argmin()) + 1
        raise ExplorerError(
            f"Vector {row:,} has a number that is not finite (NaN or infinite), as have {int((~finite).sum()):,} of "
            f"{len(array):,}. Something failed when they were computed: compute them again, in fp32."
        )
    rows, about_others = usable_rows(texts, array)
    notes += about_others
    texts = [texts[i] for i in rows]
    array = array[rows]
    if len(texts) < FEWEST:
        left = "is" if len(texts) == 1 else "are"
        raise ExplorerError(
            f"{counted(len(texts), 'text')} with a vector {left} left; wanted {FEWEST} or more that differ: one to "
            "find the recipe, and another to confirm it.",
            MORE_TEXTS,
        )
    if np.allclose(array, array[0], rtol=1e-6, atol=0):
        raise ExplorerError(
            f"All {len(array):,} vectors are the same, though the texts differ. The texts never reached the model: "
            "look at what the program sends to it."
        )
    array, kind = unpacked(array)
    rounding, floor = how_rounded(array, kind)
    return Given(texts=tuple(texts), vectors=array, kind=kind, rounding=rounding, floor=floor, notes=tuple(notes))


MORE_TEXTS = {
    "page": "Add texts; ten that tell recipes apart are offered.",
    "cli": "`bertexplorer doctor texts` prints ten that tell recipes apart.",
    "python": "bertexplorer.diagnosis.texts.TEXTS has ten that tell recipes apart.",
}


def as_array(vectors: object) -> np.ndarray:
    """*vectors* as n rows of numbers. Raises ExplorerError for anything else."""
    try:
        array = np.asarray(vectors)
        if array.dtype.kind not in "fiub":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ExplorerError(
            "The vectors are not rows of numbers, all of one length. Give an array of n rows, one for each text."
        ) from error
    if array.ndim != 2 or not array.shape[1]:
        raise ExplorerError(
            f"The vectors have the shape {array.shape}; wanted n rows of numbers, one row for each text."
        )
    if array.shape[1] > MAX_NUMBERS:
        raise ExplorerError(f"A vector has {array.shape[1]:,} numbers; wanted at most {MAX_NUMBERS:,}.")
    return array


def usable_rows(texts: Sequence[str], array: np.ndarray) -> tuple[list[int], list[str]]:
    """(rows with a text and a vector of their own, notes about the others)."""
    first: dict[str, int] = {}
    empty = 0
    of_zeros = 0
    repeated = 0
    differing = 0  # of those that are repeated
    for row, text in enumerate(texts):
        if not text.strip():
            empty += 1
        elif not array[row].any():
            of_zeros += 1
        elif text in first:
            repeated += 1
            if not np.allclose(array[row], array[first[text]], rtol=1e-3, atol=1e-6):
                differing += 1
        else:
            first[text] = row
    notes = []
    if empty:
        notes.append(f"{counted(empty, 'empty text')} left out.")
    if of_zeros:
        notes.append(f"{counted(of_zeros, 'vector')} of zeros left out: a program writes them where it failed.")
    if repeated:
        notes.append(f"{counted(repeated, 'repeated text')} left out.")
    if differing:
        notes.append(
            f"{counted(differing, 'repeated text')} had another vector each time: the program is not deterministic, "
            "its dropout is on, or lines are shuffled."
        )
    return list(first.values()), notes


def unpacked(array: np.ndarray) -> tuple[np.ndarray, str]:
    """(*array*, its kind as in Given). Of binary vectors, the signs are -1 and 1."""
    values = set(np.unique(array[:, :64]).tolist())
    if values <= {0.0, 1.0} or values <= {-1.0, 1.0}:
        return np.where(array > 0, 1.0, -1.0), "binary"
    return array, "numbers"


def how_rounded(array: np.ndarray, kind: str) -> tuple[str, float]:
    """(how the numbers were rounded, in words; the distance below which a difference says nothing)."""
    if kind == "binary":
        return "only the signs of their numbers are kept (binary)", 1e-3
    typical = float(np.sqrt(np.mean(array**2)))
    single = array.astype(np.float32)
    if np.array_equal(array, np.rint(array)):
        return "their numbers are whole (int8)", rounding_distance(1.0, typical)
    if np.array_equal(single, single.astype(np.float16).astype(np.float32)):
        return "their numbers are rounded to fp16", EXACT
    if np.array_equal(single, truncated_to_bf16(single)):
        return "their numbers are rounded to bf16", 4e-5
    for digits in range(1, DECIMALS + 1):
        if np.allclose(array, np.round(array, digits), rtol=1e-7, atol=1e-9):
            floor = rounding_distance(10.0**-digits, typical)
            return f"their numbers are rounded to {counted(digits, 'digit')} after the point", floor
    return "", EXACT


def truncated_to_bf16(single: np.ndarray) -> np.ndarray:
    """*single* without the lower half of its bits."""
    return (single.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def rounding_distance(step: float, typical: float) -> float:
    """Four times the distance (1 - cosine) to expect from rounding to multiples of *step* numbers that are *typical* in
    size: an error that is uniform has the variance step² / 12, and the distance is half of its share."""
    return max(EXACT, 4 * step**2 / 12 / typical**2 / 2)
