"""Routing: which replica answers a call.

Each checkpoint has a home, which is where it is loaded. Once the home is busier than others, a further replica becomes
a home too. Among several homes, equal texts have the same one, so its cache answers the second of them."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from hashlib import blake2b

MARGIN = 2.0  # load by which a home may exceed the least busy replica before a call goes there
REMEMBERED = 1000  # checkpoints; people type their names


def rank(key: str, replica: str) -> bytes:
    """The rendezvous hash: of all replicas, the highest rank for a *key* stays the same while others come and go."""
    return blake2b(f"{replica}\0{key}".encode("utf-8", "replace"), digest_size=8).digest()


class Router:
    """Remembers the homes of each checkpoint. Not safe to call from several threads at once."""

    def __init__(self) -> None:
        self.homes: OrderedDict[str, set[str]] = OrderedDict()

    def pick(self, checkpoint: str, text: str, loads: Mapping[str, float]) -> str:
        """The replica for a call. *loads*: what each live replica is working on; there is at least one."""
        known = self.homes.setdefault(checkpoint, set())
        self.homes.move_to_end(checkpoint)
        while len(self.homes) > REMEMBERED:
            self.homes.popitem(last=False)
        homes = known & loads.keys() or {max(loads, key=lambda one: rank(checkpoint, one))}
        bound = min(loads.values()) + MARGIN
        chosen = max(homes, key=lambda one: rank(f"{checkpoint}\0{text}", one))
        if loads[chosen] > bound:
            free = [one for one in homes if loads[one] <= bound] or list(loads)
            chosen = min(free, key=lambda one: (loads[one], one))
        known.add(chosen)
        return chosen

    def forget(self, replica: str) -> None:
        """*replica* has died, and what it had loaded with it."""
        for homes in self.homes.values():
            homes.discard(replica)


class Standing:
    """What the router of a Ray handle in this process knows of each replica, by its id."""

    def __init__(self) -> None:
        self.in_flight: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.live: list[str] = []
        self.taken: set[str] = set()  # keys of calls that a replica has
        self.lost = 0


standing = Standing()
