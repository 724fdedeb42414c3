"""Classroom: a class that votes before BERT answers. Only this module decides who may do what, and when.

A room has a code of four letters and a list of questions. Its teacher, the browser that opened it, moves it from phase
to phase. Each other browser has one vote for each question and round, and may change it until the vote closes.
Everything is written to a file before it is acknowledged, so a restarted server continues where it was.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which are read as 1 and 0
NEXT = {  # phase -> where the teacher may go from there; "next" is the vote on the next question
    "lobby": ("vote1",),
    "vote1": ("closed1",),
    "closed1": ("discuss", "reveal"),
    "discuss": ("vote2",),
    "vote2": ("closed2",),
    "closed2": ("reveal",),
    "reveal": ("next",),
}
ROUND = {"vote1": 1, "vote2": 2}
MOST_ROOMS, MOST_VOTERS, MOST_QUESTIONS, MOST_CHOICES = 200, 1000, 50, 40
HERE_S = 15.0  # a phone counts as present for this long after its last poll
WRONG, PERIOD_S = 30, 60.0  # wrong codes of one address in a minute


@dataclass(frozen=True)
class Question:
    """A question for the class; it asks for a number if there are no *choices*. *block*: the block of the lesson that
    has the answer."""

    prompt: str  # Markdown
    choices: tuple[str, ...]  # Markdown
    link: str = ""  # of the view that the reveal runs
    block: str = ""


@dataclass
class Room:
    """One class. *votes*: (question, round) -> voter -> choice; questions count from 0, rounds from 1."""

    code: str
    teacher: str
    lesson: str
    questions: tuple[Question, ...]
    file: Path
    at: int = 0  # the question
    phase: str = "lobby"
    votes: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)
    language: str = ""  # that the lesson is asked in; "" for English
    reveals: dict[int, dict[str, Any]] = field(default_factory=dict)  # what the checkpoint answered
    changes: int = 0  # changes that phones see: steps and reveals
    here: dict[str, float] = field(default_factory=dict)  # voter -> when the phone was last heard
    ended: bool = False

    def voter(self, owner: str) -> str:
        """A name for the browser *owner* that is valid in this room only."""
        return sha256(f"{self.code} {self.teacher} {owner}".encode()).hexdigest()[:16]

    def counts(self, question: int, round: int) -> list[int]:
        """Votes for each choice."""
        tally = Counter(self.votes.get((question, round), {}).values())
        return [tally[i] for i in range(len(self.questions[question].choices))]

    def numbers(self, question: int, round: int) -> list[float]:
        """The numbers that were given, ascending, without names."""
        return sorted(self.votes.get((question, round), {}).values())

    def moves(self, question: int) -> list[list[int]]:
        """How many moved from each choice (row) of the first vote to each (column) of the second."""
        first, second = self.votes.get((question, 1), {}), self.votes.get((question, 2), {})
        count = len(self.questions[question].choices)
        table = [[0] * count for _ in range(count)]
        for voter in first.keys() & second.keys():
            table[int(first[voter])][int(second[voter])] += 1
        return table

    def present(self) -> int:
        """Phones that were heard lately."""
        now = time.monotonic()
        return sum(now - heard < HERE_S for heard in self.here.values())


def drawn() -> str:
    """A code at random."""
    return "".join(secrets.choice(LETTERS) for _ in range(4))


class Classroom:
    """All rooms of a server, in *folder*. Thread-safe."""

    def __init__(self, folder: Path, letters: Callable[[], str] = drawn) -> None:
        self.folder, self.letters = folder, letters
        self.rooms: dict[str, Room] = {}
        self.lock = threading.RLock()
        self.wrong: dict[str, list[float]] = {}
        self.over: set[str] = set()  # codes of classes that ended while this server ran; they do not count as guesses

    def open(self, teacher: str, questions: Sequence[Question], lesson: str = "", language: str = "") -> Room:
        """A new room. Raises ExplorerError for questions that cannot be asked, or if there are too many rooms."""
        check(questions)
        with self.lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            if len(list(self.folder.glob("*.jsonl"))) >= MOST_ROOMS:
                raise ExplorerError(f"There are {MOST_ROOMS} classes on this server. End one before you open another.")
            code = next(code for _ in range(1000) if not self.path(code := self.letters()).exists())
            room = Room(code, teacher, lesson, tuple(questions), self.path(code), language=language)
            asked = [[one.prompt, list(one.choices), one.link, one.block] for one in questions]
            about = {"teacher": teacher, "lesson": lesson, "language": language, "questions": asked}
            write(room, {"open": {**about, "time": time.time()}})
            self.rooms[code] = room
            self.over.discard(code)
            return room

    def path(self, code: str) -> Path:
        return self.folder / f"{code}.jsonl"

    def room(self, code: str, owner: str = "", address: str = "") -> Room:
        """The room with this *code*. Raises ExplorerError if there is none, and for an *address* that guesses."""
        code = code.strip().upper()
        with self.lock:
            known = len(code) == 4 and set(code) <= set(LETTERS)
            if known and code not in self.rooms and self.path(code).exists():
                try:
                    self.rooms[code] = replay(code, self.path(code))
                except (ValueError, KeyError):  # cut off while it was opened, so nobody knows of it
                    self.path(code).unlink()
            room = self.rooms.get(code)
            if room is not None and owner and (owner == room.teacher or room.voter(owner) in room.here):
                return room
            now = time.monotonic()
            tries = [at for at in self.wrong.get(address, []) if now - at < PERIOD_S]
            if len(tries) >= WRONG:
                raise ExplorerError("Too many wrong codes came from your network. Try again in a minute.")
            if code in self.over:
                raise ExplorerError(f"There is no class {code!r} any more: its teacher has ended it.")
            if room is None:
                self.wrong[address] = [*tries, now]
                raise ExplorerError(
                    f"There is no class {code[:8]!r}. Compare the four letters with those on the screen."
                )
            return room

    def hear(self, room: Room, owner: str) -> None:
        """Record that a phone has polled. Raises ExplorerError if the room is full."""
        voter = room.voter(owner)
        with self.lock:
            if voter not in room.here and len(room.here) >= MOST_VOTERS:
                raise ExplorerError(f"This class is full: {MOST_VOTERS:,} phones have joined.")
            room.here[voter] = time.monotonic()

    def vote(self, room: Room, owner: str, question: int, round: int, choice: float) -> None:
        """The vote of *owner*, in place of an earlier one in the same round. Raises ExplorerError if that vote is not
        open, or there is no such choice."""
        with self.lock:
            if room.ended or room.at != question or ROUND.get(room.phase) != round:
                raise ExplorerError("This vote is closed. Your earlier answer, if there is one, counts.")
            count = len(room.questions[question].choices)
            if count and (choice != int(choice) or not 0 <= choice < count):
                raise ExplorerError(f"Got the choice {choice!r:.40}; there are {count}, counted from 0.")
            self.hear(room, owner)
            voter = room.voter(owner)
            write(room, {"vote": [voter, question, round, choice]})
            room.votes.setdefault((question, round), {})[voter] = choice

    def step(self, room: Room, owner: str, question: int, phase: str, to: str, reveal: Any = None) -> None:
        """Move on from *phase* of *question*. Nothing happens if the room has left that phase, as after a double press.
        Raises ExplorerError for anyone but the teacher, and for a phase that does not follow."""
        own(room, owner)
        with self.lock:
            if (room.at, room.phase) != (question, phase) or room.ended:
                return
            if to not in NEXT[phase] or (to == "next" and question + 1 >= len(room.questions)):
                raise ExplorerError(f"After {phase} comes {' or '.join(NEXT[phase])}, not {to!r:.20}.")
            line = {"step": [question + 1, "vote1"] if to == "next" else [question, to]}
            write(room, {**line, "reveal": reveal} if to == "reveal" else line)
            apply(room, {**line, "reveal": reveal} if to == "reveal" else line)

    def end(self, room: Room, owner: str) -> None:
        """End the class and delete all its data. Raises ExplorerError for anyone but the teacher."""
        own(room, owner)
        with self.lock:
            room.ended = True
            room.changes += 1
            room.file.unlink(missing_ok=True)
            self.rooms.pop(room.code, None)
            self.over.add(room.code)


def own(room: Room, owner: str) -> None:
    if owner != room.teacher:
        raise ExplorerError("Only the browser that opened this class can do that.")


def check(questions: Sequence[Question]) -> None:
    """Raises ExplorerError for questions that cannot be asked."""
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise ExplorerError(f"Got {len(questions)} questions; wanted 1 to {MOST_QUESTIONS}.")
    for one in questions:
        if not one.prompt.strip() or len(one.prompt) > 2000:
            raise ExplorerError("A question is empty or longer than 2,000 characters.")
        if len(one.choices) == 1 or len(one.choices) > MOST_CHOICES:
            raise ExplorerError(f"Got {len(one.choices)} choices; wanted 2 to {MOST_CHOICES}, or none for a number.")
        if any(not text.strip() or len(text) > 500 for text in one.choices):
            raise ExplorerError("A choice is empty or longer than 500 characters.")


def write(room: Room, line: dict[str, Any]) -> None:
    """Append *line* to the room's file in one piece. Raises ExplorerError if it cannot be written."""
    data = (json.dumps(line, ensure_ascii=False) + "\n").encode()
    try:
        file = os.open(room.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(file).st_size
            if os.write(file, data) != len(data):
                os.ftruncate(file, size)  # else the next line would begin in the middle of this one
                raise OSError(28, "No space left on device")
        finally:
            os.close(file)
    except OSError as error:
        raise ExplorerError(f"The class cannot be stored: {error.strerror}. Nothing was changed; try again.") from error


def apply(room: Room, line: dict[str, Any]) -> None:
    """Change the room as *line* says."""
    if "vote" in line:
        voter, question, round, choice = line["vote"]
        room.votes.setdefault((question, round), {})[voter] = choice
        room.here.setdefault(voter, float("-inf"))
    elif "step" in line:
        room.at, room.phase = line["step"]
        room.changes += 1
        if line.get("reveal") is not None:
            room.reveals[room.at] = line["reveal"]


def replay(code: str, file: Path) -> Room:
    """The room, rebuilt from its *file*. A last line that a crash cut off was never acknowledged."""
    lines = file.read_bytes().split(b"\n")
    opened = json.loads(lines[0])["open"]
    questions = tuple(
        Question(prompt, tuple(choices), link, block) for prompt, choices, link, block in opened["questions"]
    )
    room = Room(code, opened["teacher"], opened["lesson"], questions, file, language=opened.get("language", ""))
    for line in lines[1:-1]:
        try:
            apply(room, json.loads(line))
        except ValueError:
            continue
    if lines[-1]:  # so that the next line begins anew
        with file.open("ab") as end:
            end.write(b"\n")
    return room
