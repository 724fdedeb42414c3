"""Labelled pairs to begin with: questions in other words, scenes, and sentences of which one word was changed."""

import csv
import json
from typing import Literal

from bertexplorer.settings import ASSETS
from bertexplorer.views.rows import NumberedRow

Name = Literal["the same question", "one word changed", "the same scene"]
SAME_SCENE = 4.0  # of 5: the score from which on two scenes match

SAME = (  # written for this view: other words, and they mean the same
    ("The shop is open on Sundays.", "On Sundays one can buy things there."),
    ("He forgot to lock the door.", "The door was not locked by him."),
    ("The train is late again.", "Once more we have to wait for the train."),
    ("She sold her old car.", "Somebody bought the old car from her."),
    ("The soup is too hot to eat.", "Nobody can eat such a hot soup."),
    ("They won the last game.", "The last game was not lost by them."),
    ("My brother is older than I am.", "I am younger than my brother."),
    ("The library closes at six.", "After six the library is not open."),
    ("Take the second street on the left.", "Turn left, but not at the first street."),
    ("The price went up.", "It costs more now."),
    ("Nobody was hurt.", "All people are well."),
    ("The letter never arrived.", "We did not get the letter."),
)
CHANGED = (  # one word or two were changed, and they do not
    ("The shop is open on Sundays.", "The shop is closed on Sundays."),
    ("He forgot to lock the door.", "He remembered to lock the door."),
    ("The train is late again.", "The train is early again."),
    ("She sold her old car.", "She sold her old house."),
    ("The soup is too hot to eat.", "The soup is too cold to eat."),
    ("They won the last game.", "They lost the last game."),
    ("My brother is older than I am.", "My brother is younger than I am."),
    ("The library closes at six.", "The library opens at six."),
    ("Take the second street on the left.", "Take the second street on the right."),
    ("The price went up.", "The price went down."),
    ("Nobody was hurt.", "Everybody was hurt."),
    ("The letter never arrived.", "The letter finally arrived."),
)


def one_word_changed() -> list[NumberedRow]:
    """The pairs of SAME, which match, and those of CHANGED, which do not."""
    rows = []
    for pairs, label in ((SAME, 1), (CHANGED, 0)):
        for first, second in pairs:
            rows.append({"text_a": first, "text_b": second, "label": label})
    return list(enumerate(rows, 1))


def same_question() -> list[NumberedRow]:
    """The questions of the task retrieval: two on one passage match; two on passages that follow each other do not."""
    questions: dict[str, list[str]] = {}
    for line in (ASSETS / "data" / "retrieval.jsonl").read_text("utf-8").splitlines():
        cells = json.loads(line)
        questions.setdefault(cells["passage"], []).append(cells["query"])
    by_passage = list(questions.values())
    rows = []
    for i, own in enumerate(by_passage):
        of_next = by_passage[(i + 1) % len(by_passage)]
        rows.append({"text_a": own[0], "text_b": own[1], "label": 1})
        rows.append({"text_a": own[2], "text_b": of_next[2], "label": 0})
        rows.append({"text_a": own[3], "text_b": of_next[0], "label": 0})
    return list(enumerate(rows, 1))


def same_scene() -> list[NumberedRow]:
    """The rows of the task similarity."""
    rows: list[NumberedRow] = []
    with (ASSETS / "data" / "similarity.csv").open(encoding="utf-8", newline="") as file:
        for line, cells in enumerate(csv.DictReader(file), 2):
            label = int(float(cells["score"]) >= SAME_SCENE)
            rows.append((line, {"text_a": cells["text_a"], "text_b": cells["text_b"], "label": label}))
    return rows


def rows_of(name: Name) -> list[NumberedRow]:
    """The pairs of this name, each with its line."""
    match name:
        case "the same question":
            return same_question()
        case "one word changed":
            return one_word_changed()
        case "the same scene":
            return same_scene()
