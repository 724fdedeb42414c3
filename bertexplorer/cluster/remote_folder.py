"""The folder of a run on object storage, through which the server and the nodes that train exchange it.

URL/owners/OWNER        who may write: the last name in order, NUMBER-WORD
URL/blobs/OWNER/SHA     contents
URL/states/OWNER.NUMBER JSON: which blobs make up which file; the last name in order counts

Blobs are written first and the state last, so that a state is whole or absent. A log is a sequence of blobs, of which
only the last ones are written anew. Object storage neither renames nor locks, and nothing here asks it to."""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.training.checkpointing import MANIFEST, digest
from bertexplorer.training.ownership import Superseded

LOGS = ("events.jsonl", "log.txt", "output.txt")  # only ever appended to
GIVEN = ("spec.json", "inputs")  # what the server alone writes
PRUNED = ("best", "commits", "snapshots")  # folders in which a run deletes
LOCAL = ("epoch", "lock", "name", "process", "stop", "trouble")  # what stays where it is
SMALL = 1 << 20  # bytes of files that are read before they are hashed, as they may be written anew meanwhile
ATTEMPTS = 5  # at a folder or a state that changes while it is read
KEPT = 2  # states

Blob = tuple[str, int]  # its name below URL/blobs, and its bytes
State = dict[str, tuple[Blob, ...]]  # path in the folder -> its contents


class Refused(OSError):
    """Raised if the storage cannot be read or written, with the reason as a sentence."""

    def __init__(self, url: str, why: object) -> None:
        super().__init__(f"{url} refuses: {why or type(why).__name__}")


@contextmanager
def refusals(url: str) -> Iterator[None]:
    """Turn whatever a file system of fsspec raises into Refused; files that are missing stay FileNotFoundError."""
    try:
        yield
    except (FileNotFoundError, Refused, Superseded):
        raise
    except Exception as error:  # each library has errors of its own
        raise Refused(url, error) from error


