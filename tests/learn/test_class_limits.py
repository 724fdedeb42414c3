"""Limits of classes: how many there are, how long they stay, and how many phones join one."""

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.learn import classroom
from tests.learn.test_classroom import QUESTIONS, TEACHER, again, opened

HOUR = 3600.0


def test_codes_of_ended_and_unknown_classes_lock_nobody_out(rooms):
    ended, other = opened(rooms), opened(rooms)
    rooms.end(ended, TEACHER)
    for i in range(100):
        with pytest.raises(ExplorerError, match="any more: its teacher ended it") as error:
            rooms.room(ended.code, f"p{i}")
        assert error.value.missing == "class"
        with pytest.raises(ExplorerError, match="There is no class") as error:
            rooms.room("Q" * 4, f"p{i}")
        assert error.value.missing == "class"
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
    assert set(room.last_polls) == {room.voter(item) for item in ("p0", "voted", "pupil")}
    assert room.counts(0, 1) == [1, 1, 0]
