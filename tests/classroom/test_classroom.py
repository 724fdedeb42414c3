"""A class: permissions in each phase, and no loss of acknowledged votes."""

import json
import random

import pytest

from bertexplorer.classroom import room as one_room
from bertexplorer.classroom.classroom import MAX_ADDRESSES, MAX_WRONG, NEXT, ROUND, WRONG_S, Classroom
from bertexplorer.classroom.room import ClassQuestion
from bertexplorer.classroom.votes import vote_table
from bertexplorer.errors import ExplorerError

QUESTIONS = (
    ClassQuestion("Which?", ("a", "b", "c")),
    ClassQuestion("How many?", ()),
    ClassQuestion("And now?", ("x", "y")),
)
TEACHER = "teacher"


def opened(rooms, phase="lobby"):
    """A room in *phase* of its first question."""
    room = rooms.open(TEACHER, QUESTIONS)
    for to in ("vote1", "closed1", "discuss", "vote2", "closed2", "reveal"):
        if room.phase == phase:
            break
        rooms.step(room, TEACHER, 0, room.phase, to, {})
    return room


def again(rooms):
    """Another server on the same folder."""
    return Classroom(rooms.folder, clock=rooms.clock)


def test_a_question_passes_through_all_phases(rooms):
    room = opened(rooms, "vote1")
    for phone, choice in (("p", 0), ("q", 0), ("r", 2), ("p", 1)):
        rooms.vote(room, phone, 0, 1, choice)
    assert room.counts(0, 1) == [1, 1, 1]
    for to in ("closed1", "discuss", "vote2"):
        rooms.step(room, TEACHER, 0, room.phase, to)
    rooms.vote(room, "p", 0, 2, 1)
    rooms.vote(room, "q", 0, 2, 1)
    rooms.vote(room, "late", 0, 2, 2)
    rooms.step(room, TEACHER, 0, "vote2", "closed2")
    rooms.step(room, TEACHER, 0, "closed2", "reveal", {"right": [1]})
    assert room.counts(0, 2) == [0, 2, 1]
    assert room.transitions(0) == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]
    rooms.step(room, TEACHER, 0, "reveal", "next")
    assert (room.at, room.phase) == (1, "vote1")
    rooms.vote(room, "p", 1, 1, 0.25)
    assert room.numbers(1, 1) == [0.25]


def test_a_restarted_server_knows_the_language(rooms):
    room = rooms.open(TEACHER, QUESTIONS, "welcome", "de", checkpoint="tiny")
    assert again(rooms).room(room.code).language == "de" and again(rooms).room(room.code).checkpoint == "tiny"
    older = room.file.read_text("utf-8").replace('"language": "de", ', "")  # as classes were written before
    room.file.write_text(older, "utf-8")
    assert again(rooms).room(room.code).language == ""


def test_a_lecture_skips_questions_and_its_table_leaves_them_out(rooms):
    questions = [ClassQuestion(f"Question {i}?", ("a", "b"), lesson="pieces", block="guess") for i in range(4)]
    room = rooms.open(TEACHER, questions, lecture="masks")
    rooms.step(room, TEACHER, 0, "lobby", "next", at=1)
    rooms.vote(room, "p", 1, 1, 0)
    rooms.step(room, TEACHER, 1, "vote1", "closed1")
    rooms.step(room, TEACHER, 1, "closed1", "reveal", {"right": [0]})
    for at in (1, 0, 4):
        with pytest.raises(ExplorerError, match=f"at: got {at}|After reveal comes next"):
            rooms.step(room, TEACHER, 1, "reveal", "next", at=at)
    rooms.step(room, TEACHER, 1, "reveal", "next", at=3)
    restarted = again(rooms).room(room.code)
    for kept in (room, restarted):
        assert (kept.at, kept.phase, kept.lecture, kept.skipped) == (3, "vote1", "masks", {0, 2})
        assert kept.questions == tuple(questions)
        assert {row["text"] for row in vote_table(kept)} == {"Question 1?"}


def test_a_class_that_an_earlier_version_opened_continues(rooms):
    room = rooms.open(TEACHER, QUESTIONS, "welcome")
    opening, *rest = room.file.read_text("utf-8").split("\n")
    older = json.loads(opening)
    older["open"]["questions"] = [row[:4] for row in older["open"]["questions"]]
    del older["open"]["lecture"]
    room.file.write_text("\n".join([json.dumps(older), *rest]), "utf-8")
    assert again(rooms).room(room.code).questions == tuple(QUESTIONS)


