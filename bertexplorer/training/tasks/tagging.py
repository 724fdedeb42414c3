"""Tagging: a tag for each word, such as the names of people and places; each on its own, or all together by a CRF."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from bertexplorer.options import Option
from bertexplorer.training.data.rows import Problem, Row
from bertexplorer.training.entities import scores
from bertexplorer.training.entities.tags import OUTSIDE, Sentence, is_plain, read_sentences
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
    "accuracy": "Word accuracy",
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
    return read_sentences(rows)


def baselines(train: Sequence[Sentence], dev: Sequence[Sentence], options: Options) -> dict[str, tuple[str, float]]:
    """Each word gets its most frequent tag in *train*, unknown words the most frequent tag overall."""
    if not train or not dev:
        return {}
    plain, tag_counts = is_plain(train), defaultdict[str, Counter[str]](Counter)
    for sentence in train:
        for (start, end), tag in zip(sentence.words, sentence.tags, strict=True):
            tag_counts[sentence.text[start:end].lower()][tag] += 1
    usual_tag = sum(tag_counts.values(), Counter[str]()).most_common(1)[0][0] if plain else OUTSIDE
    tag_of = {word: tags.most_common(1)[0][0] for word, tags in tag_counts.items()}
    predicted = [
        [tag_of.get(sentence.text[start:end].lower(), usual_tag) for start, end in sentence.words] for sentence in dev
    ]
    metrics = scores.metrics([sentence.tags for sentence in dev], predicted, plain)
    return {key: ("each word by its most frequent tag", metrics[key]) for key in ("entity_f1", "accuracy")}
