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
PRESENT_S = 15.0  # a phone counts as present for this long after its last poll
MOST_WRONG_CODES, PERIOD_S = 30, 60.0  # wrong codes that one address may send in this time


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
    at: int = 0  # index of the current question
    phase: str = "lobby"
    votes: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)
    language: str = ""  # of the questions; "" for English
    reveals: dict[int, dict[str, Any]] = field(default_factory=dict)  # question -> the checkpoint's answer
    changes: int = 0  # changes that phones see: steps and reveals
    last_polls: dict[str, float] = field(default_factory=dict)  # voter -> time of the phone's last poll
    ended: bool = False

    def voter(self, owner: str) -> str:
        """A name for the browser *owner* that is valid in this room only."""
        return sha256(f"{self.code} {self.teacher} {owner}".encode()).hexdigest()[:16]

    def counts(self, question: int, round: int) -> list[int]:
        """Votes for each choice."""
        tally = Counter(self.votes.get((question, round), {}).values())
        return [tally[i] for i in range(len(self.questions[question].choices))]

    def numbers(self, question: int, round: int) -> list[float]:
        """The submitted numbers in ascending order, without names."""
        return sorted(self.votes.get((question, round), {}).values())

    def transitions(self, question: int) -> list[list[int]]:
        """The number of voters who moved from each choice (row) of the first vote to each (column) of the second."""
        first, second = self.votes.get((question, 1), {}), self.votes.get((question, 2), {})
        count = len(self.questions[question].choices)
        table = [[0] * count for _ in range(count)]
        for voter in first.keys() & second.keys():
            table[int(first[voter])][int(second[voter])] += 1
        return table

    def present(self) -> int:
        """The number of phones that polled recently."""
        now = time.monotonic()
        return sum(now - heard < PRESENT_S for heard in self.last_polls.values())


def random_code() -> str:
    """Return a random code."""
    return "".join(secrets.choice(LETTERS) for _ in range(4))


class Classroom:
    """All rooms of a server, in *folder*. Thread-safe."""

    def __init__(self, folder: Path, letters: Callable[[], str] = random_code) -> None:
        self.folder, self.letters = folder, letters
        self.rooms: dict[str, Room] = {}
        self.lock = threading.RLock()
        self.wrong_codes: dict[str, list[float]] = {}
        self.ended_codes: set[str] = set()  # of classes that ended while this server ran; they are not guesses

    def open(self, teacher: str, questions: Sequence[Question], lesson: str = "", language: str = "") -> Room:
        """Open a room. Raises ExplorerError for invalid questions, or if there are too many rooms."""
        check_questions(questions)
        with self.lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            if len(list(self.folder.glob("*.jsonl"))) >= MOST_ROOMS:
                raise ExplorerError(f"There are {MOST_ROOMS} classes on this server. End one before you open another.")
            code = next(code for _ in range(1000) if not self.path(code := self.letters()).exists())
            room = Room(code, teacher, lesson, tuple(questions), self.path(code), language=language)
            rows = [[question.prompt, list(question.choices), question.link, question.block] for question in questions]
            about = {"teacher": teacher, "lesson": lesson, "language": language, "questions": rows}
            append_line(room, {"open": {**about, "time": time.time()}})
            self.rooms[code] = room
            self.ended_codes.discard(code)
            return room

    def path(self, code: str) -> Path:
        return self.folder / f"{code}.jsonl"

    def room(self, code: str, owner: str = "", address: str = "") -> Room:
        """The room with this *code*. Raises ExplorerError if there is none, and if *address* sent too many
        wrong codes."""
        code = code.strip().upper()
        with self.lock:
            known = len(code) == 4 and set(code) <= set(LETTERS)
            if known and code not in self.rooms and self.path(code).exists():
                try:
                    self.rooms[code] = replay(code, self.path(code))
                except (ValueError, KeyError):  # the server stopped while opening the room, so nobody has the code
                    self.path(code).unlink()
            room = self.rooms.get(code)
            if room is not None and owner and (owner == room.teacher or room.voter(owner) in room.last_polls):
                return room
            now = time.monotonic()
            tries = [at for at in self.wrong_codes.get(address, []) if now - at < PERIOD_S]
            if len(tries) >= MOST_WRONG_CODES:
                raise ExplorerError("Too many wrong codes came from your network. Try again in a minute.")
            if code in self.ended_codes:
                raise ExplorerError(f"There is no class {code!r} any more: its teacher ended it.")
            if room is None:
                self.wrong_codes[address] = [*tries, now]
                raise ExplorerError(
                    f"There is no class {code[:8]!r}. Compare the four letters with those on the screen."
                )
            return room

    def record_poll(self, room: Room, owner: str) -> None:
        """Record that a phone polled. Raises ExplorerError if the room is full."""
        voter = room.voter(owner)
        with self.lock:
            if voter not in room.last_polls and len(room.last_polls) >= MOST_VOTERS:
                raise ExplorerError(f"This class is full: {MOST_VOTERS:,} phones have joined.")
            room.last_polls[voter] = time.monotonic()

    def vote(self, room: Room, owner: str, question: int, round: int, choice: float) -> None:
        """Record the vote of *owner*, replacing an earlier one in the same round. Raises ExplorerError if that vote is
        not open, or there is no such choice."""
        with self.lock:
            if room.ended or room.at != question or ROUND.get(room.phase) != round:
                raise ExplorerError("This vote is closed. Your earlier answer, if there is one, counts.")
            count = len(room.questions[question].choices)
            if count and (choice != int(choice) or not 0 <= choice < count):
                raise ExplorerError(f"Got the choice {choice!r:.40}; there are {count}, counted from 0.")
            self.record_poll(room, owner)
            voter = room.voter(owner)
            append_line(room, {"vote": [voter, question, round, choice]})
            room.votes.setdefault((question, round), {})[voter] = choice

    def step(self, room: Room, owner: str, question: int, phase: str, to: str, reveal: Any = None) -> None:
        """Move on from *phase* of *question*. Do nothing if the room has already left that phase, as after a double
        press. Raises ExplorerError for anyone but the teacher, and for a phase that does not follow."""
        require_teacher(room, owner)
        with self.lock:
            if (room.at, room.phase) != (question, phase) or room.ended:
                return
            if to not in NEXT[phase] or (to == "next" and question + 1 >= len(room.questions)):
                raise ExplorerError(f"After {phase} comes {' or '.join(NEXT[phase])}, not {to!r:.20}.")
            line = {"step": [question + 1, "vote1"] if to == "next" else [question, to]}
            append_line(room, {**line, "reveal": reveal} if to == "reveal" else line)
            apply_line(room, {**line, "reveal": reveal} if to == "reveal" else line)

    def end(self, room: Room, owner: str) -> None:
        """End the class and delete all its data. Raises ExplorerError for anyone but the teacher."""
        require_teacher(room, owner)
        with self.lock:
            room.ended = True
            room.changes += 1
            room.file.unlink(missing_ok=True)
            self.rooms.pop(room.code, None)
            self.ended_codes.add(room.code)


