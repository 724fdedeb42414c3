"""A server that is killed in the middle of a class, between any two steps: every acknowledged vote is preserved, and
phones and teacher continue with the same code and cookies."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bench.serving import Server

pytestmark = pytest.mark.slow

QUESTIONS = {"lesson": "what-is-inside"}
PHONES = 2
EVERY = "KILLS" in os.environ  # kill between any two steps; else where something new is in the file
SOME = ("reveal", (0, 1), (1, 2))  # steps, and (phone, round) of votes
LINE = (  # of the class: the teacher's step, or (round, the choice of each phone)
    "vote1",
    (1, (0, 1)),
    "closed1",
    "discuss",
    "vote2",
    (2, (1, 2)),
    "closed2",
    "reveal",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    process = Server(str(tmp_path_factory.mktemp("data")))
    try:
        process.wait()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.process.kill()
        process.process.wait(20)


class Drill:
    """One class, its browsers, which keep only their cookies, and everything that was acknowledged to them."""

    def __init__(self, server: Server) -> None:
        self.server, self.kills = server, 0
        self.jars: list[Any] = [None] * (PHONES + 1)  # of the phones; the last is the teacher's
        with self.browser(PHONES) as teacher:
            teacher.get("/class/AAAA")  # gives the browser its cookie, as its page does
            self.code = teacher.post("/class", json=QUESTIONS).raise_for_status().json()["code"]
        self.phase, self.own = "lobby", [[None, None, None] for _ in range(PHONES)]

    @contextlib.contextmanager
    def browser(self, number: int) -> Iterator[httpx.Client]:
        """A new connection each time: the server may have been killed meanwhile."""
        with httpx.Client(base_url=f"{self.server.url}/api/v1", timeout=60, cookies=self.jars[number]) as client:
            if self.jars[number] is None and number < PHONES:
                client.get(f"{self.server.url}/j/{self.code}")
            yield client
            self.jars[number] = client.cookies

    def kill(self) -> None:
        self.server.kill()
        self.server.start()
        self.server.wait()
        self.kills += 1
        self.look()

    def look(self) -> None:
        """Each phone and the teacher see the room as it was acknowledged."""
        for number in range(PHONES):
            with self.browser(number) as phone:
                seen = phone.get(f"/class/{self.code}").raise_for_status().json()
            assert (seen["phase"], seen["own"]) == (self.phase, self.own[number]), self.kills
        with self.browser(PHONES) as teacher:
            board = teacher.get(f"/class/{self.code}").raise_for_status().json()
        cast = [own[2 if "2" in self.phase else 1] for own in self.own]
        assert board["teacher"] and board["phase"] == self.phase
        assert board["voted"] == sum(choice is not None for choice in cast), self.kills

    def vote(self, number: int, round: int, choice: int) -> None:
        with self.browser(number) as phone:
            sent = {"question": 0, "round": round, "choice": choice}
            assert phone.post(f"/class/{self.code}/vote", json=sent).raise_for_status().json()["saved"] == choice
        self.own[number][round] = choice

    def step(self, to: str) -> None:
        with self.browser(PHONES) as teacher:
            sent = {"question": 0, "phase": self.phase, "to": to}
            answer = teacher.post(f"/class/{self.code}/step", json=sent)
            assert answer.status_code == 200 and answer.json()["phase"] == to, answer.text
        self.phase = to


def test_a_server_killed_between_any_two_steps_of_a_class_loses_nothing(server: Server) -> None:
    drill = Drill(server)
    drill.kill()
    for item in LINE:
        if isinstance(item, str):
            drill.step(item)
            if EVERY or item in SOME:
                drill.kill()
            continue
        round, choices = item
        for number, choice in enumerate(choices):
            drill.vote(number, round, choice)
            if EVERY or (number, round) in SOME:
                drill.kill()
    with drill.browser(0) as phone:
        seen = phone.get(f"/class/{drill.code}").json()
        late = phone.post(f"/class/{drill.code}/vote", json={"question": 0, "round": 2, "choice": 0})
    assert seen["counts"][0][:3] == [1, 1, 0] and seen["counts"][1][:3] == [0, 1, 1]
    assert sum(map(sum, seen["moves"])) == PHONES and seen["reveal"]["right"], "what BERT answered is there too"
    assert late.status_code == 422 and "closed" in late.json()["detail"]
    assert drill.kills == (1 + 6 + 4 if EVERY else 1 + len(SOME))


def test_a_server_killed_while_votes_arrive_keeps_every_acknowledged_vote(server: Server) -> None:
    drill = Drill(server)
    drill.step("vote1")
    acknowledged: dict[int, int] = {}
    with contextlib.suppress(httpx.HTTPError), drill.browser(0) as phone:
        for turn in range(400):
            if turn == 300:
                server.process.kill()  # while more are sent
            sent = {"question": 0, "round": 1, "choice": turn % 3}
            phone.post(f"/class/{drill.code}/vote", json=sent).raise_for_status()
            acknowledged[turn] = turn % 3
            drill.jars[0] = phone.cookies
    last = max(acknowledged)
    assert 299 <= last < 399, "the kill came too early, or not at all"
    server.process.wait(20)
    server.start()
    server.wait()
    with drill.browser(0) as phone:
        assert phone.get(f"/class/{drill.code}").json()["own"][1] in (last % 3, (last + 1) % 3)
    drill.own[0][1] = None
    drill.vote(0, 1, 2)
    drill.look()
