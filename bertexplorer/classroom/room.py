"""Room: one class, with its questions and votes, and the file that keeps them.

Everything is written to the file before it is acknowledged, and votes are on the disk by then, so a restarted server or
machine continues where it was. The file's time of change is when the teacher's browser last asked for something, or a
later vote.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which are read as 1 and 0
PRESENT_S = 15.0  # a phone counts as present for this long after its last poll
MIN_POLL_MS, POLL_MS_PER_PHONE = 1500, 8  # 125 polls a second of a large class take about a fifth of a core
ROUND = {"vote1": 1, "vote2": 2}  # phase -> the round in which it takes votes


@dataclass(frozen=True)
class ClassQuestion:
    """A question for the class; it asks for a number if there are no *choices*. *block*: the block of the lesson that
    has the answer. *lesson*: the slug of that lesson, if it is not the class's."""

    prompt: str  # Markdown
    choices: tuple[str, ...]  # Markdown
    link: str = ""  # of the view that the reveal runs
    block: str = ""
    lesson: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ClassQuestion:
        """The question whose dataclasses.asdict is *fields*, also after a way through JSON."""
        return cls(**{**fields, "choices": tuple(fields["choices"])})


@dataclass
class Room:
    """One class. *votes*: (question, round) -> voter -> choice; questions count from 0, rounds from 1."""

    code: str
    teacher: str
    lesson: str
    questions: tuple[ClassQuestion, ...]
    file: Path
    at: int = 0  # index of the current question
    phase: str = "lobby"
    votes: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)
    language: str = ""  # of the questions; "" for English
    lecture: str = ""  # the slug of the lecture that asks them
    checkpoint: str = ""  # that answers; "" for the page's
    reveals: dict[int, dict[str, Any]] = field(default_factory=dict)  # question -> the checkpoint's answer
    changes: int = 0  # changes that phones see: steps and reveals
    last_polls: dict[str, float] = field(default_factory=dict)  # voter -> time of the phone's last poll
    skipped: set[int] = field(default_factory=set)  # questions whose answer the class was not shown
    voters: dict[str, int] = field(default_factory=dict)  # who voted on any question -> their number, from 1
    rejoined: dict[str, str] = field(default_factory=dict)  # voter -> who they were at an earlier address of the server
    addresses: list[str] = field(default_factory=list)  # of the class, as its teacher's browser reached them, in order
    door_open: bool = True  # whether further phones may join
    salt: str = ""  # of the names of voters: the first code of the class
    origin: str = ""  # a hash of the address of the teacher's network; "" if it is not known
    last_activity: float = 0.0  # when the teacher's browser last asked for anything
    wrong_letters: dict[str, list[float]] = field(default_factory=dict)  # network -> when it sent wrong ones
    clock: Callable[[], float] = time.time
    ended: bool = False

    def voter(self, owner: str) -> str:
        """A name for the browser *owner* that is valid in this room only."""
        name = sha256(f"{self.salt or self.code} {self.teacher} {owner}".encode()).hexdigest()[:16]
        return self.rejoined.get(name, name)

    def letters(self, voter: str) -> str:
        """What makes a phone *voter* again at another address, beside its number: four letters that only it was shown.
        The name of a voter never leaves the server."""
        digest = sha256(f"letters of {voter}".encode()).digest()
        return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:4])

    @property
    def has_moved(self) -> bool:
        """Whether the server has another address than when the first vote was cast, so that phones come as new ones."""
        return len(self.addresses) > 1 and bool(self.voters)

    @property
    def poll_ms(self) -> int:
        """How often a phone should poll, in milliseconds: less often in a large class."""
        return max(MIN_POLL_MS, POLL_MS_PER_PHONE * len(self.last_polls))

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
        now = self.clock()
        return sum(now - heard < PRESENT_S for heard in self.last_polls.values())


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


def write_through(room: Room) -> None:
    """Wait until what was appended to the room's file is on the disk. Raises ExplorerError if the disk fails."""
    try:
        file = os.open(room.file, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
    except FileNotFoundError:
        return  # the class has ended meanwhile
    except OSError as error:
        raise ExplorerError(f"The vote may be lost if the server stops now: {error.strerror}. Vote again.") from error


def apply_line(room: Room, line: dict[str, Any]) -> None:
    """Apply a *line* of the room's file to the room."""
    if "vote" in line:
        voter, question, round, choice = line["vote"]
        room.votes.setdefault((question, round), {})[voter] = choice
        room.last_polls.setdefault(voter, float("-inf"))
        room.voters.setdefault(voter, len(room.voters) + 1)
    elif "step" in line:
        following, phase = line["step"]
        if following != room.at:
            room.skipped.update(range(room.at + (room.phase == "reveal"), following))
        room.at, room.phase = following, phase
        room.changes += 1
        if line.get("reveal") is not None:
            room.reveals[room.at] = line["reveal"]
    elif "rejoined" in line:
        voter, earlier = line["rejoined"]
        room.rejoined[voter] = earlier
        room.last_polls.pop(voter, None)
    elif "address" in line:
        room.addresses = [*([] if not room.voters else room.addresses), line["address"]]
        room.changes += 1
    elif "door" in line:
        room.door_open = line["door"]
    elif "moved" in line:
        room.salt = line["moved"]
        room.last_polls.clear()
        room.voters.clear()
        room.rejoined.clear()
        room.addresses = room.addresses[-1:]
        room.votes.pop((room.at, ROUND.get(room.phase, 0)), None)
        room.changes += 1


def replay(code: str, file: Path, clock: Callable[[], float]) -> Room:
    """Rebuild a room from its *file*. A last line that a crash cut off was never acknowledged."""
    lines = file.read_bytes().split(b"\n")
    opened = json.loads(lines[0])["open"]
    questions = tuple(ClassQuestion(prompt, tuple(choices), *more) for prompt, choices, *more in opened["questions"])
    room = Room(code, opened["teacher"], opened["lesson"], questions, file)
    room.language = opened.get("language", "")
    room.lecture = opened.get("lecture", "")
    room.checkpoint = opened.get("checkpoint", "")
    room.origin = opened.get("origin", "")
    room.last_activity, room.clock = file.stat().st_mtime, clock
    for line in lines[1:-1]:
        try:
            apply_line(room, json.loads(line))
        except ValueError:
            continue
    if lines[-1]:  # so that the next entry starts on a new line
        with file.open("ab") as end:
            end.write(b"\n")
    return room