def moved_class(rooms, clock):
    """A class that has voted, whose server then gets another address: the phones p and q are away, n is new."""
    room = opened(rooms)
    rooms.record_address(room, "http://10.0.0.1/j/X")
    rooms.step(room, TEACHER, 0, "lobby", "vote1")
    rooms.vote(room, "p", 0, 1, 0)
    rooms.vote(room, "q", 0, 1, 1)
    clock.later = 60
    rooms.record_address(room, "http://192.168.0.7/j/X")
    rooms.record_poll(room, "n")
    return room


def letters(room, number):
    """What the phone with this number was shown beside it."""
    voter = next((voter for voter, one in room.voters.items() if one == number), "nobody")
    return room.letters(voter)


def test_a_phone_keeps_its_vote_when_the_address_changes(rooms, clock):
    room = moved_class(rooms, clock)
    assert room.has_moved and room.voters[room.voter("p")] == 1 and room.voters[room.voter("q")] == 2
    rooms.rejoin(room, "n", 2, letters(room, 2))
    rooms.vote(room, "n", 0, 1, 2)  # changes the vote of q instead of adding one
    for kept in (room, again(rooms).room(room.code)):
        assert kept.counts(0, 1) == [1, 0, 1] and kept.voter("n") == kept.voter("q") and kept.has_moved
        assert len(kept.voters) == 2
    rooms.change_code(room, TEACHER)
    assert not room.has_moved and not room.rejoined


def test_after_a_change_of_address_the_door_lets_voters_in_and_nobody_else(rooms, clock):
    room = moved_class(rooms, clock)
    rooms.set_door(room, TEACHER, False)
    rooms.record_poll(room, "late")  # it may be one of those that were here
    with pytest.raises(ExplorerError, match="The door of this class is closed"):
        rooms.vote(room, "late", 0, 1, 0)
    rooms.rejoin(room, "late", 2, letters(room, 2))
    rooms.vote(room, "late", 0, 1, 2)
    assert room.counts(0, 1) == [1, 0, 1]


def test_a_number_is_given_to_nobody_else(rooms, clock):
    room = moved_class(rooms, clock)
    rooms.rejoin(room, "n", 2, letters(room, 2))
    rooms.record_poll(room, "m")
    with pytest.raises(ExplorerError, match="The phone with the number 2 is still here."):
        rooms.rejoin(room, "m", 2, letters(room, 2))
    room = moved_class(rooms, clock)
    rooms.record_poll(room, "p")  # still here, at the old address
    with pytest.raises(ExplorerError, match="The phone with the number 1 is still here."):
        rooms.rejoin(room, "n", 1, letters(room, 1))
    with pytest.raises(ExplorerError, match="Nobody in this class has the number 3."):
        rooms.rejoin(room, "n", 3, letters(room, 3))
    rooms.vote(room, "n", 0, 1, 2)
    with pytest.raises(ExplorerError, match="This phone has voted at the new address already."):
        rooms.rejoin(room, "n", 2, letters(room, 2))
    same = opened(rooms, "vote1")
    rooms.record_address(same, "http://10.0.0.1/j/Y")
    with pytest.raises(ExplorerError, match="The address of this class has not changed"):
        rooms.rejoin(same, "n", 1, letters(same, 1))


def test_a_number_without_its_letters_is_no_phone(rooms, clock):
    """Numbers are small and can be guessed: the vote of a phone that is away stays its own."""
    room = moved_class(rooms, clock)
    rooms.set_door(room, TEACHER, False)
    own = letters(room, 2)
    assert len(own) == 4 and own != letters(room, 1)
    for guess in ("", "ABCD", letters(room, 1)):
        with pytest.raises(ExplorerError, match="The letters beside the number are others"):
            rooms.rejoin(room, "stranger", 2, guess)
    with pytest.raises(ExplorerError, match="The door of this class is closed"):
        rooms.vote(room, "stranger", 0, 1, 0)
    assert room.voter("stranger") not in room.voters
    rooms.rejoin(room, "n", 2, f" {own.lower()} ")
    assert letters(again(rooms).room(room.code), 2) == own