def require_teacher(room: Room, owner: str) -> None:
    if owner != room.teacher:
        raise ExplorerError("Only the browser that opened this class can do that.")


def check_questions(questions: Sequence[Question]) -> None:
    """Raises ExplorerError for invalid questions."""
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise ExplorerError(f"Got {len(questions)} questions; wanted 1 to {MOST_QUESTIONS}.")
    for question in questions:
        if not question.prompt.strip() or len(question.prompt) > 2000:
            raise ExplorerError("A question is empty or longer than 2,000 characters.")
        if len(question.choices) == 1 or len(question.choices) > MOST_CHOICES:
            raise ExplorerError(
                f"Got {len(question.choices)} choices; wanted 2 to {MOST_CHOICES}, or none for a number."
            )
        if any(not text.strip() or len(text) > 500 for text in question.choices):
            raise ExplorerError("A choice is empty or longer than 500 characters.")


def append_line(room: Room, line: dict[str, Any]) -> None:
    """Append *line* to the room's file in one piece. Raises ExplorerError if it cannot be written."""
    data = (json.dumps(line, ensure_ascii=False) + "\n").encode()
    try:
        file = os.open(room.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            size = os.fstat(file).st_size
            if os.write(file, data) != len(data):
                os.ftruncate(file, size)  # otherwise the next line would start in the middle of this one
                raise OSError(28, "No space left on device")
        finally:
            os.close(file)
    except OSError as error:
        raise ExplorerError(f"The class cannot be stored: {error.strerror}. Nothing was changed; try again.") from error


def apply_line(room: Room, line: dict[str, Any]) -> None:
    """Apply a *line* of the room's file to the room."""
    if "vote" in line:
        voter, question, round, choice = line["vote"]
        room.votes.setdefault((question, round), {})[voter] = choice
        room.last_polls.setdefault(voter, float("-inf"))
    elif "step" in line:
        room.at, room.phase = line["step"]
        room.changes += 1
        if line.get("reveal") is not None:
            room.reveals[room.at] = line["reveal"]


def replay(code: str, file: Path) -> Room:
    """Rebuild a room from its *file*. A last line that a crash cut off was never acknowledged."""
    lines = file.read_bytes().split(b"\n")
    opened = json.loads(lines[0])["open"]
    questions = tuple(
        Question(prompt, tuple(choices), link, block) for prompt, choices, link, block in opened["questions"]
    )
    room = Room(code, opened["teacher"], opened["lesson"], questions, file, language=opened.get("language", ""))
    for line in lines[1:-1]:
        try:
            apply_line(room, json.loads(line))
        except ValueError:
            continue
    if lines[-1]:  # so that the next entry starts on a new line
        with file.open("ab") as end:
            end.write(b"\n")
    return room
