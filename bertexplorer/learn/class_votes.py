"""Class votes: the votes of a class as a table: both rounds, and who moved from where to where, without names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bertexplorer.learn.prose import plain
from bertexplorer.learn.room import Question, Room


def vote_table(room: Room) -> list[dict[str, object]]:
    """A row for each answer and each move, of the questions that were answered by the checkpoint. *vote* is 1, 2, or
    "1 to 2" for those who voted twice: *count* of them went from the answer *before* to *answer*."""
    return [row for at in range(room.at + (room.phase == "reveal")) for row in question_rows(room, at)]


def question_rows(room: Room, at: int) -> Iterator[dict[str, object]]:
    """Yield the rows of the question *at*, counted from 0."""
    question, votes = room.questions[at], [room.votes.get((at, round), {}) for round in (1, 2)]
    about = {"question": at + 1, "text": plain(question.prompt)}
    for round, cast in enumerate(votes, 1):
        tally = Counter(cast.values())
        answers = range(len(question.choices)) if question.choices else sorted(tally)
        for answer in answers if cast or round == 1 else ():
            yield {
                **about,
                "vote": round,
                "before": "",
                "answer": answer_text(question, answer),
                "count": tally[answer],
            }
    first, second = votes
    moves = Counter((first[voter], second[voter]) for voter in first.keys() & second.keys())
    for (before, after), count in sorted(moves.items()):
        answers_of = {"before": answer_text(question, before), "answer": answer_text(question, after)}
        yield {**about, "vote": "1 to 2", **answers_of, "count": count}


def answer_text(question: Question, answer: float) -> str | float:
    """The text of a choice, or the number that was given."""
    return plain(question.choices[int(answer)]) if question.choices else answer