class RemoteFolder:
    """One run below *url*, as fsspec writes it: s3://bucket/runs/ID, gs://…, file:///mnt/…. Not for several threads.

    >>> remote = RemoteFolder("memory://runs/1")
    >>> remote.take()
    >>> remote.push(folder)  # True, as it was new
    >>> RemoteFolder("memory://runs/1").pull(elsewhere)
    """

    def __init__(self, url: str) -> None:
        """Raises Refused if fsspec has no library for it."""
        self.url = url.rstrip("/")
        self.owner = ""  # our name as a writer; "" before `take`
        self.seen = ""  # the state that was last written or read
        self.states: list[State] = []  # the last ones that were written or read
        self.sums: dict[str, tuple[int, int, str]] = {}  # path -> its bytes, its time, its sha256
        local = self.url.startswith(("file:", "local:"))
        more: dict[str, Any] = {"auto_mkdir": True} if local else {}
        with refusals(self.url):
            import fsspec  # of the extra "ray"

            self.files, self.root = fsspec.url_to_fs(self.url, use_listings_cache=False, **more)

    @property
    def state(self) -> State:
        return self.states[-1] if self.states else {}

    def names(self, kind: str) -> list[str]:
        """The names below URL/*kind*, in order."""
        with refusals(self.url):
            self.files.invalidate_cache()
            try:
                found = self.files.ls(f"{self.root}/{kind}", detail=False)
            except FileNotFoundError:
                return []
        return sorted(name for path in found if (name := PurePosixPath(path).name) != kind)

    def write(self, name: str, content: bytes | Path) -> None:
        with refusals(self.url):
            if isinstance(content, Path):
                self.files.put_file(str(content), f"{self.root}/{name}")
            else:
                self.files.pipe_file(f"{self.root}/{name}", content)

    def read(self, name: str) -> bytes:
        with refusals(self.url):
            return bytes(self.files.cat_file(f"{self.root}/{name}"))

    def remove(self) -> None:
        """Delete the run from the storage."""
        with refusals(self.url), suppress(FileNotFoundError):
            self.files.rm(self.root, recursive=True)

    def take(self) -> None:
        """Become the owner: whoever was it before writes nothing that counts any more."""
        before = self.names("owners")
        number = int(before[-1].partition("-")[0]) + 1 if before else 1
        self.owner = f"{number:08d}-{secrets.token_hex(4)}"
        self.write(f"owners/{self.owner}", b"1")

    def check(self) -> None:
        """Raises Superseded if there is a later owner, and Refused if the storage has lost the run."""
        owners = self.names("owners")
        if not owners:
            raise Refused(self.url, "the run is not there any more.")
        if owners[-1] != self.owner:
            raise Superseded(f"Another process goes on with the run in {self.url}. This one stops without a trace.")

    def push(self, folder: Path, inputs: Mapping[str, Path] | None = None) -> bool:
        """Write what has changed in *folder* as a new state; False if nothing has. *inputs*: names below inputs/ ->
        files or folders from elsewhere; with them goes spec.json, which else stays as it was.

        Raises Superseded, and Refused, after which the earlier state counts on."""
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError):  # a commit that was deleted meanwhile
                return self.pushed(folder, inputs)
        raise Refused(self.url, f"files in {folder} vanish while they are read.")

    def pushed(self, folder: Path, inputs: Mapping[str, Path] | None) -> bool:
        paths = {name: folder / name for name in scan(folder) if inputs is not None or not given(name)}
        for name, source in (inputs or {}).items():
            inside = [f"/{path}" for path in scan(source)] if source.is_dir() else [""]
            paths |= {f"inputs/{name}{path}": Path(f"{source}{path}") for path in inside}
        new = {} if inputs is not None else {name: held for name, held in self.state.items() if given(name)}
        contents: dict[str, bytes | Path] = {}
        logs_first = sorted(paths, key=lambda name: name not in LOGS)  # no log speaks of a commit that is not there
        new |= {name: self.blobs(name, paths[name], contents) for name in logs_first}
        mine, _, number = self.seen.rpartition(".")
        if new == self.state and mine == self.owner:
            return False
        self.check()
        for name, content in contents.items():
            self.write(f"blobs/{name}", content)
        name = f"{self.owner}.{int(number) + 1 if mine == self.owner else 0:08d}"
        self.write(f"states/{name}", json.dumps({"files": new}).encode())
        self.seen, self.states = name, [*self.states, new]
        self.prune()
        return True

    def blobs(self, name: str, path: Path, contents: dict[str, bytes | Path]) -> tuple[Blob, ...]:
        """The blobs of a file. Those that are not there yet are added to *contents*, by name."""
        stat = path.stat()
        held = self.state.get(name, ())
        if name not in LOGS and stat.st_size > SMALL:
            known = self.sums.get(str(path), (0, 0, ""))
            if known[:2] != (stat.st_size, stat.st_mtime_ns):
                known = self.sums[str(path)] = (stat.st_size, stat.st_mtime_ns, digest(path))
            return (self.blob(known[2], stat.st_size, path, contents),)
        data, whole, at = path.read_bytes(), [], 0
        for blob in held if name in LOGS else ():
            if sha256(data[at : at + blob[1]]).hexdigest() != named(blob):
                break
            whole.append(blob)
            at += blob[1]
        while whole and at < len(data) and whole[-1][1] <= len(data) - at:  # so that there are few of them
            at -= whole.pop()[1]
        if at == len(data) and whole:
            return tuple(whole)
        return (*whole, self.blob(sha256(data[at:]).hexdigest(), len(data) - at, data[at:], contents))

    def blob(self, sha: str, size: int, content: bytes | Path, contents: dict[str, bytes | Path]) -> Blob:
        """The blob of this content: one of the last state, or a new one."""
        there = {named(blob): blob for blobs in self.state.values() for blob in blobs}
        if sha not in there:
            contents[f"{self.owner}/{sha}"] = content
        return there.get(sha, (f"{self.owner}/{sha}", size))

    def prune(self) -> None:
        """Delete what only the states before the last ones needed. What others have written stays."""
        gone, self.states = self.states[:-KEPT], self.states[-KEPT:]
        needed = {blob for state in self.states for blobs in state.values() for blob in blobs}
        old = {blob for state in gone for blobs in state.values() for blob in blobs} - needed
        mine = [name for name in self.names("states") if name <= self.seen]
        with refusals(self.url):
            for path in [f"blobs/{name}" for name, _ in sorted(old)] + [f"states/{name}" for name in mine[:-KEPT]]:
                with suppress(FileNotFoundError):
                    self.files.rm_file(f"{self.root}/{path}")

    def pull(self, folder: Path, *, inputs: bool = False) -> bool:
        """Bring *folder* to the newest state; False if it is there already, or if there is none. *inputs*: also
        spec.json and inputs/. Raises Refused."""
        for _ in range(ATTEMPTS):
            names = self.names("states")[-KEPT:]
            if not names or names[-1] == self.seen:
                return False
            with suppress(FileNotFoundError):  # a later state has come meanwhile
                return self.pulled(folder, names, inputs)
        raise Refused(self.url, "its states vanish while they are read.")

    def pulled(self, folder: Path, names: list[str], inputs: bool) -> bool:
        for name in reversed(names):
            try:
                state = {path: tuple((b, n) for b, n in held) for path, held in parsed(self.read(f"states/{name}"))}
            except ValueError:  # half written, on storage that shows that
                continue
            wanted = {path: held for path, held in state.items() if inputs or not given(path)}
            for path in sorted(wanted, key=lambda path: (path in LOGS, path.endswith(MANIFEST))):
                if self.state.get(path) != wanted[path]:
                    self.fetch(folder / path, wanted[path])
            tidy(folder, wanted)
            self.seen, self.states = name, [state]
            return True
        return False

    def fetch(self, target: Path, blobs: tuple[Blob, ...]) -> None:
        """Write the file that *blobs* make up, reading only those that it does not hold yet. It is replaced at once."""
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".{target.name}.partial")
        if len(blobs) == 1:  # perhaps large
            ((name, size),) = blobs
            if target.is_file() and target.stat().st_size == size and digest(target) == named(blobs[0]):
                return
            with refusals(self.url):
                self.files.get_file(f"{self.root}/blobs/{name}", str(aside))
            if digest(aside) != named(blobs[0]):
                raise Refused(self.url, f"{name} is damaged.")
        else:
            aside.write_bytes(b"".join(self.joined(target, blobs)))
        aside.replace(target)

    def joined(self, target: Path, blobs: tuple[Blob, ...]) -> Iterator[bytes]:
        """The contents of *blobs*, from *target* as far as it holds them."""
        before, at = target.read_bytes() if target.is_file() else b"", 0
        for name, size in blobs:
            content = before[at : at + size]
            if sha256(content).hexdigest() != named((name, size)):
                content = self.read(f"blobs/{name}")
            if sha256(content).hexdigest() != named((name, size)):
                raise Refused(self.url, f"{name} is damaged.")
            yield content
            at += size


