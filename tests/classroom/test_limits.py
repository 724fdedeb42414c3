"""Limits of classes: how many there are, how long they stay, and how many phones join one."""

import os
from contextlib import suppress

import pytest

from bertexplorer.classroom import classroom
from bertexplorer.errors import ExplorerError
from tests.classroom.test_classroom import QUESTIONS, TEACHER, again, opened

HOUR = 3600.0


def test_codes_of_ended_and_unknown_classes_lock_nobody_out(rooms):
    ended, other = opened(rooms), opened(rooms)
    rooms.end(ended, TEACHER)
    for i in range(100):
        with pytest.raises(ExplorerError, match="any more: its teacher ended it") as error:
            rooms.room(ended.code, f"p{i}")
        assert error.value.code == "class"
        with pytest.raises(ExplorerError, match="There is no class") as error:
            rooms.room("Q" * 4, f"p{i}")
        assert error.value.code == "class"
    assert rooms.room(other.code.lower(), "late") is other


def test_a_class_expires_a_day_after_the_teachers_last_request(rooms, clock):
    room, used = opened(rooms, "vote1"), opened(rooms)
    for _ in range(4):
        clock.later += 6 * HOUR
        rooms.vote(room, "p", 0, 1, 0)
        assert rooms.room(used.code, TEACHER) is used
    with pytest.raises(ExplorerError, match="any more: its teacher was away for a day"):
        rooms.room(room.code, "p")
    with pytest.raises(ExplorerError, match="closed"):
        rooms.vote(room, "p", 0, 1, 1)
    assert list(rooms.folder.iterdir()) == [used.file]


@pytest.mark.parametrize(("hours", "kept"), [(23, True), (25, False)])
def test_a_restarted_server_knows_the_teachers_last_request(rooms, clock, hours, kept):
    room = opened(rooms)
    clock.later += 20 * HOUR
    rooms.room(room.code, TEACHER)
    clock.later += hours * HOUR
    restarted = again(rooms)
    restarted.open("other", QUESTIONS)
    assert room.file.exists() == kept


def test_a_browser_opens_ten_classes_at_most(rooms):
    codes = sorted(opened(rooms).code for _ in range(classroom.MAX_OWN_ROOMS))
    for server in (rooms, again(rooms)):
        with pytest.raises(ExplorerError, match=f"You have 10 open classes.*{', '.join(codes)}. End one, for example"):
            server.open(TEACHER, QUESTIONS)
    rooms.open("another", QUESTIONS)
    rooms.end(rooms.room(codes[0]), TEACHER)
    opened(rooms)


def test_a_full_server_ends_the_class_that_was_idle_longest(rooms, clock, monkeypatch):
    monkeypatch.setattr(classroom, "MAX_ROOMS", 5)
    first, *others = [rooms.open(f"teacher {i}", QUESTIONS) for i in range(5)]
    with pytest.raises(ExplorerError, match="There are 5 classes in use on this server. Try again"):
        rooms.open("late", QUESTIONS)
    clock.later += classroom.IDLE_S / 2
    rooms.room(first.code, first.teacher)
    clock.later += classroom.IDLE_S / 2
    opened = rooms.open("late", QUESTIONS)
    assert len(list(rooms.folder.iterdir())) == 5 and rooms.room(first.code) is first and opened.file.exists()
    with pytest.raises(ExplorerError, match="any more: the server needed its place for another"):
        rooms.room(others[0].code)


def test_opening_many_classes_takes_no_vote_and_no_phone_from_a_class(rooms, clock, monkeypatch):
    monkeypatch.setattr(classroom, "MAX_ROOMS", 5)
    voted, followed, *_ = [rooms.open(f"teacher {i}", QUESTIONS) for i in range(3)]
    rooms.step(voted, voted.teacher, 0, "lobby", "vote1")
    rooms.vote(voted, "pupil", 0, 1, 1)
    clock.later += 2 * classroom.IDLE_S
    rooms.record_poll(followed, "pupil")
    for server in (rooms, again(rooms)):  # after a restart, only the files say who voted
        if server is not rooms:
            server.record_poll(server.room(followed.code), "pupil")
        for i in range(50):
            with suppress(ExplorerError):
                server.open(f"program {id(server)} {i}", QUESTIONS)
        assert voted.file.exists() and followed.file.exists()
        assert server.room(voted.code).counts(0, 1) == [0, 1, 0]
    with pytest.raises(ExplorerError, match="There are 5 classes in use on this server"):
        rooms.open("late", QUESTIONS)


def test_one_network_opens_few_classes_and_others_still_open_theirs(rooms, clock, monkeypatch):
    most = 8
    monkeypatch.setattr(classroom, "MAX_NETWORK_ROOMS", most)
    for server in (rooms, again(rooms)):
        for i in range(2 * most):
            with suppress(ExplorerError):
                server.open(f"program {i}", QUESTIONS, network="192.0.2.1")
        assert len(list(rooms.folder.iterdir())) == most
        with pytest.raises(ExplorerError, match=f"{most} classes are open from your network, the most for one. End"):
            server.open("program", QUESTIONS, network="192.0.2.1")
    kept = rooms.open("teacher", QUESTIONS, network="192.0.2.2")
    assert kept.file.exists() and "192.0.2" not in kept.file.read_text()
    clock.later += classroom.IDLE_S
    rooms.open("program", QUESTIONS, network="192.0.2.1")
    assert len(list(rooms.folder.iterdir())) == most + 1, "one that nobody uses made room"