def test_letters_are_guessed_a_few_times_a_minute_only(rooms, clock):
    room = moved_class(rooms, clock)
    for guess in range(100):
        with pytest.raises(ExplorerError, match="The letters beside" if guess < MAX_WRONG else "Many wrong letters"):
            rooms.rejoin(room, f"program {guess}", 2, "ABCD", "192.0.2.1")
    rooms.rejoin(room, "n", 2, letters(room, 2), "192.0.2.2")
    clock.later += WRONG_S
    rooms.rejoin(room, "m", 1, letters(room, 1), "192.0.2.1")


def test_a_class_has_a_limit_of_addresses(rooms, clock):
    room = moved_class(rooms, clock)
    for number in range(50):
        rooms.record_address(room, f"http://10.0.1.{number}/j/X")
    assert len(room.addresses) == len(again(rooms).room(room.code).addresses) == MAX_ADDRESSES


def test_an_address_before_the_first_vote_is_no_change(rooms):
    room = opened(rooms)
    for address in ("http://10.0.0.1/j/X", "http://10.0.0.2/j/X"):
        rooms.record_address(room, address)
    rooms.step(room, TEACHER, 0, "lobby", "vote1")
    rooms.vote(room, "p", 0, 1, 0)
    assert not room.has_moved


@pytest.mark.parametrize("phase", NEXT)
def test_a_room_moves_only_to_a_phase_that_follows(rooms, phase):
    room = opened(rooms, phase)
    for to in {*NEXT, "next", "", "ended"} - set(NEXT[phase]):
        with pytest.raises(ExplorerError, match="After"):
            rooms.step(room, TEACHER, 0, phase, to)
    assert room.phase == phase


def test_a_double_press_and_an_old_page_do_nothing(rooms):
    room = opened(rooms)
    rooms.step(room, TEACHER, 0, "lobby", "vote1")
    rooms.step(room, TEACHER, 0, "lobby", "vote1")
    rooms.step(room, TEACHER, 1, "vote1", "closed1")
    assert (room.at, room.phase) == (0, "vote1")


def test_only_the_teacher_moves_and_ends_a_class(rooms):
    room = opened(rooms)
    for act in (lambda: rooms.step(room, "p", 0, "lobby", "vote1"), lambda: rooms.end(room, "p")):
        with pytest.raises(ExplorerError, match="Only the browser that opened"):
            act()
    assert room.file.exists()


@pytest.mark.parametrize("phase", [phase for phase in NEXT if phase not in ROUND])
def test_votes_are_accepted_only_while_a_vote_is_open(rooms, phase):
    room = opened(rooms, phase)
    for round in (1, 2):
        with pytest.raises(ExplorerError, match="closed"):
            rooms.vote(room, "p", 0, round, 0)
    assert room.counts(0, 1) == [0, 0, 0]


@pytest.mark.parametrize("given", [(1, 1, 0), (0, 2, 0), (0, 1, 3), (0, 1, -1), (0, 1, 0.5)])
def test_invalid_votes_are_rejected(rooms, given):
    room = opened(rooms, "vote1")
    with pytest.raises(ExplorerError):
        rooms.vote(room, "p", *given)
    assert not room.votes


def test_acknowledged_votes_survive_a_crash_at_any_byte(rooms):
    room = opened(rooms, "vote1")
    lines = [room.file.read_bytes()]
    for i in range(20):
        rooms.vote(room, f"p{i % 7}", 0, 1, i % 3)
        lines.append(room.file.read_bytes())
    last_line, expected = lines[-1], {}
    for acknowledged, before in zip(lines[1:], lines, strict=False):
        voter, question, round, choice = json.loads(acknowledged[len(before) :])["vote"]
        expected[voter] = choice
        for end in (
            len(acknowledged),
            min(len(last_line), len(acknowledged) + 9),
        ):  # complete, and truncated within the next line
            room.file.write_bytes(last_line[:end])
            restored = again(rooms).room(room.code)
            assert restored.votes[(0, 1)] == expected and restored.phase == "vote1"
        more = again(rooms)
        more.vote(more.room(room.code), "after", 0, 1, 2)
        assert len(again(rooms).room(room.code).votes[(0, 1)]) == len(expected) + 1


def test_a_partly_written_room_does_not_exist(rooms):
    room = opened(rooms)
    room.file.write_bytes(room.file.read_bytes()[:40])
    with pytest.raises(ExplorerError, match="There is no class"):
        again(rooms).room(room.code)
    assert not list(rooms.folder.iterdir())


