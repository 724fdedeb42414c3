"""Calls: questions to a view or an analysis as plain data, and the backends that answer them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs

from bertexplorer.api.admission import Computation


@dataclass(frozen=True)
class Call:
    """One question.

    *kind*: a view for the page, its numbers as a file, an analysis of the HTTP API, for an MCP client or for one of
    gradio, the vectors of texts, what a lesson asks, or to load a checkpoint. *name*: of the analysis, the kind of
    file, or what to do for a lesson. *given*: the JSON of the request. *slow*: it waits in the slow queue. *figure*:
    "plotly" or "marks", if the answer of an analysis includes the figure."""

    kind: Literal["view", "export", "analysis", "tool", "endpoint", "encode", "lesson", "load"]
    name: str
    owner: str
    given: Any
    slow: bool = False
    figure: str = ""

    @property
    def routing_key(self) -> tuple[str, str]:
        """(checkpoint, the two texts with a null character between them), by which a replica is chosen. What an invalid
        request lacks is empty; it will fail."""
        fields = self.given
        if self.kind in ("view", "export") and isinstance(fields, dict):  # of the page: a link or a state
            link = fields.get("link")
            fields = fields.get("state")
            if isinstance(link, str):
                fields = {name: values[0] for name, values in parse_qs(link.removeprefix("?")).items()}
        if not isinstance(fields, dict):
            fields = {}
        texts = []
        for name in ("checkpoint", "text", "pair"):
            value = fields.get(name)
            texts.append(value if isinstance(value, str) else "")
        checkpoint, first, second = texts
        return checkpoint.strip(), f"{first}\0{second}"


@dataclass(frozen=True)
class ReplicaStatus:
    """The state of a process that answers calls, for metrics. *ready*: it has answered its first call."""

    name: str
    answered: int
    in_flight: int
    restarts: int
    ready: bool


class Backend(Protocol):
    """Where calls are answered."""

    def task(self, call: Call) -> Computation:
        """Create a task that will answer *call*."""

    def warm_up(self) -> str:
        """Wait for a first answer, which loads the opening checkpoint. Return its error, "" if there is none."""

    def replicas(self) -> Sequence[ReplicaStatus]:
        """The state of each process that answers, other than this one."""

    def close(self) -> None:
        """End those processes."""
