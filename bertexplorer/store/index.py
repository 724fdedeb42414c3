"""Search index: vectors of uploaded lines, stored in files and searched exactly, by one product for 10,000 lines."""

import json
import threading
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bertexplorer.errors import ExplorerError

MAX_COLLECTIONS = 8  # beyond this the oldest are deleted


class Index:
    """Collections of vectors by name, each in its own file.

    Safe for many threads and processes: a file is written under a temporary name, then renamed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()

    def count(self, collection: str) -> int:
        """The number of vectors in *collection*, 0 if it does not exist or is damaged."""
        content = self.read(collection)
        return 0 if content is None else len(content[0])

    def upsert(self, collection: str, vectors: Float[np.ndarray, "n d"], payloads: Sequence[Mapping[str, Any]]) -> None:
        """Store *vectors* with their *payloads* as entries 0 to n - 1 of *collection*. Raises ExplorerError if
        they cannot be written."""
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        encoded = np.frombuffer(json.dumps([dict(payload) for payload in payloads]).encode(), dtype=np.uint8)
        with self.lock:
            partial = self.folder / f"{collection}.{threading.get_ident()}.partial"
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with partial.open("wb") as file:
                    np.savez(file, vectors=vectors / np.maximum(lengths, 1e-12), payloads=encoded)
                partial.replace(self.path(collection))
                self.delete_oldest()
            except OSError as error:
                raise ExplorerError(
                    f"The search index cannot be written to {self.folder}: {error.strerror}. Make room there, or give "
                    "another folder with BERTEXPLORER_DATA."
                ) from error

    def query(
        self, collection: str, vector: Float[np.ndarray, " d"], top: int
    ) -> list[tuple[float, Mapping[str, Any]]]:
        """(cosine, payload) of the *top* entries nearest to *vector*, best first."""
        content = self.read(collection)
        if content is None:
            return []
        vectors, payloads = content
        scores = vectors @ (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(vectors.dtype)
        best = np.argsort(-scores, kind="stable")[:top]
        return [(float(scores[i]), payloads[i]) for i in best]

    def path(self, collection: str) -> Path:
        """The file of *collection*, whether it exists or not."""
        return self.folder / f"{collection}.npz"

    def read(self, collection: str) -> tuple[Float[np.ndarray, "n d"], list[Mapping[str, Any]]] | None:
        """The vectors of *collection*, each of length 1, and their payloads. None if the collection does not exist or
        is damaged, so that it must be rebuilt."""
        try:
            with np.load(self.path(collection), allow_pickle=False) as arrays:
                return arrays["vectors"], json.loads(arrays["payloads"].tobytes())
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def delete_oldest(self) -> None:
        """Delete the oldest collections beyond MAX_COLLECTIONS."""
        paths = sorted(self.folder.glob("*.npz"), key=lambda file: file.stat().st_mtime_ns)
        for path in paths[:-MAX_COLLECTIONS]:
            path.unlink(missing_ok=True)