def probe(url: str) -> None:
    """Write, read and delete below *url*. Raises ExplorerError if that cannot be done."""
    word = secrets.token_hex(4)
    try:
        remote = RemoteFolder(f"{url}/.probe-{word}")
        remote.write(word, word.encode())
        read = remote.read(word)
        remote.remove()
    except OSError as error:
        raise ExplorerError(
            f"BERTEXPLORER_RUNS_URL cannot be used: {error}. Name a folder that can be written."
        ) from error
    if read != word.encode():
        raise ExplorerError(f"BERTEXPLORER_RUNS_URL is {url}, which reads back other contents than were written.")


def named(blob: Blob) -> str:
    """The sha256 in the name of a blob."""
    return blob[0].rpartition("/")[2]


def given(path: str) -> bool:
    return path.split("/")[0] in GIVEN


def parsed(state: bytes) -> list[tuple[str, list[Blob]]]:
    """The files of a state. Raises ValueError if it is cut off."""
    files: dict[str, list[Blob]] = json.loads(state)["files"]
    return list(files.items())


def scan(folder: Path) -> list[str]:
    """The files in *folder*, as paths in it, without hidden ones and those that are of this machine alone."""
    found = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    kept = [path for path in found if not any(part.startswith(".") for part in path.parts)]
    return [path.as_posix() for path in kept if str(path) not in LOCAL]


def tidy(folder: Path, wanted: State) -> None:
    """Delete what the run has deleted; the manifest of a commit first."""
    gone = [path for path in scan(folder) if path.split("/")[0] in PRUNED and path not in wanted]
    for path in sorted(gone, key=lambda path: not path.endswith(MANIFEST)):
        (folder / path).unlink(missing_ok=True)
    for place in sorted({(folder / path).parent for path in gone}, reverse=True):
        with suppress(OSError):  # it holds something still
            place.rmdir()
