"""Scores by the rules of SQuAD's official script (Rajpurkar et al., 2016 and 2018)."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

LEFT_OUT = str.maketrans("", "", string.punctuation)
WORDS = ("who", "what", "when", "where", "which", "why", "how")
POINTS = 21  # of the curve


def normal(text: str) -> list[str]:
    """The words to compare: lower case, without punctuation and articles."""
    return re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(LEFT_OUT)).split()


def exact(gold: str, said: str) -> float:
    return float(normal(gold) == normal(said))


def f1(gold: str, said: str) -> float:
    """F1 of the words of both; 1 if both are empty, 0 if one is."""
    true, claimed = normal(gold), normal(said)
    if not true or not claimed:
        return float(true == claimed)
    same = sum((Counter(true) & Counter(claimed)).values())
    return 2 * same / (len(true) + len(claimed))


def scored(gold: Sequence[str], said: str) -> tuple[float, float]:
    """(exact match, F1) against the gold answer that fits best. No gold answers: the right answer is none."""
    counted = [answer for answer in gold if normal(answer)] or [""]
    return max(exact(answer, said) for answer in counted), max(f1(answer, said) for answer in counted)


def word_of(question: str) -> str:
    """The first question word of a question."""
    return next((word for word in re.findall(r"\w+", question.lower()) if word in WORDS), "other")


def by_word(questions: Sequence[str], exacts: Sequence[float], f1s: Sequence[float]) -> list[dict[str, Any]]:
    """A row for each question word, the most frequent first."""
    kinds = [word_of(question) for question in questions]
    table = []
    for kind, count in Counter(kinds).most_common():
        here = [i for i, other in enumerate(kinds) if other == kind]
        numbers = {name: float(np.mean([of[i] for i in here])) for name, of in (("exact", exacts), ("f1", f1s))}
        table.append({"question": kind} | numbers | {"examples": count})
    return table


def thresholds(
    surplus: Float[np.ndarray, " n"], spoken: Float[np.ndarray, " n"], silent: Float[np.ndarray, " n"]
) -> list[dict[str, float]]:
    """F1 at other thresholds. *surplus*: by how much no answer beats the best span; *spoken*, *silent*: the F1 of each
    question if the span, or nothing, is the answer. Nothing is the answer where the surplus exceeds the threshold."""
    places = np.unique(np.concatenate([[0.0], np.quantile(surplus, np.linspace(0, 1, POINTS))]))
    rows = []
    for place in places:
        nothing = surplus > place
        mean = float(np.where(nothing, silent, spoken).mean())
        rows.append({"threshold": float(place), "f1": mean, "no answer": float(nothing.mean())})
    return rows
