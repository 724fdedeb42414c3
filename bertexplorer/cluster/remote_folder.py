"""The folder of a run on object storage, through which the server and the training nodes exchange files.

URL/owners/OWNER        who may write: the last name in order, NUMBER-RANDOM
URL/blobs/OWNER/SHA     contents
URL/states/OWNER.NUMBER JSON: the blobs of each file; the last name in order is the current state

Blobs are written first and the state last, so that a state is either complete or absent. A log is a sequence of blobs,
of which only the last ones are rewritten. Object storage can neither rename nor lock, and neither is needed here."""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bertexplorer.errors import describe
from bertexplorer.training.checkpointing import MANIFEST, digest
from bertexplorer.training.ownership import Superseded

LOGS = ("events.jsonl", "log.txt", "output.txt", "suite/outcomes.jsonl")  # append-only
SERVER_FILES = ("spec.json", "inputs")  # written by the server only
PRUNED_FOLDERS = ("best", "commits", "snapshots")  # in which a run deletes files
LOCAL = ("epoch", "launch", "lock", "name", "process", "stop", "trouble", "vectors")  # never synchronized
SMALL_BYTES = 1 << 20  # smaller files are read before they are hashed, as the run may rewrite them meanwhile
ATTEMPTS = 5  # to read a folder or a state that changes meanwhile
KEPT_STATES = 2


class Blob(NamedTuple):
    """A content on the storage."""

    name: str  # below URL/blobs: OWNER/SHA
    size: int  # bytes

    @property
    def sha(self) -> str:
        """The SHA-256 of the content."""
        return self.name.rpartition("/")[2]


FolderState = dict[str, tuple[Blob, ...]]  # path in the folder -> its contents


