"""Query and key: the products of single dimensions that add up to the attention score of one token in one head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.answers.heads import Head, check_number
from bertexplorer.answers.strongest_heads import HeadLink, is_word, strongest_links, window
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_ROWS = 100_000  # of an exported file
KEYS, MEASURE = ("to", "to_position", "dimension"), "product"


@dataclass(frozen=True)
class Options:
    layer: Annotated[int, Option("Layer", 0, 100, info="0: where the token looks at another word most")] = 0
    head: Annotated[int, Option("Head", 0, 100, info="0: the one that looks at another word most")] = 0


@dataclass(frozen=True)
class QueryKey:
    """One token that looks at t tokens in one head of k dimensions. All positions are 0-based."""

    head: Head  # 0-based
    tokens: tuple[str, ...]
    position: int  # of the token that looks
    query: Float[np.ndarray, " k"]
    keys: Float[np.ndarray, "t k"]
    scale: float  # what the sum of the products is divided by: √k, in DeBERTa √(3 k)
    distance: Float[np.ndarray, " t"] | None  # what the distance adds to the score (MPNet, DeBERTa)
    seen: Bool[np.ndarray, " t"]  # False: outside the window of a local layer (ModernBERT)
    weights: Float[np.ndarray, " t"]  # 0 to 1; sum to 1
    picked: bool  # whether the user picked the token
    others: int  # picked tokens that this result does not cover
    left_out: int  # tokens beyond the checkpoint's limit
    link: HeadLink | None = None  # the strongest from this token to another word in any head, if it has one

    @property
    def products(self) -> Float[np.ndarray, "t k"]:
        """The contribution of each dimension to the score of each token, before it is scaled."""
        return self.query * self.keys

    @property
    def scores(self) -> Float[np.ndarray, " t"]:
        """q · k / √k for each token, with what its distance adds. Their softmax over the tokens that are seen is the
        weights."""
        scaled = self.products.sum(axis=1) / self.scale
        return scaled if self.distance is None else scaled + self.distance


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> QueryKey:
    """The products q_i k_ij of the query of one token with the key of each token j, dimension by dimension i. They add
    up to the attention score before the scale 1/√k and the softmax (Vaswani et al., 2017, section 3.2.1). Query and key
    include their biases and, in ModernBERT, the rotary positions. In MPNet and DeBERTa the distance of the two tokens
    adds to the score.

    The token is the first that was picked, else the first mask, else the first that is not special. Without a layer and
    a head it is the head with the strongest link from this token to another word, the first if there is none. Raises
    ExplorerError for a layer or a head that this checkpoint does not have, and for a text that cannot be read.

        query_key.run(checkpoint, "The cat sat.", options=Options(layer=2, head=1)).products  # shape (t, k)"""
    check_number(options.layer, checkpoint.config.num_layers, "layer", low=0)
    check_number(options.head, checkpoint.config.num_heads, "head", low=0)
    encoding = checkpoint.tokenizer.encode(text)
    position = query_position(encoding)
    link = strongest_link(checkpoint, encoding, position)
    head = Head(max(0, options.layer - 1), max(0, options.head - 1))
    if link and not (options.layer or options.head):
        head = link.head
    scores = engine.token_scores(checkpoint, encoding, *head, position)
    return QueryKey(
        head=head,
        tokens=checkpoint.tokenizer.show_all(encoding.ids),
        position=position,
        query=scores.query.numpy(),
        keys=scores.keys.numpy(),
        scale=1 / scores.scale,
        distance=None if scores.distance is None else scores.distance.numpy(),
        seen=scores.visible.numpy(),
        weights=scores.weights.numpy(),
        picked=bool(encoding.picked),
        others=max(0, len(encoding.picked) - 1),
        left_out=encoding.left_out,
        link=link,
    )


def strongest_link(checkpoint: Checkpoint, encoding: Encoding, position: int) -> HeadLink | None:
    """The strongest link from the token at *position* to another word, in a head that does not always look the same
    distance away."""
    rows = window(encoding, position)
    weights = np.stack([half.weights.numpy() for half in engine.layer_halves(checkpoint, encoding, rows)])
    links = strongest_links(weights, rows, is_word(checkpoint, encoding), [position])
    return links[0] if links and links[0].source == position and not links[0].positional else None


def query_position(encoding: Encoding) -> int:
    """The position of the token that looks: the first that was picked, else the first mask, else the first word."""
    words = [i for i, special in enumerate(encoding.special) if not special]
    candidates = [*encoding.picked, *encoding.masked, *words, 0]
    return candidates[0]


def rows(result: QueryKey) -> list[dict[str, object]]:
    """A row for each token and dimension (from 0). score is the scaled sum of the token's products, with what its
    distance adds in families with relative positions; seen is false outside the window of a local layer, where the
    score counts for nothing. If there are more than MAX_ROWS, only the tokens with the largest weights are listed."""
    size = len(result.query)
    products = result.products
    scores = result.scores
    table = []
    for j in strongest(result, max(1, MAX_ROWS // size)):
        for i in range(size):
            row: dict[str, object] = {
                "layer": result.head.layer + 1,
                "head": result.head.head + 1,
                "from": result.tokens[result.position],
                "from_position": result.position,
                "to": result.tokens[j],
                "to_position": j,
                "dimension": i,
                "query": float(result.query[i]),
                "key": float(result.keys[j, i]),
                "product": float(products[j, i]),
            }
            if result.distance is not None:
                row["distance"] = float(result.distance[j])
            row |= {"score": float(scores[j]), "weight": float(result.weights[j]), "seen": bool(result.seen[j])}
            table.append(row)
    return table


def strongest(result: QueryKey, most: int) -> list[int]:
    """The positions of the *most* tokens with the largest weights, in the order of the text."""
    return sorted(np.argsort(-result.weights, kind="stable")[:most].tolist())


class Facts(facts.Facts[QueryKey]):
    """Tokens are named as the figure labels them; *nth* is the occurrence, from 1."""

    def score(self, target: str, nth: int = 1) -> float:
        """The scaled score of a token, before the softmax."""
        return float(self._result.scores[facts.label_index(self._result.tokens, target, nth)])

    def weight(self, target: str, nth: int = 1) -> float:
        """The attention that it is given, 0 to 1."""
        return float(self._result.weights[facts.label_index(self._result.tokens, target, nth)])
