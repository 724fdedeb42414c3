"""Term weights: the words by which a text would be found, read from the MLM head as SPLADE does.

Each piece of the vocabulary gets the weight max_i log(1 + relu(logit_ij)) over the tokens i of the text (Formal et al.,
2021). Pieces that are not in the text have weights too: the head would write them in a place of it. The score of two
texts is the sum over the vocabulary of the products of their weights. A checkpoint that was trained for it gives most
pieces the weight 0; any MLM head has such weights, but many more of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.word_merging import places_in_pair
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("kind", "word"), "weight"
BEST_ONLY = True  # rows lists only those with the largest numbers
BOTH, SIDES = "both", ("first", "second")


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Words", 1, 50, info="of each kind")] = 12


@dataclass(frozen=True)
class Term:
    """A piece of the vocabulary. *weight*: in the text; in two texts the product of its weights."""

    word: str
    weight: float
    own: bool  # whether the text has it; of two texts, whether both have it
    sources: tuple[str, ...]  # the token that gives it the weight, in each text
    positions: tuple[int, ...]  # of these tokens, each in its text alone, 0-based


@dataclass(frozen=True)
class Terms:
    """The terms of one text, those of the largest weights."""

    own: tuple[Term, ...]  # in the text, the largest weight first
    added: tuple[Term, ...]  # not in the text, likewise
    above_zero: int  # pieces of the vocabulary with a weight
    shades: dict[int, float]  # token of the text alone -> the largest weight that it gives to an added word


@dataclass(frozen=True)
class TermWeights:
    texts: tuple[Terms, ...]  # one or two
    common: tuple[Term, ...]  # of two texts, those that add most to the score
    score: float  # of two texts; NaN for one
    literal: float  # the part of the score that comes from pieces which both texts have
    vocabulary: int  # pieces
    shown: dict[int, float]  # token on the strip -> shade, 0 to 1
    left_out: int  # tokens beyond the checkpoint's limit
    top: int

    @property
    def rarest(self) -> int:
        """The smaller number of pieces with a weight."""
        return min(terms.above_zero for terms in self.texts)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> TermWeights:
    """The terms of *text*; of two texts, each read alone, also those that they share. Raises ExplorerError without an
    MLM head."""
    pair = Text.of(text)
    sides = (0, 1) if pair.second.strip() else (0,)

    # 1. Each text alone: the weight of each piece of the vocabulary, and the token that it comes from
    encodings: list[Encoding] = []
    weights: list[np.ndarray] = []
    places: list[np.ndarray] = []
    texts: list[Terms] = []
    for side in sides:
        encoding = checkpoint.tokenizer.encode(pair.alone(side))
        values, where = engine.term_weights(checkpoint, encoding)
        encodings.append(encoding)
        weights.append(values.double().numpy())
        places.append(where.numpy())
        texts.append(terms_of(checkpoint, encoding, weights[-1], places[-1], options.top))

    # 2. Of two texts: what each piece adds to the score
    common: list[Term] = []
    score = float("nan")
    literal = 0.0
    if len(sides) == 2:
        products = weights[0] * weights[1]
        score = float(products.sum())
        in_both = (set(encodings[0].ids) & set(encodings[1].ids)) - checkpoint.tokenizer.special_ids
        if in_both:
            literal = float(products[sorted(in_both)].sum())
        for i in largest(checkpoint, products, options.top):
            positions = (int(places[0][i]), int(places[1][i]))
            common.append(
                Term(
                    word=checkpoint.tokenizer.show(i),
                    weight=float(products[i]),
                    own=i in in_both,
                    sources=tuple(token_at(checkpoint, encodings[side], positions[side]) for side in sides),
                    positions=positions,
                )
            )

    return TermWeights(
        texts=tuple(texts),
        common=tuple(common),
        score=score,
        literal=literal,
        vocabulary=checkpoint.tokenizer.vocab_size,
        shown=on_strip(checkpoint.tokenizer.encode(pair), encodings, tuple(texts)),
        left_out=sum(encoding.left_out for encoding in encodings),
        top=options.top,
    )


def largest(checkpoint: Checkpoint, weights: Float[np.ndarray, " v"], count: int) -> list[int]:
    """The *count* words with the largest weights above 0. Punctuation and special tokens are no words."""
    tokenizer = checkpoint.tokenizer
    ids: list[int] = []
    for i in np.argsort(-weights, kind="stable").tolist():
        if len(ids) == count or weights[i] <= 0:
            break
        if i not in tokenizer.special_ids and any(map(str.isalnum, tokenizer.show(i))):
            ids.append(i)
    return ids


def terms_of(
    checkpoint: Checkpoint, encoding: Encoding, weights: Float[np.ndarray, " v"], where: np.ndarray, top: int
) -> Terms:
    """The terms of one text. *where*: for each piece of the vocabulary, the position that gives it its weight."""
    inside = np.zeros(len(weights), dtype=bool)
    inside[list(set(encoding.ids))] = True

    def term(i: int, *, own: bool) -> Term:
        source = int(where[i])
        return Term(
            word=checkpoint.tokenizer.show(i),
            weight=float(weights[i]),
            own=own,
            sources=(token_at(checkpoint, encoding, source),),
            positions=(source,),
        )

    own_ids = largest(checkpoint, np.where(inside, weights, 0), top)
    added_ids = largest(checkpoint, np.where(inside, 0, weights), top)
    shades: dict[int, float] = {}
    for i in added_ids:
        source = int(where[i])
        shades[source] = max(shades.get(source, 0.0), float(weights[i]))
    return Terms(
        own=tuple(term(i, own=True) for i in own_ids),
        added=tuple(term(i, own=False) for i in added_ids),
        above_zero=int((weights > 0).sum()),
        shades=shades,
    )


def token_at(checkpoint: Checkpoint, encoding: Encoding, position: int) -> str:
    return checkpoint.tokenizer.show(encoding.ids[int(position)])


def on_strip(pair: Encoding, encodings: list[Encoding], texts: tuple[Terms, ...]) -> dict[int, float]:
    """Token of the pair as the page shows it -> the largest weight that it gives to an added word, as a share of the
    largest of all."""
    all_shades = [shade for terms in texts for shade in terms.shades.values()]
    most = max(all_shades, default=0.0) or 1.0
    places = places_in_pair(pair, encodings)
    shown = {}
    for side, terms in enumerate(texts):
        for position, value in terms.shades.items():
            if (side, position) in places:
                shown[places[side, position]] = value / most
    return shown


def rows(result: TermWeights) -> list[dict[str, object]]:
    """A row for each word of each text, and for each word that two texts share. *weight*: of two texts the product."""
    table = []
    for kind, terms in zip(SIDES, result.texts, strict=False):
        table += [row(kind, term) for term in (*terms.own, *terms.added)]
    return table + [row(BOTH, term) for term in result.common]


def row(kind: str, term: Term) -> dict[str, object]:
    """A row of the table. *kind*: the text, or BOTH. A word of one text has one source, in the first column of them."""
    return {
        "kind": kind,
        "word": term.word,
        "weight": term.weight,
        "in_text": term.own,
        "from_first": term.sources[0],
        "from_second": term.sources[1] if kind == BOTH else "",
    }


class Facts(facts.Facts[TermWeights]):
    """*side*: 1 for the first text, 2 for the second."""

    def added(self, rank: int = 1, side: int = 1) -> str:
        """The word with this rank among those that are not in the text."""
        return facts.item(self._terms(side).added, rank, "word").word

    def weight(self, word: str, side: int = 1) -> float:
        """The weight of a word that is listed."""
        return self._find(word, side).weight

    def source(self, word: str, side: int = 1) -> str:
        """The token that gives a listed word its weight."""
        return self._find(word, side).sources[0]

    def above_zero(self, side: int = 1) -> float:
        """Pieces of the vocabulary with a weight."""
        return self._terms(side).above_zero

    def shared(self, rank: int = 1) -> str:
        """The word with this rank among those that add most to the score of two texts."""
        return facts.item(self._result.common, rank, "word").word

    def score(self) -> float:
        """The score of two texts."""
        return self._result.score

    def literal(self) -> float:
        """The share of the score that comes from pieces which both texts have, 0 to 1."""
        return self._result.literal / self._result.score

    def _terms(self, side: int) -> Terms:
        return facts.item(self._result.texts, side, "text")

    def _find(self, word: str, side: int) -> Term:
        terms = (*self._terms(side).own, *self._terms(side).added)
        return terms[facts.name_index([term.word for term in terms], word, "word")]
