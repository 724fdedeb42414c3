"""Classroom: a class that votes before BERT answers. Only this module decides who may do what, and when.

A room has a code of six letters and a list of questions. Its teacher, the browser that opened it, moves it from phase
to phase. Each other browser has one vote for each question and round, and may change it until the vote closes. A code
cannot be guessed, as there are 191 million; if a stranger has it, the teacher closes the door or changes the code.
A room whose teacher's browser asks for nothing for a day is deleted.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path
from typing import Any

from bertexplorer.classroom.room import (
    LETTERS,
    PRESENT_S,
    ROUND,
    ClassQuestion,
    Room,
    append_line,
    apply_line,
    replay,
    write_through,
)
from bertexplorer.errors import ExplorerError

NEXT = {  # phase -> where the teacher may go from there; "next" is the vote on the next question, or a later one
    "lobby": ("vote1", "next"),
    "vote1": ("closed1",),
    "closed1": ("discuss", "reveal", "next"),
    "discuss": ("vote2", "next"),
    "vote2": ("closed2",),
    "closed2": ("reveal", "next"),
    "reveal": ("next",),
}
CODE_LENGTHS = (6, 4)  # letters of a code; those of classes opened by version 0.2 have four
MAX_VOTES = 5000  # in one round; a class has fewer phones, but phones may give away their places
MAX_ROOMS = 500
MAX_OWN_ROOMS = 10
MAX_NETWORK_ROOMS = 30  # opened from one network address, which the teachers of a school may share
MAX_VOTERS = 1000
MAX_QUESTIONS = 50
MAX_CHOICES = 40
MAX_ADDRESSES = 20  # of the server, during one class
MAX_WRONG, WRONG_S = 20, 60.0  # wrong letters beside a number that one network may send within so many seconds
JOINED_S = 180.0  # after its last poll a phone keeps its place in a full class for this long
EXPIRY_S = 24 * 3600.0  # after this long without a request of its teacher's browser, a room is deleted
IDLE_S = 600.0  # and after this long one that nobody uses, if the server is full and another class is opened
ACTIVITY_S = 60.0  # seconds between writes of the teacher's last activity, and between searches for expired rooms


def random_code() -> str:
    """Return a random code."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTHS[0]))


