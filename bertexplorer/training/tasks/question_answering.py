"""Question answering: where in a passage an answer starts and where it ends, or that there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from bertexplorer.options import Option
from bertexplorer.training.answers import scores
from bertexplorer.training.answers.rows import Question, questions
from bertexplorer.training.data.rows import Problem, Row
from bertexplorer.training.task import Column

TITLE = "Question answering"
ABOUT = "The answer to a question, as a span of a passage; or, if the rows have such questions, that it does not say."
COLUMNS = (
    Column("question", "Question", "text"),
    Column("context", "Passage", "text"),
    Column("answers", "Answers", "answers", "the text, or SQuAD's list of texts with where they start"),
    Column("impossible", "Impossible", "label", "true where the passage does not say", optional=True),
)
METRIC, HIGHER = "f1", True
METRICS = {
    "f1": "F1",
    "exact": "Exact match",
    "has_answer_f1": "F1 where there is an answer",
    "has_answer_exact": "Exact match where there is an answer",
    "no_answer": "Right where there is none",
    "lost": "Answers whole in no window",
    "loss": "Loss",
}
TOGETHER = ("context",)  # rows that agree here belong on one side of a split
DEFAULTS: dict[str, Any] = {"max_tokens": 384, "batch": 8}


@dataclass(frozen=True)
class Options:
    stride: Annotated[int, Option("Stride", 1, 8192, "tokens from one window of a long passage to the next")] = 128
    question: Annotated[int, Option("Longest question", 4, 512, "tokens; what is beyond is cut")] = 64
    longest: Annotated[int, Option("Longest answer", 1, 512, "tokens")] = 30
    n_best: Annotated[int, Option("Answers kept", 1, 100, "of each passage, the best first")] = 20
    threshold: Annotated[
        float, Option("No-answer threshold", -100.0, 100.0, "margin by which no answer must beat the best answer")
    ] = 0.0
    realign: Annotated[bool, Option("Realign", info="search for answers that are not at their stated position")] = False


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Question], list[Problem]]:
    return questions(rows, options.realign)


def floors(train: Sequence[Question], dev: Sequence[Question], options: Options) -> dict[str, tuple[str, float]]:
    """The sentence that shares most words with the question, or always no answer if that scores higher."""
    if not dev:
        return {}
    shared = np.mean([scores.scored(texts(one), nearest(one)) for one in dev], axis=0)
    nothing = float(np.mean([not one.answers for one in dev]))
    if nothing > shared[1]:
        return {"f1": ("never an answer", nothing), "exact": ("never an answer", nothing)}
    name = "the sentence that shares most words with the question"
    return {"f1": (name, float(shared[1])), "exact": (name, float(shared[0]))}


def texts(one: Question) -> list[str]:
    return [answer.text for answer in one.answers]


def nearest(one: Question) -> str:
    """The sentence of the passage that shares most words with the question; of equal ones the shortest."""
    asked = set(scores.normal(one.question))
    parts = [part for part in re.split(r"(?<=[.!?])\s+", one.context) if part.strip()]
    return max(parts, key=lambda part: (len(asked & set(scores.normal(part))), -len(part)))
