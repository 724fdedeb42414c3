"""A class for the tests: a teacher's browser and phones."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from tests.api.conftest import Served

OWN = {"prompt": "Which *city*?", "choices": ["paris", "london", "something else"]}
STEPS = ("vote1", "closed1", "discuss", "vote2", "closed2", "reveal")


@dataclass
class Class:
    """An open class and its teacher's browser."""

    served: Served
    teacher: httpx.Client
    code: str
    question: int = 0
    phase: str = "lobby"

    def phone(self) -> httpx.Client:
        """A browser that has opened the phone page."""
        browser = self.served.browser(headers={"user-agent": "phone"})
        assert browser.get(f"{self.served.url}/j/{self.code}").status_code == 200
        return browser

    def step(self, to: str, who: httpx.Client | None = None, **more: Any) -> httpx.Response:
        sent = {"question": self.question, "phase": self.phase, "to": to, **more}
        answer = (who or self.teacher).post(f"/class/{self.code}/step", json=sent)
        if answer.status_code == 200:
            self.question, self.phase = answer.json()["question"], answer.json()["phase"]
        return answer

    def until(self, phase: str) -> "Class":
        """Advance to that phase of the current question."""
        done = STEPS.index(self.phase) + 1 if self.phase in STEPS else 0
        for to in STEPS[done:]:
            if self.phase == phase:
                break
            assert self.step(to).status_code == 200
        assert self.phase == phase
        return self

    def vote(self, phone: httpx.Client, choice: Any, round: int = 1, **more: Any) -> httpx.Response:
        sent = {"question": self.question, "round": round, "choice": choice, **more}
        kind = {"content-type": "application/json"}
        return phone.post(f"/class/{self.code}/vote", content=json.dumps(sent), headers=kind)

    def seen(self, who: httpx.Client, **query: Any) -> dict[str, Any]:
        """The room as that browser may see it."""
        answer = who.get(f"/class/{self.code}", params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def opened(served: Served, question: Any = None, **given: Any) -> Class:
    teacher = served.browser()
    answer = teacher.post("/class", json=given or {"question": question or OWN})
    assert answer.status_code == 200, answer.text
    return Class(served, teacher, answer.json()["code"])


def refused(answer: httpx.Response, said: str, status: int = 422) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    detail = answer.json()["detail"]
    assert said in detail and detail.endswith((".", "…")), detail
