"""Threshold: from which similarity on two texts belong together, learned from labelled pairs and judged on others.

Precision and recall are those of each tenth of the pairs at the threshold of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.answers.bootstrap import Interval
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import (
    NO_PROMPT,
    OWN_INFO,
    Pooling,
    cut_note,
    departure,
    encode_sentence,
    own_or_mean,
    prompt_name,
)
from bertexplorer.diagnosis import threshold
from bertexplorer.diagnosis.pairs import Pair, read_pairs
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.options import Option
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.training.finetuning.compare import wilson
from bertexplorer.training.ranking import words_in_common
from bertexplorer.views import facts
from bertexplorer.views.rows import NumberedRow, split_readable
from bertexplorer.views.threshold.sets import Name, rows_of

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Text

KEYS, MEASURE = ("line",), "similarity"
AT_ONCE = 256  # texts whose tokens are in memory together
UNRELATED = 2_000  # pairs of texts of different rows, at most
FEW = 10  # of each kind: fewer say nothing of new pairs


@dataclass(frozen=True)
class Options:
    set: Annotated[Name, Option("Pairs", info="built in; or upload rows with text_a, text_b and label")] = (
        "the same question"
    )
    least_precision: Annotated[
        float, Option("Minimum precision", 0.0, 1.0, "of those that pass, the share that matches; 0: the best F1")
    ] = 0.0
    pooling: Annotated[Pooling, Option("A text's vector", info=OWN_INFO)] = "own"
    first_prompt: Annotated[
        str, Option("Prompt of the first text", info=f"a name in the checkpoint's files, or {NO_PROMPT}")
    ] = ""
    second_prompt: Annotated[str, Option("Prompt of the second text", info="empty: as the files say")] = ""
    rows: Annotated[str, Option("Uploaded rows", info="empty: the built-in pairs", by_page=True)] = ""


@dataclass(frozen=True)
class Share:
    """*right* of *count* cases, with the 95 % interval of Wilson."""

    right: int
    count: int

    @property
    def value(self) -> float:
        return self.right / self.count if self.count else 0.0

    @property
    def interval(self) -> Interval:
        return Interval(*wilson(self.value, self.count))


@dataclass(frozen=True)
class Threshold:
    """n labelled pairs and their similarities. A distance has a minus before it, so that more is always nearer."""

    name: str  # of the built-in pairs, or "uploaded rows"
    pairs: tuple[Pair, ...]
    similarity: Float[np.ndarray, " n"]
    measure: str  # cosine, dot, euclidean or manhattan
    wanted: float  # the precision that was asked for; 0: the best F1
    threshold: float | None  # chosen on all pairs; None if none reaches the precision
    interval: Interval | None  # of the threshold
    held_out: Bool[np.ndarray, " n"]  # whether each passes the threshold that the other pairs choose
    unrelated: Float[np.ndarray, " u"]  # similarities of texts of different rows, ascending
    area: float  # how often a pair that matches is above one that does not
    area_by_words: float  # the same for the share of words in common
    unusable: tuple[RowProblem, ...] = ()
    notes: str = ""

    @property
    def matches(self) -> Bool[np.ndarray, " n"]:
        return np.array([pair.match for pair in self.pairs])

    @property
    def passes(self) -> Bool[np.ndarray, " n"]:
        """Whether each passes the threshold."""
        if self.threshold is None:
            return np.zeros(len(self.pairs), bool)
        return self.similarity >= self.threshold

    @property
    def precision(self) -> Share:
        """Of the pairs that pass where they did not choose the threshold, those that match."""
        return Share(int((self.held_out & self.matches).sum()), int(self.held_out.sum()))

    @property
    def recall(self) -> Share:
        """Of the pairs that match, those that pass where they did not choose the threshold."""
        return Share(int((self.held_out & self.matches).sum()), int(self.matches.sum()))

    @property
    def false_alarms(self) -> Share:
        """Of the unrelated pairs, those that pass the threshold of all pairs."""
        passed = 0 if self.threshold is None else int((self.unrelated >= self.threshold).sum())
        return Share(passed, len(self.unrelated))

    @property
    def few(self) -> bool:
        """Whether the pairs are too few to say how it does on new ones."""
        matches = int(self.matches.sum())
        return min(matches, len(self.pairs) - matches) < FEW


def run(
    checkpoint: Checkpoint,
    text: Text | str = "",
    *,
    options: Options = Options(),
    rows: Sequence[NumberedRow] | None = None,
) -> Threshold:
    """Choose a threshold on the labelled pairs of *rows*, or on the built-in ones. *text* is not read.

    Raises ExplorerError for rows without two texts and a label, for fewer than two pairs of a kind, for more than
    10,000, for a text that cannot be read, and for a prompt that the files do not name."""
    check_given("rows", options.rows, rows)
    readable, unread = split_readable(rows or rows_of(options.set))
    pairs, problems = read_pairs(readable)
    pooling = own_or_mean(checkpoint, options.pooling)
    measure = engine.similarity_measure(checkpoint)

    # 1. The similarity of each pair, and of texts of different rows.
    first, first_note = vectors(checkpoint, [pair.first for pair in pairs], options.first_prompt, pooling)
    second, second_note = vectors(checkpoint, [pair.second for pair in pairs], options.second_prompt, pooling)
    similarity = compare(measure, first, second)
    left, right = strangers(pairs)
    unrelated = np.sort(compare(measure, first[left], second[right]))

    # 2. The threshold, and how it does on held-out pairs.
    matches = np.array([pair.match for pair in pairs])
    by_words = np.array([words_in_common(pair.first, pair.second) for pair in pairs])
    departs = departure(checkpoint, pooling, checkpoint.config.num_layers, lengths=measure != "cosine")
    return Threshold(
        name="uploaded rows" if rows else options.set,
        pairs=tuple(pairs),
        similarity=similarity,
        measure=measure,
        wanted=options.least_precision,
        threshold=threshold.choose(similarity, matches, options.least_precision),
        interval=threshold.threshold_interval(similarity, matches, options.least_precision),
        held_out=threshold.held_out(similarity, matches, options.least_precision),
        unrelated=unrelated,
        area=threshold.area(similarity, matches),
        area_by_words=threshold.area(by_words, matches),
        unusable=tuple(sorted([*unread, *problems], key=lambda problem: problem.line)),
        notes=" ".join(dict.fromkeys(filter(None, (first_note, second_note, departs)))),
    )


def vectors(
    checkpoint: Checkpoint, texts: Sequence[str], prompt: str, pooling: str
) -> tuple[Float[np.ndarray, "n d"], str]:
    """(the vector of each text, a note on those that were cut). A text that occurs again is read once. Reports its
    progress. Raises ExplorerError for a text that cannot be read, which it names."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    distinct = list(numbers)
    layer = checkpoint.config.num_layers
    made = []
    cut = []
    for start in range(0, len(distinct), AT_ONCE):
        progress.check()
        encodings = []
        for text in distinct[start : start + AT_ONCE]:
            try:
                encodings.append(encode_sentence(checkpoint, text, prompt_name(prompt)))
            except ExplorerError as error:
                raise ExplorerError(f"{text!r:.60} cannot be compared. {error}") from error
        cut += [encoding for encoding in encodings if encoding.left_out]
        made.append(engine.kept_sentence_vectors(checkpoint, encodings, layer=layer, pooling=pooling).numpy())
    return np.concatenate(made)[[numbers[text] for text in texts]], cut_note(cut, "text")


