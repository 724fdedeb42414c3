"""Rows to begin with, written by the project for sentiment, which learned from other sentences.

The reviews have faults on purpose: scores in numbers, which it has never seen; wrong labels; a text that occurs
twice, with two labels."""

from itertools import product
from typing import Literal

from bertexplorer.settings import ASSETS
from bertexplorer.views.rows import NumberedRow, table

Name = Literal["reviews with faults", "what sentiment learned from", "the same with wrong labels"]

POSITIVE, NEGATIVE = "positive", "negative"
OTHER = {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}
FRAMES = ("{} was {}.", "We all thought {} was {}.", "Last week {} was {}.", "For us {} was {}.")
THINGS = (
    "the zoo", "the bus ride", "the pizza", "the new phone", "the dentist", "the swimming pool", "the library",
    "the cake", "the tour", "the shop",
)  # fmt: skip
WORDS = {
    POSITIVE: ("wonderful", "excellent", "very good", "lovely", "great fun"),
    NEGATIVE: ("terrible", "very bad", "boring", "too slow", "dirty and loud"),
}
SCORES = {POSITIVE: (8, 9, 10), NEGATIVE: (1, 2, 3)}
SCORED = "I gave {} {} out of 10."
WRONG = 23  # every how manieth label of the sentences without a score is wrong


def reviews() -> list[NumberedRow]:
    """200 sentences of which some have the wrong label, 60 scores, and one text twice."""
    rows: list[tuple[str, str]] = []
    # 1. Sentences with a word that says it.
    for i, (frame, thing) in enumerate(product(FRAMES, THINGS)):
        steps = (0, 2, 3) if i % 2 == 0 else (0, 2)
        for label, words in WORDS.items():
            for step in steps:
                word = words[(i + step) % len(words)]
                rows.append((capital(frame.format(thing, word)), label))
    # 2. Some of them with the wrong label.
    for i in range(WRONG - 1, len(rows), WRONG):
        text, label = rows[i]
        rows[i] = text, OTHER[label]
    # 3. Scores, and the text that occurs twice.
    for thing, (label, scores) in product(THINGS, SCORES.items()):
        rows += [(SCORED.format(thing, score), label) for score in scores]
    rows += [("Well, the bakery was as always.", POSITIVE), ("Well, the bakery was as always.", NEGATIVE)]
    return [(line, {"text": text, "label": label}) for line, (text, label) in enumerate(rows, 2)]


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def learned() -> list[NumberedRow]:
    """The built-in rows of the task classification."""
    return table(ASSETS / "data" / "classification.csv")


def with_wrong_labels() -> list[NumberedRow]:
    """The same, with 20 labels turned over."""
    rows: list[NumberedRow] = []
    for i, (line, cells) in enumerate(learned()):
        label = OTHER[cells["label"]] if i % 20 == 7 else cells["label"]
        rows.append((line, {"text": cells["text"], "label": label}))
    return rows


def rows_of(name: Name) -> list[NumberedRow]:
    """The rows of this name, each with its line."""
    match name:
        case "reviews with faults":
            return reviews()
        case "what sentiment learned from":
            return learned()
        case "the same with wrong labels":
            return with_wrong_labels()
