"""Late interaction: each token of a query finds its best match in a passage, and the matches are added up.

This is MaxSim: Σ_i max_j cos(x_i, y_j) over the tokens i of the query and j of the passage, with the vectors of one
layer (ColBERT; Khattab and Zaharia, 2020). A checkpoint that was trained for it has a projection of its own, which is
not applied here; any encoder can be asked, and the caption says what chance gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float, Int

from bertexplorer import engine
from bertexplorer.answers.texts import parse_candidates
from bertexplorer.answers.vectors import baseline, layer_of, unit_vectors
from bertexplorer.answers.word_merging import places_in_pair
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_CELLS = 20_000
KEYS, MEASURE = ("query", "query_position", "passage", "passage_position"), "cosine"


@dataclass(frozen=True)
class Options:
    layer: Annotated[int, Option("Layer", -1, 48, info="0: the input of the first; -1: the last")] = -1
    special: Annotated[
        Literal["left out", "included"], Option("[CLS] and [SEP]", info="ColBERT includes those of the query")
    ] = "left out"
    others: Annotated[
        str, Option("Other passages", info="up to 50, with | between; ranked with the second text", several=True)
    ] = ""


@dataclass(frozen=True)
class Passage:
    """A passage and its score with the query."""

    text: str
    score: float
    own: bool = False  # whether it is the second text


@dataclass(frozen=True)
class LateInteraction:
    """A query of q tokens and a passage of p tokens. Positions are those of the tokens that take part, 0-based."""

    query: tuple[str, ...]
    passage: tuple[str, ...]
    cosines: Float[np.ndarray, "q p"]
    layer: int
    chance: float  # mean cosine of two different words in different sentences at this layer
    passages: tuple[Passage, ...]  # the second text and others, best first; () for it alone
    first: str  # the text of the query
    shown: dict[int, float]  # token of the pair -> its best cosine
    caveats: tuple[str, ...]
    left_out: int  # tokens beyond the checkpoint's limit

    @property
    def matches(self) -> Int[np.ndarray, " q"]:
        """The best match of each token of the query."""
        return np.asarray(self.cosines.argmax(axis=1))

    @property
    def best(self) -> Float[np.ndarray, " q"]:
        """The cosine of each token of the query with its best match."""
        return np.asarray(self.cosines.max(axis=1))

    @property
    def score(self) -> float:
        """MaxSim: the sum of the best cosines."""
        return float(self.best.sum())


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> LateInteraction:
    """MaxSim of the first text, the query, with the second, the passage; each is read alone. Raises ExplorerError
    without a second text, for an unknown layer, for texts that are too long, and for one without tokens that count."""
    pair, layer = Text.of(text), layer_of(checkpoint, options.layer)
    if not pair.second.strip():
        raise ExplorerError(
            "There is no passage in which the tokens could find a match. Type it as the second sentence.",
            code="pair",
        )

    # 1. The query, its own passage, and the others
    query, own = (checkpoint.tokenizer.encode(pair.alone(side)) for side in (0, 1))
    encodings = [query, own]
    for candidate in parse_candidates(options.others):
        other = checkpoint.tokenizer.encode(candidate)
        if other.ids != own.ids:
            encodings.append(other)
    if len(query) * len(own) > MAX_CELLS:
        raise ExplorerError(
            f"The query has {len(query):,} tokens and the passage {len(own):,}; the table can have {MAX_CELLS:,} "
            "cells. Shorten them."
        )

    # 2. The vectors of all texts in one go, then those of the tokens that count, each of length 1
    flat = engine.token_vectors(checkpoint, encodings, layer=layer, pooling="mean").numpy()
    ends = np.cumsum([len(encoding) for encoding in encodings])[:-1]
    kept, vectors = [], []
    for encoding, of_text in zip(encodings, np.split(flat, ends), strict=True):
        positions = taking_part(encoding, options.special == "included")
        kept.append(positions)
        vectors.append(unit_vectors(of_text)[positions])

    # 3. Each token of the query finds its best match in a passage
    cosines = vectors[0] @ vectors[1].T
    passages = []
    for encoding, passage in zip(encodings[1:], vectors[1:], strict=True):
        score = float((vectors[0] @ passage.T).max(axis=1).sum())
        passages.append(Passage(encoding.texts[0], score, own=encoding is own))
    ranked = sorted(passages, key=lambda passage: -passage.score) if len(passages) > 1 else []

    own_encoder = checkpoint.sentence_encoder
    return LateInteraction(
        query=tuple(checkpoint.tokenizer.show(query.ids[i]) for i in kept[0]),
        passage=tuple(checkpoint.tokenizer.show(own.ids[i]) for i in kept[1]),
        cosines=cosines,
        layer=layer,
        chance=float(baseline(checkpoint)[layer]),
        passages=tuple(ranked),
        first=query.texts[0],
        shown=on_strip(checkpoint.tokenizer.encode(pair), (query, own), kept, cosines),
        caveats=(own_encoder.problem,) if own_encoder and own_encoder.problem else (),
        left_out=sum(encoding.left_out for encoding in encodings),
    )


def taking_part(encoding: Encoding, special: bool) -> list[int]:
    """The positions of the tokens that are compared. Raises ExplorerError if there are none."""
    kept = [i for i, odd in enumerate(encoding.special) if special or not odd or i in encoding.masked]
    if not kept:
        raise ExplorerError("A text has only [CLS] and [SEP], and these are left out. Type a sentence.")
    return kept


def on_strip(
    pair: Encoding, encodings: tuple[Encoding, Encoding], kept: list[list[int]], cosines: Float[np.ndarray, "q p"]
) -> dict[int, float]:
    """Token of the pair as the page shows it -> its cosine with its best match, from 0."""
    places, shown = places_in_pair(pair, encodings), {}
    for side, best in enumerate((cosines.max(axis=1), cosines.max(axis=0))):
        for position, value in zip(kept[side], best.tolist(), strict=True):
            if (side, position) in places:
                shown[places[side, position]] = max(0.0, value)
    return shown


def rows(result: LateInteraction) -> list[dict[str, object]]:
    """A row for each token of the query and each of the passage."""
    return [
        {
            "query": token,
            "query_position": i,
            "passage": other,
            "passage_position": j,
            "cosine": float(result.cosines[i, j]),
            "best": bool(result.matches[i] == j),
            "score": result.score,
        }
        for i, token in enumerate(result.query)
        for j, other in enumerate(result.passage)
    ]


class Facts(facts.Facts[LateInteraction]):
    """Tokens are written as the table shows them."""

    def score(self) -> float:
        """The sum of the best cosines."""
        return self._result.score

    def match(self, token: str, nth: int = 1) -> str:
        """The best match of a token of the query."""
        return self._result.passage[int(self._result.matches[facts.label_index(self._result.query, token, nth)])]

    def cosine(self, token: str, nth: int = 1) -> float:
        """The cosine of a token of the query with its best match."""
        return float(self._result.best[facts.label_index(self._result.query, token, nth)])

    def chance(self) -> float:
        """Mean cosine of two different words in different sentences."""
        return self._result.chance

    def passage(self, rank: int = 1) -> str:
        """The passage with this rank."""
        return facts.item(self._result.passages, rank, "passage").text
