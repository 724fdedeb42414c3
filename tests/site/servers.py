"""Servers that hold a site's files back, break off, or refuse: each is the base of a class of one test."""

from collections import Counter
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import ClassVar


class Holding(SimpleHTTPRequestHandler):
    """A server that holds the weights back until `release` is set."""

    release = Event()

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if "/weights-" in self.path:
            self.release.wait(60)
        super().do_GET()


class Cutting(SimpleHTTPRequestHandler):
    """A server that closes the first connection of the weights half way, and then goes on where a browser asks."""

    cut = 0

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if "/weights-" not in self.path:
            super().do_GET()
            return
        content = Path(self.translate_path(self.path)).read_bytes()
        start = int((self.headers.get("range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        type(self).cut += 1
        stop = len(content) // 2 if type(self).cut == 1 else len(content)
        self.send_response(206 if start else 200)
        self.send_header("content-length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:stop])
        if stop < len(content):
            self.connection.close()


class Refusing(SimpleHTTPRequestHandler):
    """A server that refuses the second piece of the weights at first, and counts how often each is asked for."""

    refused = ""
    asked: ClassVar[Counter[str]] = Counter()

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.asked[self.path] += 1
        if self.path.endswith(self.refused):
            self.send_error(503)
        else:
            super().do_GET()