def compare(measure: str, first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """The similarity of each row of *first* with the same row of *second*."""
    import torch

    return engine.similarities(measure, torch.from_numpy(first), torch.from_numpy(second)).double().numpy()


def strangers(pairs: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """(rows i, rows j), drawn at random, UNRELATED at most: the first text of each i and the second of its j, of which
    no row says whether they belong together. Two texts that one row has are never drawn."""
    together = {frozenset((pair.first, pair.second)) for pair in pairs}
    drawn = np.random.default_rng(0).integers(len(pairs), size=(2 * UNRELATED, 2))
    left: list[int] = []
    right: list[int] = []
    for i, j in dict.fromkeys(map(tuple, drawn.tolist())):
        texts = frozenset((pairs[i].first, pairs[j].second))
        if len(texts) == 2 and texts not in together and len(left) < UNRELATED:
            left.append(i)
            right.append(j)
    return left, right


def rows(result: Threshold) -> list[dict[str, object]]:
    """A row for each pair. *passes*: whether it passes the threshold; *held_out*: whether it passes the one that the
    other pairs choose, by which precision and recall are counted."""
    passes = result.passes
    return [
        {
            "line": pair.line,
            "first": pair.first,
            "second": pair.second,
            "match": pair.match,
            "similarity": float(result.similarity[i]),
            "passes": bool(passes[i]),
            "held_out": bool(result.held_out[i]),
        }
        for i, pair in enumerate(result.pairs)
    ]


def summary_rows(result: Threshold) -> list[dict[str, object]]:
    """The threshold; precision, recall and false alarms on held-out pairs; each with its 95 %
    interval."""
    shares = {"precision": result.precision, "recall": result.recall, "unrelated that pass": result.false_alarms}
    low, high = result.interval or ("", "")
    table: list[dict[str, object]] = [
        {"metric": "threshold", "value": "" if result.threshold is None else result.threshold, "low": low, "high": high}
    ]
    for name, share in shares.items():
        low, high = share.interval
        table.append({"metric": name, "value": share.value, "low": low, "high": high})
    table.append({"metric": "area under the ROC curve", "value": result.area, "low": "", "high": ""})
    table.append({"metric": "the same by words in common", "value": result.area_by_words, "low": "", "high": ""})
    return table


def tables(result: Threshold) -> dict[str, list[dict[str, object]]]:
    """The threshold and how it does."""
    return {"summary": summary_rows(result)}


class Facts(facts.Facts[Threshold]):
    def pairs(self) -> float:
        """Labelled pairs."""
        return len(self._result.pairs)

    def threshold(self) -> float:
        """The similarity from which on two texts pass."""
        if self._result.threshold is None:
            raise ExplorerError("No threshold reaches the precision that was asked for. Ask for less.")
        return self._result.threshold

    def precision(self) -> float:
        """Of the pairs that pass a threshold of other pairs, the share that matches, 0 to 1."""
        return self._result.precision.value

    def recall(self) -> float:
        """Of the pairs that match, the share that passes a threshold of other pairs, 0 to 1."""
        return self._result.recall.value

    def unrelated_that_pass(self) -> float:
        """Of the pairs of texts of different rows, the share that passes, 0 to 1."""
        return self._result.false_alarms.value

    def area(self) -> float:
        """How often a pair that matches is more similar than one that does not, 0 to 1."""
        return self._result.area

    def area_by_words(self) -> float:
        """The same for the share of words in common."""
        return self._result.area_by_words
