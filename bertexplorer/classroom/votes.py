"""Class votes: what a class answered, without names: as a table, as a summary, and whether a discussion pays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bertexplorer.classroom.room import ClassQuestion, Room
from bertexplorer.learn.numbers import format_answer
from bertexplorer.learn.prose import inline, plain

# A discussion helps if enough know the answer to convince the others, and enough do not know it yet: Crouch and Mazur,
# Peer Instruction: Ten years of experience and results, 2001, section II.
EXPLAIN_BELOW, GO_ON_ABOVE = 1 / 3, 2 / 3

Reveal = Mapping[str, Any]  # the checkpoint's answer, as questions.reveal_answer returns it


def vote_table(room: Room) -> list[dict[str, object]]:
    """A row for each answer and each move, of the questions that were answered by the checkpoint. *vote* is 1, 2, or
    "1 to 2" for those who voted twice: *count* of them went from the answer *before* to *answer*. *bert* is the
    checkpoint's answer; *right* is "yes" or "no", "" if no single answer is right."""
    return [row for at in answered(room) for row in question_rows(room, at)]


def answered(room: Room) -> list[int]:
    """The questions whose answer was shown, in order."""
    shown = range(room.at + (room.phase == "reveal"))
    return [at for at in shown if at not in room.skipped]


def question_rows(room: Room, at: int) -> Iterator[dict[str, object]]:
    """Yield the rows of the question *at*, counted from 0."""
    question, reveal = room.questions[at], room.reveals.get(at, {})
    first, second = (room.votes.get((at, round), {}) for round in (1, 2))

    def row(vote: int | str, before: float | None, answer: float, count: int) -> dict[str, object]:
        return {
            "question": at + 1,
            "text": plain(question.prompt),
            "vote": vote,
            "before": "" if before is None else answer_text(question, before),
            "answer": answer_text(question, answer),
            "count": count,
            "bert": bert_answer(question, reveal),
            "right": {True: "yes", False: "no", None: ""}[is_right(reveal, answer)],
        }

    for round, cast in ((1, first), (2, second)):
        tally = Counter(cast.values())
        answers = range(len(question.choices)) if question.choices else sorted(tally)
        for answer in answers if cast or round == 1 else ():
            yield row(round, None, answer, tally[answer])
    moves = Counter((first[voter], second[voter]) for voter in first.keys() & second.keys())
    for (before, after), count in sorted(moves.items()):
        yield row("1 to 2", before, after, count)


def answer_text(question: ClassQuestion, answer: float) -> str | float:
    """The text of a choice, or the number that was given."""
    return plain(question.choices[int(answer)]) if question.choices else answer


def bert_answer(question: ClassQuestion, reveal: Reveal) -> str:
    """The checkpoint's answer: the right choices, the number, or else the likeliest choice; "" if it has none."""
    if "number" in reveal:
        return format_answer(reveal["number"], question.prompt)
    right = reveal.get("right", [])
    if not right and reveal.get("shares"):
        right = [max(range(len(question.choices)), key=reveal["shares"].__getitem__)]
    return ", ".join(plain(question.choices[choice]) for choice in right)


def is_right(reveal: Reveal, answer: float) -> bool | None:
    """Whether *answer* is right; None if no single answer is."""
    if "right" in reveal:
        return answer in reveal["right"]
    if "tolerance" in reveal:  # a class that a version before 0.3 kept has none
        return bool(abs(answer - reveal["number"]) <= reveal["tolerance"] + 1e-12)
    return None


def right_of(room: Room, at: int, round: int, reveal: Reveal) -> tuple[int, int] | None:
    """(right votes, votes) of a *round*; None without votes, or if no single answer is right."""
    right = votes = 0
    for answer, count in Counter(room.votes.get((at, round), {}).values()).items():
        mark = is_right(reveal, answer)
        if mark is None:
            return None
        votes += count
        if mark:
            right += count
    return (right, votes) if votes else None


def advice(room: Room, reveal: Reveal) -> str:
    """How many were right in the vote that has just closed, and what to do next; it does not say which answer is
    right. "" if nobody voted, or no single answer is right."""
    first, second = (right_of(room, room.at, round, reveal) for round in (1, 2))
    if room.phase == "closed2" and second:
        return counted(second) + (f" In the first vote, {counted(first, short=True)}." if first else "")
    if first is None:
        return ""
    share = first[0] / first[1]
    if share < EXPLAIN_BELOW:
        return f"{counted(first)} So few that a discussion helps little: explain it."
    if share > GO_ON_ABOVE:
        return f"{counted(first)} Go on."
    return f"{counted(first)} A discussion pays."


def counted(right: tuple[int, int], short: bool = False) -> str:
    """(right votes, votes) in words."""
    count, of = right
    words = f"{count} of {of} were right ({count / of:.0%})".replace("%", " %")
    return words if short else f"{words}."


def summary(room: Room) -> list[dict[str, Any]]:
    """For each question whose answer was shown: its text, the checkpoint's answer, and (right votes, votes) of both
    rounds."""
    return [
        {
            "text": inline(room.questions[at].prompt.split("\n")[0]),
            "bert": bert_answer(room.questions[at], room.reveals.get(at, {})),
            "right": [right_of(room, at, round, room.reveals.get(at, {})) for round in (1, 2)],
        }
        for at in answered(room)
    ]
