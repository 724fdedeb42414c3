"""Question answering: where in a passage an answer starts and where it ends, or that there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from bertexplorer.options import Option
from bertexplorer.training.answers import scores
from bertexplorer.training.answers.rows import Question, read_questions
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
    "no_answer": "Accuracy where there is no answer",
    "lost": "Answers that fit in no window",
    "loss": "Loss",
}
SPLIT_BY = ("context",)  # rows with the same value here stay on one side of a split
DEFAULTS: dict[str, Any] = {"max_tokens": 384, "batch": 8}


@dataclass(frozen=True)
class Options:
    stride: Annotated[int, Option("Stride", 1, 8192, "tokens from one window of a long passage to the next")] = 128
    question: Annotated[int, Option("Maximum question length", 4, 512, "in tokens; longer questions are cut")] = 64
    longest: Annotated[int, Option("Maximum answer length", 1, 512, "in tokens")] = 30
    n_best: Annotated[int, Option("Best answers", 1, 100, "candidates to keep per passage")] = 20
    threshold: Annotated[
        float, Option("No-answer threshold", -100.0, 100.0, "margin by which “no answer” must beat the best answer")
    ] = 0.0
    realign: Annotated[bool, Option("Realign", info="search for answers that are not where the row says")] = False


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Question], list[Problem]]:
    return read_questions(rows, options.realign)


def baselines(train: Sequence[Question], dev: Sequence[Question], options: Options) -> dict[str, tuple[str, float]]:
    """The sentence that shares most words with the question, or always no answer if that scores higher."""
    if not dev:
        return {}
    nearest_scores = np.mean(
        [scores.best_match(answer_texts(question), nearest_sentence(question)) for question in dev], axis=0
    )
    no_answer = float(np.mean([not question.answers for question in dev]))
    if no_answer > nearest_scores[1]:
        return {"f1": ("never an answer", no_answer), "exact": ("never an answer", no_answer)}
    name = "the sentence that shares most words with the question"
    return {"f1": (name, float(nearest_scores[1])), "exact": (name, float(nearest_scores[0]))}


def answer_texts(question: Question) -> list[str]:
    return [answer.text for answer in question.answers]


def nearest_sentence(question: Question) -> str:
    """The sentence of the passage that shares most words with the question; of equal ones the shortest."""
    question_words = set(scores.normalized_words(question.question))
    sentences = [sentence for sentence in re.split(r"(?<=[.!?])\s+", question.context) if sentence.strip()]
    return max(
        sentences, key=lambda sentence: (len(question_words & set(scores.normalized_words(sentence))), -len(sentence))
    )