def test_a_full_server_ends_a_class_of_the_network_that_has_the_most(rooms, clock, monkeypatch):
    monkeypatch.setattr(classroom, "MAX_ROOMS", 5)
    prepared = rooms.open("teacher", QUESTIONS, network="192.0.2.2")
    clock.later += 1
    for i in range(4):
        rooms.open(f"program {i}", QUESTIONS, network="192.0.2.1")
    clock.later += classroom.IDLE_S
    rooms.open("another", QUESTIONS, network="192.0.2.3")
    assert prepared.file.exists()


def test_ten_thousand_joins_fill_a_class_for_minutes_only(rooms, clock):
    room = opened(rooms, "vote1")
    rooms.vote(room, "voted", 0, 1, 0)
    for i in range(classroom.MAX_VOTERS - 1):
        rooms.record_poll(room, f"p{i}")
    for i in range(9000):
        with pytest.raises(ExplorerError, match="This class is full: 1,000"):
            rooms.record_poll(room, f"more{i}")
    rooms.record_poll(room, "p0")
    assert room.present() == classroom.MAX_VOTERS
    clock.later += classroom.JOINED_S / 2
    rooms.record_poll(room, "p0")
    clock.later += classroom.JOINED_S / 2
    rooms.record_poll(room, "pupil")
    rooms.vote(room, "pupil", 0, 1, 1)
    assert set(room.last_polls) == {room.voter(item) for item in ("p0", "pupil")}
    assert room.counts(0, 1) == [1, 1, 0], "the vote of a phone that gave away its place counts"


def test_a_thousand_votes_of_one_program_fill_a_class_for_minutes_only(rooms, clock):
    room = opened(rooms, "vote1")
    for i in range(classroom.MAX_VOTERS):
        rooms.record_poll(room, f"program{i}")
    with pytest.raises(ExplorerError, match="This class is full: 1,000"):
        rooms.vote(room, "pupil", 0, 1, 1)
    clock.later += classroom.JOINED_S
    rooms.vote(room, "pupil", 0, 1, 1)
    assert room.counts(0, 1) == [0, 1, 0]


def test_a_round_has_a_limited_number_of_votes(rooms, clock, monkeypatch):
    monkeypatch.setattr(classroom, "MAX_VOTES", 2)
    room = opened(rooms, "vote1")
    for name in ("a", "b"):
        rooms.vote(room, name, 0, 1, 0)
    with pytest.raises(ExplorerError, match="There are 2 votes on this question"):
        rooms.vote(room, "c", 0, 1, 0)
    rooms.vote(room, "b", 0, 1, 1)
    assert room.counts(0, 1) == [1, 1, 0]


def test_a_closed_door_keeps_out_further_phones_only(rooms):
    room = opened(rooms, "vote1")
    rooms.record_poll(room, "joined")
    rooms.vote(room, "voted", 0, 1, 0)
    with pytest.raises(ExplorerError, match="Only the browser that opened this class"):
        rooms.set_door(room, "joined", False)
    rooms.set_door(room, TEACHER, False)
    with pytest.raises(ExplorerError, match="The door of this class is closed"):
        rooms.vote(room, "program", 0, 1, 0)
    rooms.vote(room, "joined", 0, 1, 1)
    restarted = again(rooms)
    same = restarted.room(room.code, "voted")
    assert not same.door_open
    restarted.record_poll(same, "voted")
    restarted.set_door(same, TEACHER, True)
    restarted.vote(same, "program", 0, 1, 0)
    assert same.counts(0, 1) == [2, 1, 0]


def test_another_code_puts_strangers_out_and_begins_an_open_vote_anew(rooms):
    room = opened(rooms, "vote1")
    old, voter = room.code, room.voter("pupil")
    rooms.vote(room, "stranger", 0, 1, 0)
    with pytest.raises(ExplorerError, match="Only the browser that opened this class"):
        rooms.change_code(room, "stranger")
    rooms.change_code(room, TEACHER)
    assert room.code != old and rooms.room(room.code) is room
    with pytest.raises(ExplorerError, match="any more: its code was changed") as error:
        rooms.room(old, "stranger")
    assert error.value.code == "class"
    assert room.counts(0, 1) == [0, 0, 0] and not room.last_polls
    rooms.vote(room, "pupil", 0, 1, 1)
    same = again(rooms).room(room.code)
    assert same.counts(0, 1) == [0, 1, 0] and same.voter("pupil") == voter == room.voter("pupil")


def test_codes_cannot_be_guessed_and_those_of_open_classes_stay(rooms):
    assert len(classroom.random_code()) == 6 and len(classroom.LETTERS) ** 6 > 190_000_000
    room = opened(rooms)
    old = rooms.folder / "WXYZ.jsonl"
    room.file.rename(old)
    assert again(rooms).room("wxyz").code == "WXYZ", "a class that version 0.2 opened"


def test_phones_of_a_large_class_poll_less_often(rooms):
    room = opened(rooms)
    assert room.poll_ms == 1500
    for i in range(400):
        rooms.record_poll(room, f"p{i}")
    assert room.poll_ms == 3200


def test_a_vote_is_on_the_disk_before_it_is_acknowledged(rooms, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    room = opened(rooms, "vote1")
    rooms.vote(room, "p", 0, 1, 0)
    assert synced == [room.file.stat().st_ino]