class Classroom:
    """All rooms of a server, in *folder*. Thread-safe."""

    def __init__(
        self, folder: Path, letters: Callable[[], str] = random_code, clock: Callable[[], float] = time.time
    ) -> None:
        self.folder = folder
        self.letters = letters
        self.clock = clock
        self.rooms: dict[str, Room] = {}
        self.lock = threading.RLock()
        self.ended: dict[str, str] = {}  # code -> why the class ended, since this server started
        self.next_search = 0.0  # for expired rooms

    def open(
        self,
        teacher: str,
        questions: Sequence[ClassQuestion],
        lesson: str = "",
        language: str = "",
        lecture: str = "",
        checkpoint: str = "",
        network: str = "",
    ) -> Room:
        """Open a room. *network*: the address of the teacher's network, "" if it is not known. Raises ExplorerError for
        invalid questions, or if there are too many rooms."""
        check_questions(questions)
        origin = sha256(network.encode()).hexdigest()[:16] if network else ""
        with self.lock:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.make_space(teacher, origin)
            code = self.free_code()
            room = Room(code, teacher, lesson, tuple(questions), self.path(code), language=language, lecture=lecture)
            room.checkpoint = checkpoint
            room.clock = self.clock
            room.origin = origin
            rows = [astuple(question) for question in questions]
            about = {"teacher": teacher, "lesson": lesson, "language": language, "lecture": lecture}
            about |= {"checkpoint": checkpoint, "origin": origin}
            append_line(room, {"open": {**about, "questions": rows, "time": self.clock()}})
            self.rooms[code] = room
            self.ended.pop(code, None)
            self.record_activity(room)
            return room

    def make_space(self, teacher: str, origin: str) -> None:
        """Make sure that *teacher* may open one more room from *origin*. Nobody loses a vote by that: only a room that
        nobody uses makes room for another, first one of the origin that has the most. Raises ExplorerError if there is
        no place."""
        self.remove_expired()
        files = list(self.folder.glob("*.jsonl"))
        opened = {file: self.opened_by(file) for file in files}
        own = sorted(file.stem for file in files if opened[file][0] == teacher)
        if len(own) >= MAX_OWN_ROOMS:
            raise ExplorerError(
                f"You have {len(own)} open classes, the most for one browser: {', '.join(own)}. End one, for example "
                f"at learn?class={own[0]}, before you open another."
            )
        of_origin = Counter(origin for _, origin in opened.values() if origin)
        if of_origin[origin] >= MAX_NETWORK_ROOMS:
            files = [file for file in files if opened[file][1] == origin]
            full = f"{of_origin[origin]} classes are open from your network, the most for one. End one of them"
        elif len(files) >= MAX_ROOMS:
            full = f"There are {MAX_ROOMS} classes in use on this server. Try again in a few minutes"
        else:
            return
        unused = [file for file in files if not self.is_used(file)]
        if not unused:
            raise ExplorerError(f"{full}.")
        least = min(unused, key=lambda file: (-of_origin[opened[file][1]], self.last_activity_of(file)))
        self.remove(least.stem, "the server needed its place for another")

    def is_used(self, file: Path) -> bool:
        """Whether the class in *file* has a vote, a phone that polled recently, or a teacher who was here recently."""
        if self.clock() - self.last_activity_of(file) < IDLE_S:
            return True
        room = self.rooms.get(file.stem)
        if room is None:  # since the server started, nobody asked for it
            return b'\n{"vote": ' in file.read_bytes()
        return bool(room.votes) or room.present() > 0

    def free_code(self) -> str:
        """A code that no room has."""
        return next(code for _ in range(1000) if not self.path(code := self.letters()).exists())

    def path(self, code: str) -> Path:
        return self.folder / f"{code}.jsonl"

    def opened_by(self, file: Path) -> tuple[str, str]:
        """The teacher of the room in *file*, and the origin; "" if the server stopped while opening it, or if they are
        not known."""
        if room := self.rooms.get(file.stem):
            return room.teacher, room.origin
        with file.open("rb") as lines:
            try:
                about = json.loads(lines.readline())["open"]
                return str(about["teacher"]), str(about.get("origin", ""))
            except (ValueError, KeyError):
                return "", ""

    def last_activity_of(self, file: Path) -> float:
        """When the teacher's browser last asked for something about the room in *file*."""
        return self.rooms[file.stem].last_activity if file.stem in self.rooms else file.stat().st_mtime

    def record_activity(self, room: Room) -> None:
        """Record that the teacher's browser asked for something."""
        written, room.last_activity = room.last_activity, self.clock()
        if room.last_activity // ACTIVITY_S != written // ACTIVITY_S:
            with suppress(OSError):  # on a disk that cannot be written: it is tried again
                os.utime(room.file, (room.last_activity, room.last_activity))

    def remove_expired(self) -> None:
        """Delete the rooms whose teachers were away for EXPIRY_S, with their votes."""
        now = self.clock()
        if now < self.next_search:
            return
        self.next_search = now + ACTIVITY_S
        for file in self.folder.glob("*.jsonl"):
            if now - self.last_activity_of(file) > EXPIRY_S:
                self.remove(file.stem, "its teacher was away for a day")

    def remove(self, code: str, reason: str) -> None:
        """Delete a room and all its data."""
        if room := self.rooms.pop(code, None):
            room.ended = True
            room.changes += 1
        self.path(code).unlink(missing_ok=True)
        self.ended[code] = reason

    def room(self, code: str, owner: str = "") -> Room:
        """The room with this *code*, for the browser *owner*. Raises ExplorerError if there is none."""
        code = code.strip().upper()
        with self.lock:
            self.remove_expired()
            known = len(code) in CODE_LENGTHS and set(code) <= set(LETTERS)
            if known and code not in self.rooms and self.path(code).exists():
                try:
                    self.rooms[code] = replay(code, self.path(code), self.clock)
                except (ValueError, KeyError):  # the server stopped while opening the room, so nobody has the code
                    self.path(code).unlink()
            if room := self.rooms.get(code):
                if owner == room.teacher:
                    self.record_activity(room)
                return room
            if reason := self.ended.get(code):
                raise ExplorerError(f"There is no class {code!r} any more: {reason}.", code="class")
            advice = "Compare the letters with those on the screen."
            raise ExplorerError(f"There is no class {code[:8]!r}. {advice}", code="class")

    def record_poll(self, room: Room, owner: str) -> None:
        """Record that a phone polled. Raises ExplorerError if the room is full, or its door is closed to new phones."""
        voter, now = room.voter(owner), self.clock()
        with self.lock:
            joined = voter in room.last_polls
            if not joined and not room.has_moved:  # after a change of address, those that were here come as new ones
                self.check_door(room, voter)
            if not joined and len(room.last_polls) >= MAX_VOTERS:
                room.last_polls = {name: at for name, at in room.last_polls.items() if now - at < JOINED_S}
                if len(room.last_polls) >= MAX_VOTERS:
                    raise ExplorerError(
                        f"This class is full: {MAX_VOTERS:,} phones have joined. Wait; a place may become free."
                    )
            room.last_polls[voter] = now

    def check_door(self, room: Room, voter: str) -> None:
        """Raises ExplorerError if the door is closed to *voter*, who has not voted in the class."""
        if not room.door_open and voter not in room.voters:
            raise ExplorerError("The door of this class is closed to further phones. Ask the teacher to open it.")

    def vote(self, room: Room, owner: str, question: int, round: int, choice: float) -> None:
        """Record the vote of *owner*, replacing an earlier one in the same round; on return it is on the disk. Raises
        ExplorerError if that vote is not open, or there is no such choice."""
        with self.lock:
            if room.ended or room.at != question or ROUND.get(room.phase) != round:
                raise ExplorerError("This vote is closed. Your earlier answer, if there is one, counts.")
            count = len(room.questions[question].choices)
            if count and (choice != int(choice) or not 0 <= choice < count):
                raise ExplorerError(f"Got the choice {choice!r:.40}; there are {count}, counted from 0.")
            self.record_poll(room, owner)
            if room.has_moved:
                self.check_door(room, room.voter(owner))
            votes = room.votes.get((question, round), {})
            if len(votes) >= MAX_VOTES and room.voter(owner) not in votes:
                raise ExplorerError(f"There are {MAX_VOTES:,} votes on this question, the most that a class may have.")
            line = {"vote": [room.voter(owner), question, round, choice]}
            append_line(room, line)
            apply_line(room, line)
        write_through(room)  # without the lock: the disk may take its time

    def record_address(self, room: Room, address: str) -> None:
        """Record the *address* at which the teacher's browser reaches the class. Cookies belong to an address, so after
        a change every phone comes as a new one; `rejoin` makes it the one that it was."""
        with self.lock:
            if not room.ended and address not in room.addresses and len(room.addresses) < MAX_ADDRESSES:
                append_line(room, {"address": address})
                apply_line(room, {"address": address})

    def rejoin(self, room: Room, owner: str, number: int, letters: str, network: str = "") -> None:
        """Make the new phone *owner* the one that has *number* in the class, so that its votes count once. *letters*:
        what stood beside the number, which nobody else has seen. *network*: where the phone is. Raises ExplorerError if
        there is no such phone, if that one is still here, or if *owner* has voted."""
        with self.lock:
            voter = room.voter(owner)
            if not room.has_moved:
                raise ExplorerError("The address of this class has not changed, so your phone is the one that it was.")
            earlier = next((name for name, one in room.voters.items() if one == number), "")
            if not earlier or earlier == voter:
                raise ExplorerError(f"Nobody in this class has the number {number}. It stood below your last vote.")
            if voter in room.voters:
                raise ExplorerError("This phone has voted at the new address already.")
            self.check_letters(room, earlier, letters, network)
            if self.clock() - room.last_polls.get(earlier, float("-inf")) < PRESENT_S:
                raise ExplorerError(f"The phone with the number {number} is still here. Look at yours again, or wait.")
            append_line(room, {"rejoined": [voter, earlier]})
            apply_line(room, {"rejoined": [voter, earlier]})
            room.last_polls[earlier] = self.clock()

    def check_letters(self, room: Room, voter: str, letters: str, network: str) -> None:
        """Raises ExplorerError unless *letters* are those of *voter*, or if many wrong ones came from *network*."""
        now = self.clock()
        wrong = [at for at in room.wrong_letters.get(network, []) if now - at < WRONG_S]
        if len(wrong) >= MAX_WRONG:
            raise ExplorerError("Many wrong letters were typed. Wait a minute, then try again.")
        if not secrets.compare_digest(letters.strip().upper().encode(), room.letters(voter).encode()):
            room.wrong_letters[network] = [*wrong, now]
            while len(room.wrong_letters) > MAX_VOTERS:
                del room.wrong_letters[next(iter(room.wrong_letters))]
            raise ExplorerError("The letters beside the number are others. Both stood below your last vote: 7-ABCD.")

    def set_door(self, room: Room, owner: str, is_open: bool) -> None:
        """Open or close the door to phones that have not joined. Raises ExplorerError for anyone but the teacher."""
        require_teacher(room, owner)
        with self.lock:
            if room.door_open != is_open and not room.ended:
                append_line(room, {"door": is_open})
                apply_line(room, {"door": is_open})

    def change_code(self, room: Room, owner: str) -> None:
        """Give the class another code, which its phones must enter. The votes of an open round are deleted: strangers
        may have cast some. Raises ExplorerError for anyone but the teacher."""
        require_teacher(room, owner)
        with self.lock:
            if room.ended:
                return
            old, line = room.code, {"moved": room.salt or room.code}
            append_line(room, line)
            code = self.free_code()
            room.file = room.file.rename(self.path(code))
            apply_line(room, line)
            room.code = code
            self.rooms[code] = self.rooms.pop(old)
            self.ended[old] = "its code was changed; the new one is on the screen"
            self.ended.pop(code, None)

    def step(
        self, room: Room, owner: str, question: int, phase: str, to: str, reveal: Any = None, at: int | None = None
    ) -> None:
        """Move on from *phase* of *question*. Do nothing if the room has already left that phase, as after a double
        press. *at*: the question that "next" goes to, instead of the one after this; those between are not asked.
        Raises ExplorerError for anyone but the teacher, and for a phase or a question that does not follow."""
        require_teacher(room, owner)
        with self.lock:
            if (room.at, room.phase) != (question, phase) or room.ended:
                return
            following = question + 1 if at is None else at
            if to not in NEXT[phase] or (to == "next" and following >= len(room.questions)):
                raise ExplorerError(f"After {phase} comes {' or '.join(NEXT[phase])}, not {to!r:.20}.")
            if following <= question:
                raise ExplorerError(f"at: got {following}; wanted a question after {question}, which is asked now.")
            line = {"step": [following, "vote1"] if to == "next" else [question, to]}
            append_line(room, {**line, "reveal": reveal} if to == "reveal" else line)
            apply_line(room, {**line, "reveal": reveal} if to == "reveal" else line)

    def end(self, room: Room, owner: str) -> None:
        """End the class and delete all its data. Raises ExplorerError for anyone but the teacher."""
        require_teacher(room, owner)
        with self.lock:
            self.remove(room.code, "its teacher ended it")


def require_teacher(room: Room, owner: str) -> None:
    if owner != room.teacher:
        raise ExplorerError("Only the browser that opened this class can do that.")


def check_questions(questions: Sequence[ClassQuestion]) -> None:
    """Raises ExplorerError for invalid questions."""
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise ExplorerError(f"Got {len(questions)} questions; wanted 1 to {MAX_QUESTIONS}.")
    for question in questions:
        if not question.prompt.strip() or len(question.prompt) > 2000:
            raise ExplorerError("A question is empty or longer than 2,000 characters.")
        if len(question.choices) == 1 or len(question.choices) > MAX_CHOICES:
            raise ExplorerError(
                f"Got {len(question.choices)} choices; wanted 2 to {MAX_CHOICES}, or none for a number."
            )
        if any(not text.strip() or len(text) > 500 for text in question.choices):
            raise ExplorerError("A choice is empty or longer than 500 characters.")
