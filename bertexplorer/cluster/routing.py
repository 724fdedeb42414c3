"""Routing: which replica answers a call.

Each checkpoint has a home: the replica that has loaded it. Once the home is busier than the others, a second replica
becomes a home too. Among several homes, equal texts go to the same one, whose cache answers them from then on."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from hashlib import blake2b

MARGIN = 2.0  # load by which a home may exceed the least busy replica before a call goes elsewhere
MAX_CHECKPOINTS = 1000  # remembered ones, as people can type any name


def rank(key: str, replica: str) -> bytes:
    """The rendezvous hash: the replica that ranks highest for a *key* stays the same while others come and go."""
    return blake2b(f"{replica}\0{key}".encode("utf-8", "replace"), digest_size=8).digest()


class Router:
    """Remembers the homes of each checkpoint. Not thread-safe."""

    def __init__(self) -> None:
        self.homes: OrderedDict[str, set[str]] = OrderedDict()

    def pick(self, checkpoint: str, text: str, loads: Mapping[str, float]) -> str:
        """Choose the replica for a call. *loads*: replica -> its load, for all live ones; at least one."""
        known = self.homes.setdefault(checkpoint, set())
        self.homes.move_to_end(checkpoint)
        while len(self.homes) > MAX_CHECKPOINTS:
            self.homes.popitem(last=False)
        homes = known & loads.keys()
        if not homes:
            homes = {max(loads, key=lambda replica: rank(checkpoint, replica))}
        choice = max(homes, key=lambda replica: rank(f"{checkpoint}\0{text}", replica))
        limit = min(loads.values()) + MARGIN
        if loads[choice] > limit:
            candidates = [replica for replica in homes if loads[replica] <= limit] or list(loads)
            choice = min(candidates, key=lambda replica: (loads[replica], replica))
        known.add(choice)
        return choice

    def forget(self, replica: str) -> None:
        """Forget what *replica* had loaded, as it has died."""
        for homes in self.homes.values():
            homes.discard(replica)


class ReplicaStats:
    """What the router of the Ray handle in this process knows about the replicas, by their ids."""

    def __init__(self) -> None:
        self.in_flight: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.live: list[str] = []
        self.routed: set[str] = set()  # keys of the pending calls that have reached a replica
        self.lost = 0  # replicas that have died


replica_stats = ReplicaStats()
