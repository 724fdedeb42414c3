"""Late interaction: each token of a query finds its best match in a passage, and the matches are added up.

This is MaxSim: Σ_i max_j cos(x_i, y_j) over the tokens i of the query and j of the passage (ColBERT; Khattab and
Zaharia, 2020). A checkpoint that was trained for it is read as its files say: with its projection, and with what it
puts before, behind and out of a text. Of any other the vectors of one layer are taken. The caption says what chance
gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float, Int

from bertexplorer import engine
from bertexplorer.answers.multi_vectors import TokenVectors, chance_of, encode_tokens
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
    projection: Annotated[
        Literal["own", "none"],
        Option(
            "Projection", info="own: that of a ColBERT, whose files choose the tokens too; none: the layer as it is"
        ),
    ] = "own"


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
    own: str = ""  # how the checkpoint's own files make the vectors; "" if they are those of the layer
    mean: bool = False  # whether the score is the mean over the tokens of the query

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
        """MaxSim: the sum of the best cosines, or their mean where the files say so."""
        return score_of(self.cosines, self.mean)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> LateInteraction:
    """MaxSim of the first text, the query, with the second, the passage; each is read alone. Raises ExplorerError
    without a second text, for an unknown layer, for texts that are too long, and for one without tokens that count."""
    pair = Text.of(text)
    layer = layer_of(checkpoint, options.layer)
    if not pair.second.strip():
        raise ExplorerError(
            "There is no passage in which the tokens could find a match. Type it as the second sentence.",
            code="pair",
        )

    # 1. The vectors of the query, of its own passage and of the others
    texts = [pair.alone(0), pair.alone(1), *map(Text, parse_candidates(options.others))]
    encoder = checkpoint.multi_vector
    asks_for_own = options.projection == "own" and layer == checkpoint.config.num_layers
    if encoder and (encoder.problem or not asks_for_own):
        encoder = None
    if encoder:
        query, own, *others = own_vectors(checkpoint, texts)
        chance = chance_of(checkpoint)
    else:
        query, own, *others = layer_vectors(checkpoint, texts, layer, options.special == "included")
        chance = float(baseline(checkpoint)[layer])
    others = [other for other in others if other.encoding.ids != own.encoding.ids]

    # 2. Each token of the query finds its best match in a passage
    mean = encoder is not None and encoder.mean
    cosines = query.vectors @ own.vectors.T
    passages = []
    for passage in (own, *others):
        score = score_of(query.vectors @ passage.vectors.T, mean)
        passages.append(Passage(passage.encoding.texts[0], score, own=passage is own))
    ranked = sorted(passages, key=lambda passage: -passage.score) if len(passages) > 1 else []

    return LateInteraction(
        query=shown_tokens(checkpoint, query),
        passage=shown_tokens(checkpoint, own),
        cosines=cosines,
        layer=layer,
        chance=chance,
        passages=tuple(ranked),
        first=query.encoding.texts[0],
        shown=on_strip(checkpoint.tokenizer.encode(pair), query, own, cosines),
        caveats=caveats_of(checkpoint),
        left_out=sum(text.encoding.left_out for text in (query, own, *others)),
        own=str(encoder) if encoder else "",
        mean=mean,
    )


def score_of(cosines: Float[np.ndarray, "q p"], mean: bool) -> float:
    """MaxSim: the sum of the best cosine of each row, or their mean."""
    best = cosines.max(axis=1)
    return float(best.mean() if mean else best.sum())


def shown_tokens(checkpoint: Checkpoint, text: TokenVectors) -> tuple[str, ...]:
    """The tokens that have a vector, for display."""
    return checkpoint.tokenizer.show_all(text.encoding.ids[i] for i in text.positions)


def caveats_of(checkpoint: Checkpoint) -> tuple[str, ...]:
    """A sentence if the checkpoint's files cannot be followed."""
    encoder = checkpoint.multi_vector or checkpoint.sentence_encoder
    return (encoder.problem,) if encoder and encoder.problem else ()


def own_vectors(checkpoint: Checkpoint, texts: Sequence[Text]) -> list[TokenVectors]:
    """The vectors of a query, the first of *texts*, and of passages, as the checkpoint's files say. Raises
    ExplorerError if the first two are too long."""
    [query] = encode_tokens(checkpoint, texts[:1], "query")
    passages = encode_tokens(checkpoint, texts[1:], "document")
    check_size(len(query.positions), len(passages[0].positions))
    return [query, *passages]


def layer_vectors(checkpoint: Checkpoint, texts: Sequence[Text], layer: int, special: bool) -> list[TokenVectors]:
    """The vectors of a query, the first of *texts*, and of passages at *layer*. *special*: with those of [CLS] and
    [SEP]. Raises ExplorerError if the first two are too long, and for one without tokens that count."""
    encodings = [checkpoint.tokenizer.encode(text) for text in texts]
    check_size(len(encodings[0]), len(encodings[1]))
    flat = engine.token_vectors(checkpoint, encodings, layer=layer, pooling="mean").numpy()
    ends = np.cumsum([len(encoding) for encoding in encodings])[:-1]
    result = []
    for encoding, vectors in zip(encodings, np.split(flat, ends), strict=True):
        positions = taking_part(encoding, special)
        result.append(TokenVectors(encoding, positions, unit_vectors(vectors)[positions]))
    return result


def check_size(query: int, passage: int) -> None:
    """Raises ExplorerError if a table of so many tokens would be too large."""
    if query * passage > MAX_CELLS:
        raise ExplorerError(
            f"The query has {query:,} tokens and the passage {passage:,}; the table can have {MAX_CELLS:,} cells. "
            "Shorten them."
        )


def taking_part(encoding: Encoding, special: bool) -> list[int]:
    """The positions of the tokens that are compared. Raises ExplorerError if there are none."""
    positions = [
        i for i, is_special in enumerate(encoding.special) if special or not is_special or i in encoding.masked
    ]
    if not positions:
        raise ExplorerError("A text has only [CLS] and [SEP], and these are left out. Type a sentence.")
    return positions


def on_strip(
    pair: Encoding, query: TokenVectors, passage: TokenVectors, cosines: Float[np.ndarray, "q p"]
) -> dict[int, float]:
    """Token of the pair as the page shows it -> its cosine with its best match, from 0."""
    places = places_in_pair(pair, (query.encoding, passage.encoding))
    sides = ((query, cosines.max(axis=1)), (passage, cosines.max(axis=0)))
    shown = {}
    for side, (text, best) in enumerate(sides):
        for position, value in zip(text.positions, best.tolist(), strict=True):
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
        """The sum of the best cosines, or their mean where the files say so."""
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
