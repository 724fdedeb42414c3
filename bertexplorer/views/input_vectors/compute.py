"""Input vectors: the word, position and segment vectors of one token, number by number, and how they add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.texts import longest_piece
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("part", "dimension"), "value"


@dataclass(frozen=True)
class Options:
    clip: Annotated[int, Option("Colour range", 90, 100, info="percentile of values in the strongest colour")] = 99


@dataclass(frozen=True)
class InputVectors:
    token: str
    position: int  # 0-based
    parts: tuple[str, ...]  # in the order in which they are added
    vectors: tuple[Float[np.ndarray, " _"], ...]  # one for each part; ELECTRA's are narrower before the projection
    cosines: Float[np.ndarray, "p p"]  # between parts; nan if their widths differ
    limits: tuple[float, ...]  # for each part the number that is drawn strongest; the same for all up to the sum
    others: int  # picked tokens that this result does not cover


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> InputVectors:
    """The vectors that add up for the first picked token (without one, the longest word), in the checkpoint's
    precision, their sum, and the sum after LayerNorm (and after the projection, in ELECTRA)."""
    encoding = checkpoint.tokenizer.encode(text)
    position = encoding.picked[0] if encoding.picked else longest_piece(encoding)
    parts = {name: part[position].clone().numpy() for name, part in engine.input_parts(checkpoint, encoding).items()}
    vectors = tuple(parts.values())
    cosines = np.array([[cosine(a, b) for b in vectors] for a in vectors])
    # Those that are added, and their sum, have one scale of colours; each of the others has its own.
    added = tuple(parts).index("sum") + 1
    scales = [np.concatenate(vectors[:added])] * added + list(vectors[added:])
    limits = [float(np.percentile(np.abs(numbers), options.clip)) or 1.0 for numbers in scales]
    return InputVectors(
        token=checkpoint.tokenizer.show(encoding.ids[position]),
        position=position,
        parts=tuple(parts),
        vectors=vectors,
        cosines=cosines,
        limits=tuple(limits),
        others=max(0, len(encoding.picked) - 1),
    )


def cosine(a: Float[np.ndarray, " _"], b: Float[np.ndarray, " _"]) -> float:
    """Cosine of two vectors; nan if their lengths differ, or if one is zero."""
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    if a.shape != b.shape or not lengths:
        return float("nan")
    return float(a @ b) / lengths


def rows(result: InputVectors) -> list[dict[str, object]]:
    """One row for each number. Dimensions are counted from 0."""
    return [
        {"token": result.token, "position": result.position, "part": part, "dimension": i, "value": float(value)}
        for part, vector in zip(result.parts, result.vectors, strict=True)
        for i, value in enumerate(vector)
    ]


class Facts(facts.Facts[InputVectors]):
    """A vector is called as in the figure: "word", "position", "segment", "sum", …"""

    def length(self, part: str) -> float:
        """Euclidean length of a vector."""
        return float(np.linalg.norm(self._result.vectors[self._at(part)]))

    def cosine(self, part: str, other: str) -> float:
        """Cosine of two of the vectors, -1 to 1."""
        return float(self._result.cosines[self._at(part), self._at(other)])

    def about(self) -> str:
        """The token that the view is about."""
        return self._result.token

    def _at(self, part: str) -> int:
        return facts.name_index(self._result.parts, part, "vector")
