"""Calls: what a view or an analysis is asked, as plain data, and the port that takes it to where it is computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs

from bertexplorer.api.admission import Task


@dataclass(frozen=True)
class Call:
    """One question.

    *kind*: a view as the page shows it, its numbers as a file, or an analysis of the HTTP API. *name*: of the analysis,
    or the kind of file. *given*: the JSON of the request. *slow*: waits in the slow queue."""

    kind: Literal["view", "export", "analysis"]
    name: str
    owner: str
    given: Any
    slow: bool = False
    figure: bool = False  # whether the figure comes with the answer of an analysis

    @property
    def asks(self) -> tuple[str, str]:
        """(checkpoint, text), as far as they can be told without computing anything; where it is computed follows from
        them. Both are "" for a request that will be refused."""
        fields = self.given if isinstance(self.given, dict) else {}
        if self.kind != "analysis" and isinstance(link := fields.get("link"), str):
            fields = {name: values[0] for name, values in parse_qs(link.removeprefix("?")).items()}
        elif self.kind != "analysis":
            fields = state if isinstance(state := fields.get("state"), dict) else {}
        found = [fields.get(name) for name in ("checkpoint", "text", "pair")]
        checkpoint, *texts = (one if isinstance(one, str) else "" for one in found)
        return checkpoint.strip(), "\0".join(texts)


@dataclass(frozen=True)
class Replica:
    """What is known of a process that answers calls, for metrics."""

    name: str
    answered: int
    in_flight: int
    restarts: int
    ready: bool


class Backend(Protocol):
    """Where calls are computed."""

    def task(self, call: Call) -> Task:
        """The answer to *call*, not begun."""

    def warm(self) -> str:
        """Wait for the first answer, which nobody asked for. Returns its error, "" if there is none."""

    def replicas(self) -> Sequence[Replica]:
        """The processes other than this one that answer, if there are any."""

    def close(self) -> None:
        """End those processes."""
