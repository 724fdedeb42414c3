"""A discrete-event model of one front and N replicas, calibrated with the measurements of bench.cluster for one.

Callers never pause. A call needs the front, which is one thread, then a replica, which is one thread as well, then the
front again to send the answer. Threads on one machine share its cores. A cached text costs a replica almost nothing.

python -m bench.cluster_model --replica-ms 21 --front-ms 1 --cores 2 --replicas 1 2
"""

import argparse
import random
from collections import deque
from dataclasses import dataclass, field

KNOWN_MS = 1.0  # of a replica for a text in its cache


@dataclass
class Thread:
    """A thread with a queue. *left*: remaining milliseconds of work on its current call."""

    waiting: deque[tuple[int, float]] = field(default_factory=deque)  # (call, its work)
    call: int = -1
    left: float = 0.0

    def give(self, call: int, work: float) -> None:
        self.waiting.append((call, work))
        self.next()

    def next(self) -> None:
        if self.call < 0 and self.waiting:
            self.call, self.left = self.waiting.popleft()


class Model:
    """*cores*: shared by the front and all replicas; 0: each has its own. *known*: share of cached texts."""

    def __init__(
        self, replicas: int, callers: int, replica_ms: float, front_ms: float, cores: int = 0, known: float = 0.0
    ) -> None:
        self.front, self.replicas = Thread(), [Thread() for _ in range(replicas)]
        self.replica_ms, self.front_ms, self.cores, self.known = replica_ms, front_ms, cores, known
        self.draw = random.Random(7)
        self.asked = [True] * callers  # whether a call is on its way to a replica
        self.now, self.answers = 0.0, 0
        for call in range(callers):
            self.front.give(call, front_ms / 2)

    def step(self) -> None:
        """Advance to the next completion of work."""
        busy = [one for one in (self.front, *self.replicas) if one.call >= 0]
        rate = min(1.0, self.cores / len(busy)) if self.cores else 1.0
        first = min(busy, key=lambda one: one.left)
        passed = first.left
        self.now += passed / rate
        for one in busy:
            one.left -= passed
        call, first.call = first.call, -1
        first.next()
        if first is not self.front:
            self.asked[call] = False
            self.front.give(call, self.front_ms / 2)
        elif self.asked[call]:
            work = KNOWN_MS if self.draw.random() < self.known else self.replica_ms * self.draw.uniform(0.7, 1.3)
            min(self.replicas, key=lambda one: len(one.waiting) + (one.call >= 0)).give(call, work)
        else:
            self.answers += 1
            self.asked[call] = True
            self.front.give(call, self.front_ms / 2)

    def rate(self, answers: int) -> float:
        """Answers a second, after a warm-up of equal length."""
        while self.answers < answers // 2:
            self.step()
        begun, before = self.now, self.answers
        while self.answers < before + answers:
            self.step()
        return 1000 * (self.answers - before) / (self.now - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replica-ms", type=float, required=True, help="processor time of a replica for an answer")
    parser.add_argument("--front-ms", type=float, required=True, help="processor time of the front for an answer")
    parser.add_argument("--cores", type=int, default=0, help="of the one machine; 0: a core for each")
    parser.add_argument("--known", type=float, default=0.0, help="share of the texts that were asked before")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 10, 100, 1000])
    given = parser.parse_args()
    for count in given.replicas:
        model = Model(count, 12 + 3 * count, given.replica_ms, given.front_ms, given.cores, given.known)
        print(f"{count:5,} replicas: {model.rate(3000 if count < 100 else 6000):8.1f} answers a second")


if __name__ == "__main__":
    main()
