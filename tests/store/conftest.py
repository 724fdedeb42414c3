"""A fake hub on 127.0.0.1 that serves tiny checkpoints, or rejects, hangs or delays requests at the request of a
test."""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import huggingface_hub
import huggingface_hub.constants
import pytest

from tests.conftest import Tiny

NAME = "someone/tiny-bert"
SHA = "0123456789abcdef0123456789abcdef01234567"
STORAGE = "storage/"


class Hub(ThreadingHTTPServer):
    """Implements the part of the hub's protocol that a download needs."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.repos: dict[str, dict[str, bytes]] = {}
        self.revisions: dict[tuple[str, str], tuple[str, dict[str, bytes]]] = {}  # (repo, branch) -> commit and files
        self.authors: dict[str, str] = {}  # repo -> author of its pull request 1
        self.gated: set[str] = set()
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()  # of every request
        self.pause_s = 0.0  # before each half of a weights file
        self.broken: tuple[str, ...] = ()  # these files answer 403 (after a 5xx, clients retry for half a minute)
        self.refusal: tuple[int, dict[str, str]] | None = None  # status and headers of every answer
        self.etag = ""  # of weights, instead of their SHA-256
        self.cuts = 0  # how often the connection breaks in the middle of weights
        self.resumed: list[int] = []  # first bytes of the requests for the rest of a file
        self.discussions = True  # a mirror answers with a page instead
        self.delays: dict[str, float] = {}  # end of a path -> seconds before its answer
        self.hang = threading.Event()
        self.hang.set()  # not hanging

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, repo: str, folder: Path, *, without: tuple[str, ...] = ()) -> None:
        files = {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
        self.repos[repo] = {name: body for name, body in files.items() if name not in without}


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.hang.wait(30)
        path = urlsplit(self.path).path.strip("/")
        if self.server.refusal:
            self.refuse(self.server.refusal[0], "", **self.server.refusal[1])
        elif path.startswith(STORAGE):
            self.store(*path.removeprefix(STORAGE).split("/", 1))
        else:
            self.answer()

    def answer(self) -> None:
        path = urlsplit(self.path).path.strip("/")
        self.server.asked.append(path)
        time.sleep(self.server.delays.get(path.rpartition("/")[2], 0.0))
        self.server.tokens.add(self.headers["Authorization"])
        api = path.startswith("api/models/")
        repo = next((r for r in self.server.repos if path.removeprefix("api/models/").startswith(r)), None)
        if repo is None:
            return self.refuse(401 if api else 404, "RepoNotFound")
        rest = path.removeprefix("api/models/").removeprefix(repo).strip("/")
        if api and rest == "discussions":
            return self.send(json.dumps(self.discussions(repo)).encode() if self.server.discussions else b"<html>")
        revisions = {ref: result for (one, ref), result in self.server.revisions.items() if one == repo}
        commit, files = SHA, self.server.repos[repo]
        revision = unquote(rest.partition("revision/")[2])
        known = {"", "main", SHA}
        for ref, (sha, there) in revisions.items():
            known |= {ref, sha}
            if revision in (ref, sha) or f"/{sha}/" in f"{path}/":
                commit, files = sha, there
        if revision not in known:
            return self.refuse(404, "RevisionNotFound")
        entries = [
            {
                "type": "file",
                "path": n,
                "rfilename": n,
                "size": len(b),
                "oid": hashlib.sha1(b).hexdigest(),
                "blobId": hashlib.sha1(b).hexdigest(),
            }  # fmt: skip
            for n, b in files.items()
        ]
        if api and rest.startswith("tree/"):
            return self.send(json.dumps(entries).encode())
        if api:
            gated = "manual" if repo in self.server.gated else False
            return self.send(json.dumps({"id": repo, "sha": commit, "siblings": entries, "gated": gated}).encode())
        if repo in self.server.gated:
            return self.refuse(403, "GatedRepo")
        name = rest.removeprefix(f"resolve/{commit}/")
        if name in self.server.broken:
            return self.refuse(403, "")
        return self.file(repo, name, files, commit) if name in files else self.refuse(404, "EntryNotFound")

    def discussions(self, repo: str) -> dict[str, Any]:
        """The pull request that adds safetensors, if there is one."""
        author = self.server.authors.get(repo)
        pull_request = {"num": 1, "title": "Adding safetensors", "status": "open", "isPullRequest": True,
               "author": {"name": author}, "repo": {"name": repo, "type": "model"},
               "createdAt": "2023-09-01T00:00:00.000Z"}  # fmt: skip
        return {"discussions": [pull_request] if author else [], "count": int(bool(author)), "start": 0}

    def send(self, body: bytes, commit: str = SHA) -> None:
        self.head(200, len(body), ETag=f'"{hashlib.sha1(body).hexdigest()}"', X_Repo_Commit=commit)
        if self.command == "GET":
            self.wfile.write(body)

    def file(self, repo: str, name: str, files: dict[str, bytes], commit: str) -> None:
        """A small file; weights are in the storage for large files, on another host."""
        if not name.endswith((".safetensors", ".bin")):
            return self.send(files[name], commit)
        location = f"http://localhost:{self.server.server_port}/{STORAGE}{commit}/{repo}/{name}"
        etag, size = self.server.etag or hashlib.sha256(files[name]).hexdigest(), len(files[name])
        self.head(302, 0, Location=location, X_Linked_Etag=f'"{etag}"', X_Linked_Size=size, X_Repo_Commit=commit)

    def store(self, commit: str, path: str) -> None:
        """A large file, or the rest of it."""
        assert not self.headers["Authorization"], "a token left the hub"
        repo = next(repo for repo in self.server.repos if path.startswith(f"{repo}/"))
        name = path.removeprefix(f"{repo}/")
        revisions = {sha: files for (one, _), (sha, files) in self.server.revisions.items() if one == repo}
        body = revisions.get(commit, self.server.repos[repo])[name]
        wanted = self.headers["Range"] or ""
        first = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        if wanted:
            self.server.resumed.append(first)
            self.head(206, len(body) - first, Content_Range=f"bytes {first}-{len(body) - 1}/{len(body)}")
        else:
            self.head(200, len(body))
        half = len(body) // 2 if len(body) > 20_000 and not wanted else 0
        time.sleep(self.server.pause_s if half else 0)
        self.wfile.write(body[first:half] if half else b"")
        if self.server.cuts > 0:
            self.server.cuts -= 1
            self.close_connection = True
            return
        time.sleep(self.server.pause_s if half else 0)
        self.wfile.write(body[max(half, first) :])

    def head(self, status: int, length: int, **headers: Any) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content_Length": length}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def refuse(self, status: int, code: str, **headers: str) -> None:
        self.head(status, 0, **{"X_Error_Code": code, **headers})


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Point huggingface_hub at an address, with an empty cache."""
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))

    def to(url: str) -> None:
        huggingface_hub.close_session()
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", url)
        template = url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)

    yield to
    huggingface_hub.close_session()


@pytest.fixture
def hub(connect: Callable[[str], None], tiny: Tiny) -> Iterator[Hub]:
    """A hub with a tiny BERT called NAME."""
    server = Hub()
    server.put(NAME, tiny("bert"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    connect(server.url)
    yield server
    server.hang.set()
    server.shutdown()
    server.server_close()
