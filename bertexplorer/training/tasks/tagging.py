"""Tagging: a tag for each word, such as the names of people and places; each on its own, or all together by a CRF."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Problem, Row
from bertexplorer.training.entities import scores
from bertexplorer.training.entities.rows import Sentence, is_plain, sentences
from bertexplorer.training.entities.tags import OUTSIDE
from bertexplorer.training.task import Column

TITLE = "Named entities and tagging"
ABOUT = "A tag for each word: the names of people, places and organisations, parts of speech, and the like."
COLUMNS = (
    Column("tokens", "Words", "tokens", "a list of words, or the text if the tags are spans in it"),
    Column("tags", "Tags", "tags", 'B-LOC, I-LOC, O …, one for each word; or spans as {"start", "end", "label"}'),
)
METRIC, HIGHER = "entity_f1", True
METRICS = {
    "entity_f1": "Entity F1",
    "strict_f1": "Strict F1",
    "precision": "Precision",
    "recall": "Recall",
    "accuracy": "Words right",
    "illegal": "Illegal tags",
    "cut": "Words beyond the limit",
    "loss": "Loss",
}
DEFAULTS: dict[str, Any] = {"batch": 8, "epochs": 5.0}


@dataclass(frozen=True)
class Options:
    head: Annotated[
        Literal["softmax", "crf"],
        Option("Head", info="softmax: each word alone; crf: all together, without illegal sequences"),
    ] = "softmax"


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Sentence], list[Problem]]:
    return sentences(rows)


def floors(train: Sequence[Sentence], dev: Sequence[Sentence], options: Options) -> dict[str, tuple[str, float]]:
    """Each word gets its most frequent tag in *train*, unknown words the most frequent tag overall."""
    if not train or not dev:
        return {}
    plain, seen = is_plain(train), defaultdict[str, Counter[str]](Counter)
    for one in train:
        for (start, end), tag in zip(one.words, one.tags, strict=True):
            seen[one.text[start:end].lower()][tag] += 1
    usual = sum(seen.values(), Counter[str]()).most_common(1)[0][0] if plain else OUTSIDE
    most = {word: tags.most_common(1)[0][0] for word, tags in seen.items()}
    guess = [[most.get(one.text[start:end].lower(), usual) for start, end in one.words] for one in dev]
    found = scores.metrics([one.tags for one in dev], guess, plain)
    return {key: ("each word by its most frequent tag", found[key]) for key in ("entity_f1", "accuracy")}
