"""The index: the vectors of uploaded lines, stored in files and searched exactly. 10,000 lines take one product."""

import json
import threading
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bertexplorer.errors import ExplorerError

KEPT = 8  # collections; beyond this the oldest are deleted


class Index:
    """Collections of vectors by name, each in its own file.

    Safe to call from many threads and processes: a file is written under a temporary name and then moved into
    place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()

    def count(self, collection: str) -> int:
        """How many vectors *collection* holds, 0 if there is none or its file is damaged."""
        held = self.read(collection)
        return 0 if held is None else len(held[0])

    def upsert(self, collection: str, vectors: Float[np.ndarray, "n d"], payloads: Sequence[Mapping[str, Any]]) -> None:
        """Store *vectors* with their *payloads* as entries 0 to n - 1 of *collection*. Raises ExplorerError if the
        disk does not take them."""
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        written = np.frombuffer(json.dumps([dict(payload) for payload in payloads]).encode(), dtype=np.uint8)
        with self.lock:
            partial = self.folder / f"{collection}.{threading.get_ident()}.partial"
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with partial.open("wb") as file:
                    np.savez(file, vectors=vectors / np.maximum(lengths, 1e-12), payloads=written)
                partial.replace(self.path(collection))
                self.forget()
            except OSError as error:
                raise ExplorerError(
                    f"The search index cannot be written to {self.folder}: {error.strerror}. Make room there, or give "
                    "another folder with BERTEXPLORER_DATA."
                ) from error

    def query(
        self, collection: str, vector: Float[np.ndarray, " d"], top: int
    ) -> list[tuple[float, Mapping[str, Any]]]:
        """(cosine, payload) of the *top* entries nearest to *vector*, best first."""
        held = self.read(collection)
        if held is None:
            return []
        vectors, payloads = held
        scores = vectors @ (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(vectors.dtype)
        best = np.argsort(-scores, kind="stable")[:top]
        return [(float(scores[i]), payloads[i]) for i in best]

    def path(self, collection: str) -> Path:
        return self.folder / f"{collection}.npz"

    def read(self, collection: str) -> tuple[Float[np.ndarray, "n d"], list[Mapping[str, Any]]] | None:
        """The vectors of *collection*, each of length 1, and their payloads. None if the collection does not exist or
        is damaged, and so must be built again."""
        try:
            with np.load(self.path(collection), allow_pickle=False) as held:
                return held["vectors"], json.loads(held["payloads"].tobytes())
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def forget(self) -> None:
        """Delete the oldest collections beyond KEPT."""
        for old in sorted(self.folder.glob("*.npz"), key=lambda path: path.stat().st_mtime_ns)[:-KEPT]:
            old.unlink(missing_ok=True)
