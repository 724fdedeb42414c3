"""Word in context: how alike the vectors of one word are in different sentences, layer by layer.

Cosines of contextual vectors are high for any two words, as the vectors fill a narrow cone. So the mean cosine of
random words at the same layer of the same checkpoint is measured too, and subtracted, as in Ethayarajh (2019, "How
Contextual are Contextualized Word Representations?", section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.answers.vectors import baseline, cosines, layer_of
from bertexplorer.answers.word_occurrences import Occurrence, find_occurrences
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_OCCURRENCES = 40
KEYS, MEASURE = ("layer", "a", "b"), "above_random"


@dataclass(frozen=True)
class Options:
    word: Annotated[str, Option("Word", info="empty: the picked one; commas between several")] = ""
    sentences: Annotated[
        str,
        Option(
            "Other sentences",
            info="one per line, or with | between; a sense may come first: river: We sat …",
            several=True,
        ),
    ] = ""
    sense: Annotated[str, Option("Sense of the text", info="its label, if the other sentences have labels")] = ""
    layer: Annotated[int, Option("Layer", -1, 48, info="0: the input of the first; -1: the last")] = -1
    baseline: Annotated[bool, Option("Subtract random pairs", info="the mean cosine of two random words")] = True


@dataclass(frozen=True)
class WordInContext:
    """n occurrences, compared at each of 1 + l layers. Layer 0 is the input of the first layer."""

    words: tuple[str, ...]  # the words that were searched for
    occurrences: tuple[Occurrence, ...]
    cosines: Float[np.ndarray, "layers n n"]
    baseline: Float[np.ndarray, " layers"]  # mean cosine of two random words, see `vectors.baseline`
    static: Float[np.ndarray, "n n"]  # cosine of the rows of the embedding table, before any position is added
    layer: int  # the layer that is shown
    subtract: bool  # whether the baseline is subtracted from the shown numbers
    lacking: int  # how many of the user's sentences have none of the words
    left_out: int  # occurrences beyond MAX_OCCURRENCES
    beyond: int  # occurrences beyond the checkpoint's limit of tokens

    @property
    def shown(self) -> Float[np.ndarray, "n n"]:
        """The cosines of the shown layer, minus the baseline if requested; NaN on the diagonal."""
        values = self.cosines[self.layer] - (self.baseline[self.layer] if self.subtract else 0)
        return np.where(np.eye(len(values), dtype=bool), np.nan, values)

    @property
    def mean(self) -> Float[np.ndarray, " layers"]:
        """Mean cosine over all pairs of occurrences."""
        return average(self.cosines, pairs(len(self.occurrences)))

    @property
    def spread(self) -> Float[np.ndarray, " layers"]:
        """Standard deviation over the same pairs."""
        return np.array([layer[pairs(len(layer))].std() for layer in self.cosines])

    @property
    def same(self) -> Bool[np.ndarray, "n n"]:
        """Pairs with the same sense; only occurrences with a label count."""
        labels = np.array([o.label for o in self.occurrences])
        return pairs(len(labels)) & (labels[:, None] == labels[None, :]) & (labels != "")[:, None]

    @property
    def other(self) -> Bool[np.ndarray, "n n"]:
        """Pairs with different senses."""
        labels = np.array([o.label for o in self.occurrences])
        both_labelled = (labels != "")[:, None] & (labels != "")[None, :]
        return pairs(len(labels)) & (labels[:, None] != labels[None, :]) & both_labelled

    @property
    def within(self) -> Float[np.ndarray, " layers"] | None:
        """Mean cosine of pairs with the same sense; None if there are not two senses, or if no sense occurs twice."""
        return average(self.cosines, self.same) if self.same.any() and self.other.any() else None

    @property
    def between(self) -> Float[np.ndarray, " layers"] | None:
        """Mean cosine of pairs with different senses."""
        return average(self.cosines, self.other) if self.within is not None else None


def pairs(count: int) -> Bool[np.ndarray, "n n"]:
    """True at each pair of *count* occurrences, once."""
    return np.triu(np.ones((count, count), dtype=bool), 1)


def average(matrices: Float[np.ndarray, "layers n n"], which: Bool[np.ndarray, "n n"]) -> Float[np.ndarray, " layers"]:
    """The mean over these pairs, in each layer."""
    return np.array([matrix[which].mean() for matrix in matrices])


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> WordInContext:
    """Compare every two occurrences of the word; the vectors of its pieces are averaged. A hidden occurrence has the
    vector of [MASK] there. Raises ExplorerError for fewer than two occurrences and for an unknown layer."""
    layer = layer_of(checkpoint, options.layer)
    matches = find_occurrences(checkpoint, text, options.word, options.sentences, options.sense, least=2)
    followed = matches.occurrences[:MAX_OCCURRENCES]
    groups: list[list[tuple[int, ...]]] = [[] for _ in matches.encodings]  # of each text, its occurrences
    for occurrence in followed:
        groups[occurrence.encoding_index].append(occurrence.positions)
    vectors = engine.word_vectors(checkpoint, matches.encodings, groups).numpy()
    tables = [engine.input_parts(checkpoint, encoding)["word"].numpy() for encoding in matches.encodings]
    static_vectors = []
    for occurrence in followed:
        static_vectors.append(tables[occurrence.encoding_index][list(occurrence.positions)].mean(axis=0))
    return WordInContext(
        words=matches.words,
        occurrences=followed,
        cosines=cosines(vectors),
        baseline=baseline(checkpoint),
        static=cosines(np.stack(static_vectors)),
        layer=layer,
        subtract=options.baseline,
        lacking=matches.lacking,
        left_out=len(matches.occurrences) - len(followed),
        beyond=matches.beyond,
    )


def rows(result: WordInContext) -> list[dict[str, object]]:
    """One row for every pair and layer. Layer 0 is the input of the first layer. Occurrences are counted from 1."""
    table: list[dict[str, object]] = []
    for i, j in zip(*np.nonzero(pairs(len(result.occurrences))), strict=True):
        a = result.occurrences[i]
        b = result.occurrences[j]
        for layer, (matrix, base) in enumerate(zip(result.cosines, result.baseline, strict=True)):
            table.append(
                {
                    "layer": layer,
                    "a": int(i) + 1,
                    "b": int(j) + 1,
                    "word_a": a.word,
                    "word_b": b.word,
                    "sense_a": a.label,
                    "sense_b": b.label,
                    "sentence_a": a.sentence,
                    "sentence_b": b.sentence,
                    "cosine": float(matrix[i, j]),
                    "random_words": float(base),
                    "above_random": float(matrix[i, j] - base),
                }
            )
    return table


class Facts(facts.Facts[WordInContext]):
    """*layer* 0 is the input of the first layer. Occurrences count from 1, in the order of the figure."""

    def cosine(self, first: int, second: int, layer: int) -> float:
        """Cosine of two occurrences at a layer, -1 to 1."""
        count = len(self._result.occurrences)
        i = facts.zero_based(first, count, "occurrence")
        j = facts.zero_based(second, count, "occurrence")
        return float(self._layer(layer)[i, j])

    def static(self) -> float:
        """Mean cosine of the word's rows in the embedding table: 1 for one and the same piece."""
        return float(self._result.static[pairs(len(self._result.occurrences))].mean())

    def within(self, layer: int) -> float:
        """Mean cosine of occurrences with the same sense label at a layer."""
        return self._senses(self._result.within, layer)

    def between(self, layer: int) -> float:
        """Mean cosine of occurrences with different sense labels at a layer."""
        return self._senses(self._result.between, layer)

    def mean(self, layer: int) -> float:
        """Mean cosine of all occurrences at a layer."""
        return float(facts.item_at_layer(self._result.mean, layer))

    def random(self, layer: int) -> float:
        """Mean cosine of two random words at a layer."""
        return float(facts.item_at_layer(self._result.baseline, layer))

    def _layer(self, layer: int) -> Float[np.ndarray, "n n"]:
        return facts.item_at_layer(self._result.cosines, layer)

    def _senses(self, means: Float[np.ndarray, " layers"] | None, layer: int) -> float:
        if means is None:
            raise ExplorerError("The sentences do not have two senses. Begin each with its sense, such as “river: …”.")
        return float(facts.item_at_layer(means, layer))
