"""Arriving: how many bytes of requests are on their way, of each network and in all. Whoever sends a thousand requests
at once, each half, would otherwise take the memory and the disk that the limits of a single request leave."""

from collections import Counter


class Arriving:
    """Used by coroutines of one event loop only."""

    def __init__(self, most: int, share: int) -> None:
        """*most*: bytes of all requests together. *share*: of those of one network."""
        self.most = most
        self.share = share
        self.of_network: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """The bytes of all requests."""
        return self.of_network.total()

    def add(self, network: str, size: int) -> bool:
        """Count *size* more bytes of a request from *network*, unless that is too much; return whether they fit."""
        if self.total + size > self.most or self.of_network[network] + size > self.share:
            return False
        self.of_network[network] += size
        return True

    def remove(self, network: str, size: int) -> None:
        """Count *size* bytes less: their request has been answered."""
        self.of_network[network] -= size
        if self.of_network[network] <= 0:
            del self.of_network[network]
