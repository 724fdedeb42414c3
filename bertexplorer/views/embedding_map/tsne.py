"""t-SNE (van der Maaten and Hinton, 2008) of many points, in a process of its own, which ends when nobody waits for it.

It takes a minute for 10,000 points and cannot be interrupted, so in the server it would hold the place of slow work
long after its asker left, and the interpreter's lock between two of its steps."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from contextlib import suppress

import numpy as np
from jaxtyping import Float

from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import ROOT

SOME = 500  # points beyond which t-SNE takes 500 steps instead of 1,000, and a process of its own
POLL_S = 0.2  # between two looks whether somebody still waits
MAX_S = 900  # of the processor


def tsne(vectors: Float[np.ndarray, "n d"], axes: int) -> Float[np.ndarray, "n axes"]:
    """Places for *vectors*. Raises Stopped if nobody waits for them any more, and ExplorerError if the process that
    makes them ends early."""
    if len(vectors) <= SOME:
        return fit(vectors, axes)
    command = [sys.executable, "-m", "bertexplorer.views.embedding_map.tsne", str(axes)]
    with tempfile.TemporaryFile() as file:  # a pipe would be full before it is read
        np.save(file, vectors.astype(np.float32))
        file.seek(0)
        process = subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        while True:
            try:
                written, _ = process.communicate(timeout=POLL_S)
                break
            except subprocess.TimeoutExpired:
                progress.check()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode:
        raise ExplorerError(f"t-SNE of {len(vectors):,} points ended early. Choose PCA, or give fewer lines.")
    return np.asarray(np.load(io.BytesIO(written)))


def fit(vectors: Float[np.ndarray, "n d"], axes: int) -> Float[np.ndarray, "n axes"]:
    """As `tsne`, in this process."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    count = len(vectors)
    steps = 1000 if count <= SOME else 500
    model = TSNE(axes, perplexity=min(30.0, (count - 1) / 3), init="pca", random_state=0, max_iter=steps)
    with threadpool_limits(1):  # its threads would wait for each other while other callers keep the cores busy
        return np.asarray(model.fit_transform(vectors.astype(np.float32)))


def main(axes: str) -> None:
    """Read vectors from stdin and write their places to stdout, after everybody else's work."""
    if hasattr(os, "nice"):
        os.nice(5)
    with suppress(ImportError, ValueError, OSError):  # there are no such limits on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MAX_S, MAX_S))  # in case the server was killed
    vectors = np.load(io.BytesIO(sys.stdin.buffer.read()))
    np.save(sys.stdout.buffer, fit(vectors, int(axes)))


if __name__ == "__main__":
    main(*sys.argv[1:])
