"""Vectors from a server that a person names: OpenAI's /v1/embeddings, or /embed of Text Embeddings Inference.

Used from Python and the command line alone. No redirect is followed, and neither time nor bytes are without bound."""

import json
import threading
import time
from collections.abc import Sequence
from http.client import HTTPException
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from bertexplorer.diagnosis.files import vectors_of
from bertexplorer.errors import ExplorerError

KEY = "BERTEXPLORER_DOCTOR_KEY"  # the variable with the server's key
SECONDS = 30.0
MAX_BYTES = 8_000_000
BLOCK = 1 << 16


class Unfollowed(HTTPRedirectHandler):
    """Reports a redirect as an error."""

    def redirect_request(self, *_: Any) -> None:
        return None


def body_for(url: str, texts: Sequence[str], model: str) -> dict[str, Any]:
    """What is sent to *url*, by its path. Raises ExplorerError for an address that is no server's of vectors."""
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ExplorerError(f"The address {url!r:.80} is not one of a server; wanted http://localhost:8080/embed.")
    if address.username or address.password:
        raise ExplorerError(f"The address has a password in it, which others may read. Put the key into {KEY}.")
    if address.path.rstrip("/").endswith("/embeddings"):
        return {"input": list(texts), "model": model or "default", "encoding_format": "float"}
    if address.path.rstrip("/").endswith("/embed"):
        return {"inputs": list(texts)}
    raise ExplorerError(
        f"The path {address.path or '/'!r:.60} is not known; wanted /v1/embeddings (OpenAI's) or /embed (TEI's). "
        "Give the whole address."
    )


def fetch(url: str, texts: Sequence[str], *, model: str = "", key: str = "") -> list[list[float]]:
    """The vectors that the server at *url* makes of *texts*. *model*: its name there; *key*: sent as a bearer token.
    Raises ExplorerError if it does not answer in time, or with something else."""
    body = json.dumps(body_for(url, texts, model)).encode()
    headers = {"content-type": "application/json", "accept": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    request = Request(url, body, headers)
    result: list[bytes | Exception] = []
    # In a thread of its own: a server that sends a byte now and then would never be late for a single read.
    thread = threading.Thread(target=lambda: result.append(attempt(request)), daemon=True)
    thread.start()
    thread.join(SECONDS)
    if not result:
        raise ExplorerError(f"The server did not answer within {SECONDS:.0f} s. Ask it for less, or look at its log.")
    answer = result[0]
    if isinstance(answer, ExplorerError):
        raise answer
    if isinstance(answer, HTTPError):
        is_redirect = 300 <= answer.code < 400
        about = "redirects to another address, which is not followed" if is_redirect else "refused"
        raise ExplorerError(f"The server {about}: status {answer.code}. Look at its log, and at the address.")
    if isinstance(answer, Exception):
        reason = getattr(answer, "reason", answer)
        raise ExplorerError(f"The server cannot be reached: {reason!s:.100}. Is it running at this address?")
    try:
        content = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise ExplorerError("The server's answer is not JSON. Is this the address of its vectors?") from error
    vectors = vectors_of(content)
    if len(vectors) != len(texts):
        raise ExplorerError(f"The server gave {len(vectors):,} vectors for {len(texts):,} texts.")
    return vectors


def attempt(request: Request) -> bytes | Exception:
    """The answer, or what went wrong. It waits longer for a silent server than `fetch`, which then says so."""
    started = time.monotonic()
    try:
        with build_opener(Unfollowed).open(request, timeout=2 * SECONDS) as response:
            return read_bounded(response, started + SECONDS)
    except (OSError, URLError, HTTPException, ValueError) as error:
        return error


def read_bounded(response: IO[bytes], deadline: float) -> bytes:
    """The body of *response*. Raises ExplorerError beyond MAX_BYTES, and after *deadline*, a time of
    time.monotonic."""
    parts: list[bytes] = []
    size = 0
    while part := response.read(BLOCK):
        size += len(part)
        parts.append(part)
        if size > MAX_BYTES:
            raise ExplorerError(f"The server's answer is longer than {MAX_BYTES:,} bytes, and was left there.")
        if time.monotonic() > deadline:
            raise ExplorerError(f"The server did not end its answer within {SECONDS:.0f} s.")
    return b"".join(parts)
