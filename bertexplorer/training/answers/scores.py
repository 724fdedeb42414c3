"""Scores by the rules of SQuAD's official script (Rajpurkar et al., 2016 and 2018)."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

PUNCTUATION = str.maketrans("", "", string.punctuation)
WORDS = ("who", "what", "when", "where", "which", "why", "how")
POINTS = 21  # on the curve


def normalized_words(text: str) -> list[str]:
    """The words to compare: in lower case, without punctuation and articles."""
    return re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(PUNCTUATION)).split()


def exact_match(gold: str, predicted: str) -> float:
    return float(normalized_words(gold) == normalized_words(predicted))


def f1(gold: str, predicted: str) -> float:
    """F1 of the words of both; 1 if both are empty, 0 if one is."""
    gold_words, predicted_words = normalized_words(gold), normalized_words(predicted)
    if not gold_words or not predicted_words:
        return float(gold_words == predicted_words)
    common = sum((Counter(gold_words) & Counter(predicted_words)).values())
    return 2 * common / (len(gold_words) + len(predicted_words))


def best_match(gold: Sequence[str], predicted: str) -> tuple[float, float]:
    """(exact match, F1) against the gold answer that fits best. No gold answers: the right answer is none."""
    answers = [answer for answer in gold if normalized_words(answer)] or [""]
    return max(exact_match(answer, predicted) for answer in answers), max(f1(answer, predicted) for answer in answers)


def question_word(question: str) -> str:
    """The first question word of a question."""
    return next((word for word in re.findall(r"\w+", question.lower()) if word in WORDS), "other")


def by_question_word(questions: Sequence[str], exacts: Sequence[float], f1s: Sequence[float]) -> list[dict[str, Any]]:
    """A row for each question word, the most frequent first."""
    kinds = [question_word(question) for question in questions]
    table = []
    for kind, count in Counter(kinds).most_common():
        indices = [i for i, other in enumerate(kinds) if other == kind]
        numbers = {name: float(np.mean([of[i] for i in indices])) for name, of in (("exact", exacts), ("f1", f1s))}
        table.append({"question": kind} | numbers | {"examples": count})
    return table


def thresholds(
    margin: Float[np.ndarray, " n"], span_f1: Float[np.ndarray, " n"], no_answer_f1: Float[np.ndarray, " n"]
) -> list[dict[str, float]]:
    """F1 at other thresholds. *margin*: by how much no answer beats the best span; *span_f1*, *no_answer_f1*: the F1 of
    each question if the span, or nothing, is the answer. Nothing is the answer where the margin exceeds the
    threshold."""
    candidates = np.unique(np.concatenate([[0.0], np.quantile(margin, np.linspace(0, 1, POINTS))]))
    rows = []
    for threshold in candidates:
        is_no_answer = margin > threshold
        mean = float(np.where(is_no_answer, no_answer_f1, span_f1).mean())
        rows.append({"threshold": float(threshold), "f1": mean, "no answer": float(is_no_answer.mean())})
    return rows
