"""Sentence pairs: the true and random next sentences that pretraining would draw, and what the head says about them.

Half of the time B is the sentence after A, otherwise a random one (Devlin et al., 2019, section 3.1) from another
document or the same one. Here a segment is one sentence; in this package's pretraining, a segment contains as many
sentences as fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, pairwise, permutations, product
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.answers.texts import encode_pair, sentences
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("pair",), "is_next"
PAIRS = 10
NEXT = "next"
OTHER = "other document"
SAME = "same document"


@dataclass(frozen=True)
class Options:
    """Settings of the draw."""

    not_next: Annotated[float, Option("Wrong pairs", 0.0, 1.0, "share of pairs whose B does not follow A")] = 0.5
    same_document: Annotated[float, Option("Of these, same document", 0.0, 1.0, "else B is from another one")] = 0.0
    roll: Annotated[int, Option("Roll", 1, 1000, "another number draws again")] = 1


@dataclass(frozen=True)
class Pair:
    """One drawn example. *kind*: NEXT, OTHER or SAME."""

    first: str
    second: str
    kind: str


@dataclass(frozen=True)
class SentencePairs:
    pairs: tuple[Pair, ...]
    is_next: Float[np.ndarray, " n"]  # P(IsNext) of each, 0 to 1; NaN if the checkpoint has no such head
    shortened: int = 0  # pairs with tokens beyond the checkpoint's limit

    @property
    def right(self) -> int:
        """How many pairs the head gets right, with 0.5 as the threshold."""
        right = 0
        for pair, is_next in zip(self.pairs, self.is_next.tolist(), strict=True):
            if (is_next > 0.5) == (pair.kind == NEXT):
                right += 1
        return right


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> SentencePairs:
    """Draw up to ten different pairs from the sentences of *text*, those of a second text after the first's; a blank
    line ends a document, and another document is one of ten that are built in. Raises ExplorerError where no sentence
    follows another."""
    text = Text.of(text)
    encoding = checkpoint.tokenizer.encode(text)
    documents = split_documents(encoding.texts[0])
    second_documents = split_documents(encoding.texts[1])
    if documents and second_documents:  # the second text continues the last document of the first
        documents = [*documents[:-1], documents[-1] + second_documents[0], *second_documents[1:]]
    if max(map(len, documents), default=0) < 2:
        raise ExplorerError(
            "The text is one sentence, or has a blank line after each, so no next one can be drawn; wanted two or more "
            "in a row. Type a paragraph."
        )
    pairs = draw_pairs(documents, options, np.random.default_rng(options.roll))
    is_next = np.full(len(pairs), np.nan)
    shortened = 0
    if "next_sentence" in checkpoint.heads:
        encodings = [encode_pair(checkpoint, Text(pair.first, pair.second)) for pair in pairs]
        shortened = sum(encoding.left_out > 0 for encoding in encodings)
        logits = engine.next_sentence_logits(checkpoint, encodings).numpy().astype(np.float64)
        is_next = 1 / (1 + np.exp(logits[:, 1] - logits[:, 0]))
    return SentencePairs(pairs, is_next, shortened)


def split_documents(text: str) -> list[list[str]]:
    """The sentences of each document of *text*. A blank line ends a document, as in a text for pretraining."""
    documents = []
    for part in re.split(r"\n[^\S\n]*\n", text.replace("\r\n", "\n")):
        document = [part[start:end] for start, end in sentences(part)]
        if document:
            documents.append(document)
    return documents


def draw_pairs(documents: list[list[str]], options: Options, rng: np.random.Generator) -> tuple[Pair, ...]:
    """PAIRS different pairs from *documents*, or fewer if a kind runs out of pairs."""
    remaining = pairs_by_kind(documents)
    pairs = []
    for _ in range(PAIRS):
        wrong = rng.random() < options.not_next
        same = rng.random() < options.same_document
        kind = NEXT
        if wrong:
            kind = SAME if same and remaining[SAME] else OTHER
        if remaining[kind]:
            pairs.append(remaining[kind].pop(int(rng.integers(len(remaining[kind])))))
    return tuple(pairs)


def pairs_by_kind(documents: list[list[str]]) -> dict[str, list[Pair]]:
    """Every pair that can be drawn, by its kind. Sentences that are neighbours anywhere count as NEXT."""
    elsewhere = list(chain.from_iterable(TOPICS.values()))
    kinds: dict[tuple[str, str], str] = {}  # a later kind of the same two sentences takes the place of an earlier one
    for document in documents:
        kinds |= dict.fromkeys(product(document, elsewhere), OTHER)
    for document in documents:
        kinds |= dict.fromkeys(permutations(document, 2), SAME)
    for document in documents:
        kinds |= dict.fromkeys(pairwise(document), NEXT)
    pairs: dict[str, list[Pair]] = {NEXT: [], OTHER: [], SAME: []}
    for (first, second), kind in kinds.items():
        pairs[kind].append(Pair(first, second, kind))
    return pairs


def rows(result: SentencePairs) -> list[dict[str, object]]:
    """One row for each pair, counted from 1. is_next is empty if the checkpoint has no such head."""
    table: list[dict[str, object]] = []
    for number, (pair, is_next) in enumerate(zip(result.pairs, result.is_next.tolist(), strict=True), 1):
        table.append(
            {
                "pair": number,
                "first": pair.first,
                "second": pair.second,
                "drawn": pair.kind,
                "is_next": "" if np.isnan(is_next) else is_next,
            }
        )
    return table


class Facts(facts.Facts[SentencePairs]):
    """*kind* is "next", "other document" or "same document"."""

    def pairs(self) -> float:
        """Pairs that were drawn."""
        return len(self._result.pairs)

    def right(self) -> float:
        """How many of them the head gets right."""
        return self._result.right

    def accuracy(self) -> float:
        """The same as a share, 0 to 1."""
        return self._result.right / len(self._result.pairs)

    def mean(self, kind: str) -> float:
        """Mean P(is next) of the pairs of one kind, 0 to 1."""
        shares = []
        for pair, is_next in zip(self._result.pairs, self._result.is_next.tolist(), strict=True):
            if pair.kind == kind:
                shares.append(is_next)
        if not shares:
            raise ExplorerError(
                f"There is no pair of the kind {kind!r:.60}; there are next, other document, same document."
            )
        return sum(shares) / len(shares)