class StorageError(OSError):
    """Raised if the storage cannot be read or written."""

    def __init__(self, url: str, reason: object) -> None:
        super().__init__(f"The storage of runs failed: {describe(reason)}")


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turn any error of fsspec into a StorageError, except FileNotFoundError."""
    try:
        yield
    except (FileNotFoundError, StorageError, Superseded):
        raise
    except Exception as error:  # each library has its own errors
        raise StorageError(url, error) from error


class RemoteFolder:
    """One run below *url* as fsspec writes it: s3://bucket/runs/ID, gs://…, file:///mnt/…. Not thread-safe.

    >>> from tempfile import TemporaryDirectory
    >>> remote = RemoteFolder("memory://runs/1")
    >>> remote.take_ownership()
    >>> with TemporaryDirectory() as folder, TemporaryDirectory() as other_folder:
    ...     _ = Path(folder, "events.jsonl").write_text("{}")
    ...     remote.push(Path(folder)), RemoteFolder("memory://runs/1").pull(Path(other_folder))
    (True, True)
    """

    def __init__(self, url: str) -> None:
        """Raises StorageError if fsspec has no library for it."""
        self.url = url.rstrip("/")
        self.owner = ""  # our name as a writer; "" before `take_ownership`
        self.state_name = ""  # of the state that was last written or read
        self.states: list[FolderState] = []  # the last ones that were written or read, the newest last
        self.digests: dict[str, tuple[int, int, str]] = {}  # path -> size, mtime in ns, sha256
        options = {"use_listings_cache": False}
        if self.url.startswith(("file:", "local:")):
            options["auto_mkdir"] = True
        with storage_errors(self.url):
            import fsspec  # from the extra "ray"

            self.files, self.root = fsspec.url_to_fs(self.url, **options)

    @property
    def state(self) -> FolderState:
        """The state that was last written or read, {} if there is none."""
        return self.states[-1] if self.states else {}

    def names(self, kind: str) -> list[str]:
        """The names below URL/*kind*, in order."""
        with storage_errors(self.url):
            self.files.invalidate_cache()
            try:
                paths = self.files.ls(f"{self.root}/{kind}", detail=False)
            except FileNotFoundError:
                return []
        names = [PurePosixPath(path).name for path in paths]
        return sorted(name for name in names if name != kind)  # some storage lists the folder itself

    def write(self, name: str, content: bytes | Path) -> None:
        """Write *content*, or that of a file, as URL/*name*. Raises StorageError, and FileNotFoundError."""
        with storage_errors(self.url):
            if isinstance(content, Path):
                self.files.put_file(str(content), f"{self.root}/{name}")
            else:
                self.files.pipe_file(f"{self.root}/{name}", content)

    def read(self, name: str) -> bytes:
        """The content of URL/*name*. Raises StorageError, and FileNotFoundError."""
        with storage_errors(self.url):
            return bytes(self.files.cat_file(f"{self.root}/{name}"))

    def delete(self) -> None:
        """Delete the run from the storage."""
        with storage_errors(self.url), suppress(FileNotFoundError):
            self.files.rm(self.root, recursive=True)

    def take_ownership(self) -> None:
        """Become the only writer: states of earlier owners no longer count."""
        owners = self.names("owners")
        number = int(owners[-1].partition("-")[0]) + 1 if owners else 1
        self.owner = f"{number:08d}-{secrets.token_hex(4)}"
        self.write(f"owners/{self.owner}", b"1")

    def check_ownership(self) -> None:
        """Raises Superseded if there is a later owner, and StorageError if the run has vanished from the storage."""
        owners = self.names("owners")
        if not owners:
            raise StorageError(self.url, "the run is no longer there")
        if owners[-1] != self.owner:
            raise Superseded("Another process has taken over the run. This one stops without writing anything.")

    def push(self, folder: Path, inputs: Mapping[str, Path] | None = None) -> bool:
        """Write the changes in *folder* as a new state; False if there are none. *inputs*: names below inputs/ ->
        files or folders from elsewhere. spec.json is written only together with them.

        Raises Superseded, and StorageError, after which the earlier state still counts."""
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError):  # the run has just deleted or changed a file
                return self.push_once(folder, inputs)
        raise StorageError(self.url, "files of the run change while they are read")

    def push_once(self, folder: Path, inputs: Mapping[str, Path] | None) -> bool:
        """As `push`. Raises FileNotFoundError if a file changes while it is read."""
        # 1. The files. Those of the server change only together with the inputs.
        paths = {name: folder / name for name in list_files(folder)}
        if inputs is None:
            paths = {name: path for name, path in paths.items() if not is_server_file(name)}
        for name, source in (inputs or {}).items():
            if source.is_dir():
                for path in list_files(source):
                    paths[f"inputs/{name}/{path}"] = source / path
            else:
                paths[f"inputs/{name}"] = source
        # 2. Their blobs, logs first, so that no log mentions a missing commit.
        state: FolderState = {}
        if inputs is None:
            state = {name: blobs for name, blobs in self.state.items() if is_server_file(name)}
        contents: dict[str, bytes | Path] = {}
        for name in sorted(paths, key=lambda name: name not in LOGS):
            state[name] = self.split(name, paths[name], contents)
        owner, _, last_number = self.state_name.rpartition(".")
        is_own = owner == self.owner
        if is_own and state == self.state:
            return False
        # 3. The blobs that the storage lacks, then the state.
        self.check_ownership()
        for name, content in contents.items():
            self.write(f"blobs/{name}", content)
            if isinstance(content, Path) and self.digests[str(content)][:2] != size_and_time(content):
                raise FileNotFoundError(content)
        number = int(last_number) + 1 if is_own else 0
        state_name = f"{self.owner}.{number:08d}"
        self.write(f"states/{state_name}", json.dumps({"files": state}).encode())
        self.state_name = state_name
        self.states = [*self.states, state]
        self.prune()
        return True

    def split(self, name: str, path: Path, contents: dict[str, bytes | Path]) -> tuple[Blob, ...]:
        """The blobs of a file. The contents of new ones are added to *contents*, by name."""
        # 1. A large file is one blob, which is hashed once.
        size, mtime = size_and_time(path)
        if name not in LOGS and size > SMALL_BYTES:
            known_size, known_mtime, sha = self.digests.get(str(path), (0, 0, ""))
            if (known_size, known_mtime) != (size, mtime):
                sha = digest(path)
                self.digests[str(path)] = (size, mtime, sha)
            return (self.reuse_or_add(sha, size, path, contents),)
        # 2. A log begins with the blobs of before, as far as they are unchanged.
        data = path.read_bytes()
        earlier = self.state.get(name, ()) if name in LOGS else ()
        blobs: list[Blob] = []
        position = 0
        for blob in earlier:
            if sha256(data[position : position + blob.size]).hexdigest() != blob.sha:
                break
            blobs.append(blob)
            position += blob.size
        # 3. What follows is one more. It takes in those before it that are no longer: their number stays logarithmic.
        while blobs and position < len(data) and blobs[-1].size <= len(data) - position:
            position -= blobs.pop().size
        if position == len(data) and blobs:
            return tuple(blobs)
        rest = data[position:]
        return (*blobs, self.reuse_or_add(sha256(rest).hexdigest(), len(rest), rest, contents))

    def reuse_or_add(self, sha: str, size: int, content: bytes | Path, contents: dict[str, bytes | Path]) -> Blob:
        """The blob with this content from the last state, or a new one, which is added to *contents*."""
        existing = {blob.sha: blob for blobs in self.state.values() for blob in blobs}
        if sha in existing:
            return existing[sha]
        blob = Blob(f"{self.owner}/{sha}", size)
        contents[blob.name] = content
        return blob

    def prune(self) -> None:
        """Delete the older of our states, and the blobs that only they needed. Other owners' files stay."""
        old_states = self.states[:-KEPT_STATES]
        self.states = self.states[-KEPT_STATES:]
        old_blobs = blobs_of(old_states) - blobs_of(self.states)
        old_names = [name for name in self.names("states") if name <= self.state_name][:-KEPT_STATES]
        paths = [f"blobs/{blob.name}" for blob in sorted(old_blobs)]
        paths += [f"states/{name}" for name in old_names]
        with storage_errors(self.url):
            for path in paths:
                with suppress(FileNotFoundError):
                    self.files.rm_file(f"{self.root}/{path}")

    def pull(self, folder: Path, *, inputs: bool = False) -> bool:
        """Bring *folder* to the newest state; False if it has that already, or if there is none. *inputs*: also
        spec.json and inputs/. Raises StorageError."""
        for _ in range(ATTEMPTS):
            names = self.names("states")[-KEPT_STATES:]
            if not names or names[-1] == self.state_name:
                return False
            with suppress(FileNotFoundError):  # a later state has replaced this one
                return self.pull_once(folder, names, inputs)
        raise StorageError(self.url, "its states vanish while they are read")

    def pull_once(self, folder: Path, names: list[str], inputs: bool) -> bool:
        """As `pull`, of the last complete state among *names*. Raises FileNotFoundError if a later one replaces it."""
        newest = self.read_state(names)
        if newest is None:
            return False
        name, state = newest
        wanted = {path: blobs for path, blobs in state.items() if inputs or not is_server_file(path)}
        # Logs last, and before them the manifests: neither mentions what is not here.
        for path in sorted(wanted, key=lambda path: (path in LOGS, path.endswith(MANIFEST))):
            if self.state.get(path) != wanted[path]:
                self.fetch(folder / path, wanted[path])
        delete_others(folder, wanted)
        self.state_name = name
        self.states = [state]
        return True

    def read_state(self, names: list[str]) -> tuple[str, FolderState] | None:
        """The last complete state among *names*, with its name."""
        for name in reversed(names):
            with suppress(ValueError):  # incomplete: some storage shows files that are still being written
                return name, parse_state(self.read(f"states/{name}"))
        return None

    def read_log(self, name: str) -> bytes:
        """The content of a log in the newest state, empty if there is none. Raises OSError if it changes meanwhile."""
        newest = self.read_state(self.names("states")[-KEPT_STATES:])
        if newest is None:
            return b""
        _, state = newest
        return b"".join(self.read(f"blobs/{blob.name}") for blob in state.get(name, ()))

    def fetch(self, target: Path, blobs: tuple[Blob, ...]) -> None:
        """Replace the file *target* by the contents of *blobs*, in one step. Downloads only what it lacks. Raises
        StorageError for a damaged blob."""
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        if len(blobs) == 1:  # perhaps a large file
            [blob] = blobs
            if target.is_file() and target.stat().st_size == blob.size and digest(target) == blob.sha:
                return
            with storage_errors(self.url):
                self.files.get_file(f"{self.root}/blobs/{blob.name}", str(partial))
            if digest(partial) != blob.sha:
                raise StorageError(self.url, f"{blob.name} is damaged")
        else:
            partial.write_bytes(b"".join(self.read_blobs(blobs, target)))
        partial.replace(target)

    def read_blobs(self, blobs: tuple[Blob, ...], target: Path) -> Iterator[bytes]:
        """The contents of *blobs*, from the file *target* where it has them already. Raises StorageError for a damaged
        one."""
        data = target.read_bytes() if target.is_file() else b""
        position = 0
        for blob in blobs:
            content = data[position : position + blob.size]
            if sha256(content).hexdigest() != blob.sha:
                content = self.read(f"blobs/{blob.name}")
            if sha256(content).hexdigest() != blob.sha:
                raise StorageError(self.url, f"{blob.name} is damaged")
            yield content
            position += blob.size


def blobs_of(states: Iterable[FolderState]) -> set[Blob]:
    """All blobs that *states* need."""
    return {blob for state in states for blobs in state.values() for blob in blobs}


def is_server_file(path: str) -> bool:
    """Whether only the server writes *path*, which is relative to the folder."""
    return path.split("/")[0] in SERVER_FILES


def size_and_time(path: Path) -> tuple[int, int]:
    """(bytes, ns of the last change)."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def parse_state(content: bytes) -> FolderState:
    """The state that `push` has written. Raises ValueError if *content* is incomplete, or names a file outside the
    folder."""
    files: dict[str, list[tuple[str, int]]] = json.loads(content)["files"]
    state: FolderState = {}
    for path, blobs in files.items():
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError(f"{path!r} is outside the folder of the run")
        state[path] = tuple(Blob(name, size) for name, size in blobs)
    return state


def list_files(folder: Path) -> list[str]:
    """The files in *folder* as relative paths, sorted, without hidden ones and LOCAL."""
    names = []
    for path in sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()):
        is_hidden = any(part.startswith(".") for part in path.parts)
        if not is_hidden and path.parts[0] not in LOCAL:
            names.append(path.as_posix())
    return names


def delete_others(folder: Path, wanted: FolderState) -> None:
    """Delete what the run has deleted, the manifest of a commit first."""
    extra = [path for path in list_files(folder) if path.split("/")[0] in PRUNED_FOLDERS and path not in wanted]
    for path in sorted(extra, key=lambda path: not path.endswith(MANIFEST)):
        (folder / path).unlink(missing_ok=True)
    for parent in sorted({(folder / path).parent for path in extra}, reverse=True):
        with suppress(OSError):  # it is not empty
            parent.rmdir()
