"""Nearest pieces: which pieces of the vocabulary have the vectors closest to a token's own, before any context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from bertexplorer import engine
from bertexplorer.answers.texts import longest_piece
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("of", "token"), "cosine"
BEST_ONLY = True  # rows lists only those with the largest numbers
MAX_TOKENS = 3  # shown side by side


@dataclass(frozen=True)
class Options:
    count: Annotated[int, Option("Neighbours", 1, 50)] = 10
    order: Annotated[
        Literal["cosine", "dot product"], Option("Nearest by", info="the dot product favours long vectors")
    ] = "cosine"


@dataclass(frozen=True)
class Neighbour:
    token: str
    id: int
    cosine: float  # -1 to 1
    dot: float


@dataclass(frozen=True)
class Neighbourhood:
    """One token and the pieces around it, nearest first, without the token itself."""

    token: str
    id: int
    position: int  # 0-based
    neighbours: tuple[Neighbour, ...]
    typical: float  # median cosine with all other pieces
    spread: float  # standard deviation of the cosine over all other pieces


@dataclass(frozen=True)
class NearestPieces:
    found: tuple[Neighbourhood, ...]  # of the picked tokens, in the order of the text
    left_out: int  # picked tokens beyond MAX_TOKENS
    order: str


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> NearestPieces:
    """Look up the picked tokens (without one, the longest word) in the table of word vectors.

    Hidden tokens count as what they were: the table knows no context. Special tokens and rows without a piece are not
    listed. Raises ExplorerError for a text that cannot be read."""
    encoding = checkpoint.tokenizer.encode(text)
    positions = encoding.picked or (longest_piece(encoding),)
    size = checkpoint.tokenizer.vocab_size
    if size <= options.count:
        raise ExplorerError(
            f"{options.count} neighbours were requested; the vocabulary has {size} pieces. Choose fewer."
        )
    found = [neighbourhood(checkpoint, encoding, position, options) for position in positions[:MAX_TOKENS]]
    return NearestPieces(tuple(found), left_out=max(0, len(positions) - MAX_TOKENS), order=options.order)


def neighbourhood(checkpoint: Checkpoint, encoding: Encoding, position: int, options: Options) -> Neighbourhood:
    """The token at *position* and the pieces around it."""
    tokenizer = checkpoint.tokenizer
    token = encoding.original_ids[position]
    cosines, dots = (part.numpy() for part in engine.word_similarities(checkpoint, token))
    candidates = np.arange(len(cosines)) < tokenizer.vocab_size
    for left_out in (*tokenizer.special_ids, token):
        candidates[left_out] = False
    ranked = cosines if options.order == "cosine" else dots
    best = np.argsort(-np.where(candidates, ranked, -np.inf), kind="stable")[: options.count]
    neighbours = []
    for i in best.tolist():
        neighbours.append(Neighbour(tokenizer.show(i), id=i, cosine=float(cosines[i]), dot=float(dots[i])))
    other_cosines = cosines[candidates]
    return Neighbourhood(
        token=tokenizer.show(token),
        id=token,
        position=position,
        neighbours=tuple(neighbours),
        typical=float(np.median(other_cosines)),
        spread=float(other_cosines.std()),
    )


def rows(result: NearestPieces) -> list[dict[str, object]]:
    """One row for each neighbour."""
    return [
        {
            "of": piece.token,
            "position": piece.position,
            "rank": rank,
            "token": neighbour.token,
            "id": neighbour.id,
            "cosine": neighbour.cosine,
            "dot_product": neighbour.dot,
            "median_cosine": piece.typical,
        }
        for piece in result.found
        for rank, neighbour in enumerate(piece.neighbours, 1)
    ]


class Facts(facts.Facts[NearestPieces]):
    """*of* is the number of the token, from 1, where several are picked."""

    def neighbour(self, rank: int, of: int = 1) -> str:
        """The neighbour with this rank."""
        return facts.item(self._of(of).neighbours, rank, "neighbour").token

    def cosine(self, rank: int, of: int = 1) -> float:
        """Cosine with the neighbour of this rank, -1 to 1."""
        return facts.item(self._of(of).neighbours, rank, "neighbour").cosine

    def typical(self, of: int = 1) -> float:
        """Median cosine with all other pieces."""
        return self._of(of).typical

    def _of(self, number: int) -> Neighbourhood:
        return facts.item(self._result.found, number, "token")
