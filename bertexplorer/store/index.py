"""The index: vectors in a Qdrant database, in a local folder or on a server, with the same calls."""

import atexit
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bertexplorer.errors import ExplorerError, need

KEPT = 8  # collections in a folder, which all lie in memory too; the oldest go. A server keeps what it has
BATCH = 500
TIMEOUT_S = 30


class Index:
    """Collections of vectors, by name. Safe to call from many threads; a folder belongs to one process at a time, and
    is opened (qdrant_client imported, too) at the first call."""

    def __init__(self, folder: Path | None = None, url: str = "", api_key: str = "") -> None:
        """*url* of a server takes precedence over *folder*; with neither, the index is in memory only."""
        self.folder = folder
        self.url = url
        self.api_key = api_key
        self.lock = threading.RLock()
        self.client: Any = None

    def count(self, collection: str) -> int:
        """How many vectors *collection* holds, 0 if there is none. Raises ExplorerError, as all of these do, if the
        index cannot be reached."""
        with self.opened() as client:
            return int(client.count(collection, exact=True).count) if client.collection_exists(collection) else 0

    def upsert(self, collection: str, vectors: Float[np.ndarray, "n d"], payloads: Sequence[Mapping[str, Any]]) -> None:
        """Keep *vectors* with their *payloads* as entries 0 to n - 1 of *collection*, made if there is none."""
        with self.opened() as client:
            from qdrant_client import models

            if not client.collection_exists(collection):
                self.forget(client, KEPT - 1)
                size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
                client.create_collection(collection, vectors_config=size)
            self.quicken(client, collection)
            for start in range(0, len(vectors), BATCH):
                end = min(start + BATCH, len(vectors))
                points = models.Batch(
                    ids=list(range(start, end)),
                    vectors=vectors[start:end].tolist(),
                    payloads=[dict(payload) for payload in payloads[start:end]],
                )
                client.upsert(collection, points=points, wait=True)

    def query(
        self, collection: str, vector: Float[np.ndarray, " d"], top: int
    ) -> list[tuple[float, Mapping[str, Any]]]:
        """(cosine, payload) of the *top* entries nearest to *vector*, best first."""
        with self.opened() as client:
            found = client.query_points(collection, query=vector.tolist(), limit=top, with_payload=True)
        return [(float(point.score), point.payload) for point in found.points]

    def close(self) -> None:
        """Release the folder, so that another process may open it."""
        with self.lock:
            if self.client is not None:
                self.client.close()
                atexit.unregister(self.close)
            self.client = None

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The client, one caller at a time; whatever it raises becomes an ExplorerError."""
        with self.lock:
            try:
                if self.client is None:
                    self.client = self.connect()
                    atexit.register(self.close)  # as Python ends the client can no longer close itself
                yield self.client
            except ExplorerError:
                raise
            except Exception as error:  # of four libraries, by the way it is reached
                where = self.url or f"the folder {self.folder}"
                raise ExplorerError(
                    f"The search index at {where} cannot be used: {type(error).__name__}: {error!s:.200}. "
                    + (
                        "See that the Qdrant server runs, and that BERTEXPLORER_QDRANT_URL points to it."
                        if self.url
                        else "Delete that folder and search again: it is made anew."
                    )
                ) from error

    def connect(self) -> Any:
        need("search", "Search")
        from qdrant_client import QdrantClient

        if self.url:
            return QdrantClient(
                url=self.url, api_key=self.api_key or None, timeout=TIMEOUT_S, check_compatibility=False
            )
        if self.folder is None:
            return QdrantClient(location=":memory:")
        try:
            return QdrantClient(path=str(self.folder), force_disable_check_same_thread=True)
        except RuntimeError as error:
            if "already accessed" not in str(error):
                raise
            raise ExplorerError(
                f"The search index in {self.folder} is open in another BERT Explorer. Stop that one, give this one a "
                "folder of its own with BERTEXPLORER_DATA, or let both use a server with BERTEXPLORER_QDRANT_URL."
            ) from error

    def forget(self, client: Any, most: int) -> None:
        """Drop the oldest collections of a folder beyond *most*."""
        names = [] if self.url else [found.name for found in client.get_collections().collections]
        for name in names[: max(0, len(names) - most)]:
            client.delete_collection(name)

    def quicken(self, client: Any, collection: str) -> None:
        """A folder's collection is an SQLite file that is written to the disk after every point, 10,000 times for as
        many lines. The index can be made again, so the system may write when it likes."""
        with suppress(AttributeError, KeyError):  # a server, or another inside of qdrant_client: only slower
            storage = client._client.collections[collection].storage.storage
            storage.execute("PRAGMA synchronous = OFF")
            storage.execute("PRAGMA journal_mode = MEMORY")