def test_a_full_disk_is_reported_and_the_vote_does_not_count(rooms, monkeypatch):
    room = opened(rooms, "vote1")
    monkeypatch.setattr(one_room.os, "write", lambda file, data: 3)
    with pytest.raises(ExplorerError, match=r"cannot be stored: No space left.*try again"):
        rooms.vote(room, "p", 0, 1, 0)
    assert not room.votes


def test_a_partial_write_does_not_corrupt_later_votes(rooms, monkeypatch):
    room, real_write = opened(rooms, "vote1"), one_room.os.write
    with monkeypatch.context() as patch:
        patch.setattr(one_room.os, "write", lambda file, data: real_write(file, data[:9]))
        with pytest.raises(ExplorerError, match="No space left"):
            rooms.vote(room, "p", 0, 1, 0)
    rooms.vote(room, "q", 0, 1, 2)
    assert again(rooms).room(room.code).counts(0, 1) == [0, 0, 1]


@pytest.mark.parametrize(
    "code", ["", "ABC", "ABCDE", "ABCDEFG", "../x", "AB/C", "IIII", "ÄÖÜß", "A\0BC", "....", "AAAA\n/"]
)
def test_invalid_codes_are_rejected(rooms, code):
    rooms.open(TEACHER, QUESTIONS)
    with pytest.raises(ExplorerError, match="There is no class"):
        rooms.room(code)


def test_an_ended_class_leaves_no_data(rooms):
    room = opened(rooms, "vote1")
    rooms.vote(room, "p", 0, 1, 0)
    rooms.end(room, TEACHER)
    assert not list(rooms.folder.iterdir())
    with pytest.raises(ExplorerError, match="closed"):
        rooms.vote(room, "p", 0, 1, 1)
    with pytest.raises(ExplorerError, match="There is no class"):
        rooms.room(room.code, "p")


def test_the_file_identifies_nobody(rooms):
    room = opened(rooms, "vote1")
    rooms.vote(room, "0123456789abcdef", 0, 1, 0)
    assert b"0123456789abcdef" not in room.file.read_bytes()
    assert room.voter("p") != rooms.open(TEACHER, QUESTIONS).voter("p")


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ((), "0 questions"),
        ((ClassQuestion(" ", ()),), "empty"),
        ((ClassQuestion("x", ("a",)),), "Got 1 choices"),
        ((ClassQuestion("x", ("a", " ")),), "A choice is empty"),
        ((ClassQuestion("x", tuple(map(str, range(41)))),), "Got 41 choices"),
        ((ClassQuestion("x" * 2001, ()),), "longer than 2,000"),
    ],
)
def test_invalid_questions_are_rejected(rooms, questions, message):
    with pytest.raises(ExplorerError, match=message):
        rooms.open(TEACHER, questions)


@pytest.mark.parametrize("seed", range(200))
def test_random_sequences_of_joins_votes_presses_and_restarts(tmp_path, seed):
    """Compared with separate bookkeeping: the counts are right, no transition is skipped, no vote counts twice."""
    dice = random.Random(seed)
    rooms = Classroom(tmp_path)
    code = rooms.open(TEACHER, QUESTIONS).code
    at, phase, votes = 0, "lobby", {}
    for _ in range(60):
        room, act = rooms.room(code), dice.random()
        if act < 0.5:
            phone, round, question = f"p{dice.randrange(6)}", dice.choice((1, 2)), dice.choice((at, at, at, 0, 1))
            choice = dice.randrange(-1, 4)
            choices = len(QUESTIONS[at].choices)
            fine = question == at and ROUND.get(phase) == round and (not choices or 0 <= choice < choices)
            try:
                rooms.vote(room, phone, question, round, choice)
                assert fine
                votes.setdefault((at, round), {})[room.voter(phone)] = choice
            except ExplorerError:
                assert not fine
        elif act < 0.9:
            seen, to = dice.choice([(at, phase)] * 3 + [(0, "lobby"), (1, "vote1")]), dice.choice([*NEXT, "next"])
            fine = to in NEXT[seen[1]] and (to != "next" or seen[0] + 1 < len(QUESTIONS))
            try:
                rooms.step(room, TEACHER, *seen, to, {})
                if seen == (at, phase):
                    assert fine
                    at, phase = (at + 1, "vote1") if to == "next" else (at, to)
            except ExplorerError:
                assert seen == (at, phase) and not fine
        else:
            rooms = again(rooms)
        assert (rooms.room(code).at, rooms.room(code).phase, rooms.room(code).votes) == (at, phase, votes)
