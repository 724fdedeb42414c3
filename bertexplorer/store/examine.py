"""What is checked before a checkpoint is loaded. One from outside is opened in a separate process first, and rejected
if that hangs or crashes. Each must fit into memory, as a server that runs out of memory is killed."""

import hashlib
import json
import struct
import time
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from bertexplorer.errors import ExplorerError
from bertexplorer.model.layout import encoder_folder
from bertexplorer.model.text import MAX_CHARACTERS, Tokenizer, without_panic
from bertexplorer.store import sandbox, sentence_files, tokenizer_bounds

FORMAT = "3"  # of this examination; results of other versions do not count
SECONDS, MEGABYTES = 60.0, 1000  # that the separate process may take
MAX_HEADER_BYTES = 4_000_000  # of a safetensors header; that of BERT-large has 50,000
MAX_FILE_BYTES = 100_000_000  # of a vocabulary
SUFFIXES = (".json", ".txt", ".model", ".jinja")  # of the files that a tokenizer is built from
LONG, SHORT = 2000, 60  # repetitions that reveal regular expressions with cubic or exponential run time
PROBES = ("The cat sat on the mat.", "Caf\u00e9 \u4e2d\u6587 \U0001f600 don't 3.14!", "[MASK] <mask>")
WORDS = "unfathomably quick brown foxes jump over 1,234 lazy dogs. "
REPEATED = ("a", "A", "1", " ", ".", "_", "\n", "\u4e2d", "a ", "a.")
TEXT_SECONDS = 3.0  # of the processor, for the longest text: all other answers of the server wait for so long
MAX_TOKENS = MAX_CHARACTERS * tokenizer_bounds.MAX_GROWTH  # that a tokenizer may make of it
RETRY_S = 86_400.0  # after which what hung or crashed is examined again: the machine may have been busy
verdicts: dict[str, str] = {}  # of the checkpoints that this process has examined: key -> why it is refused, or ""
RESERVE_BYTES = 500_000_000  # to leave free for computing answers
ITEM_BYTES = {"fp32": 4, "bf16": 2}
CGROUP = Path("/sys/fs/cgroup")  # limits of a container
MEMINFO = Path("/proc/meminfo")


def check_kinds(name: str, folder: Path) -> None:
    """Raises ExplorerError if something in *folder* is neither a file nor a folder: reading a pipe would wait for
    ever."""
    for path in folder.rglob("*"):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ExplorerError(f"{path.name} of {name} is not a file. Choose another checkpoint.")


def examine(name: str, folder: Path, data_dir: Path) -> None:
    """Raises ExplorerError if the checkpoint in *folder* cannot be opened safely. The verdict is remembered in
    *data_dir* by a hash of what was examined."""
    # 1. The files that other libraries parse.
    weights = weight_files(folder)
    paths = {*folder.iterdir(), *encoder_folder(folder).iterdir()}
    others = sorted(path for path in paths if path.suffix in SUFFIXES and path.is_file())
    for file in others:
        if (size := file.stat().st_size) > MAX_FILE_BYTES:
            limit = f"{MAX_FILE_BYTES / 1e6:,.0f} MB at most"
            raise ExplorerError(f"{file.name} of {name} has {size / 1e6:,.0f} MB; wanted {limit}. Choose another one.")
    # 2. A hash of them: of weights, the headers alone.
    digest = hashlib.sha256(FORMAT.encode())
    for file in weights:
        digest.update(read_header(file, name))
    for file in others:
        digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while part := stream.read(1_000_000):
                digest.update(part)
    # 3. The verdict.
    key = digest.hexdigest()
    verdict = remembered_verdict(key, data_dir)
    if verdict is None:
        verdict = judge(folder, data_dir / "examined" / key)
    verdicts[key] = verdict
    if verdict:
        raise ExplorerError(f"{name} cannot be used: {verdict}")


def remembered_verdict(key: str, data_dir: Path) -> str | None:
    """Why the files with this *key* are refused, "" if they are not, and None if they have to be examined."""
    mark = data_dir / "examined" / key
    refused = mark.with_suffix(".refused")
    failed = mark.with_suffix(".failed")
    with suppress(OSError):
        if mark.is_file():
            return ""
        if refused.is_file():
            return refused.read_text("utf-8")
        if failed.is_file():
            return failed.read_text("utf-8") if time.time() - failed.stat().st_mtime < RETRY_S else None
    return verdicts.get(key)  # the disk may be full


def judge(folder: Path, mark: Path) -> str:
    """Why the checkpoint in *folder* is refused, "" if it is not. That is written to the file *mark*, or beside it,
    where `remembered_verdict` looks."""
    verdict = ""
    try:
        sandbox.call(open_files, str(folder.resolve()), seconds=SECONDS, megabytes=MEGABYTES)
    except ExplorerError as error:
        verdict = str(error)
        mark = mark.with_suffix(".refused")
    except sandbox.SandboxError as error:
        verdict = f"opening its files {error}, so they are damaged or harmful. Choose another checkpoint."
        mark = mark.with_suffix(".failed")
    with suppress(OSError):  # then it is examined again after a restart
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(verdict, "utf-8")
    return verdict


def weight_files(folder: Path) -> list[Path]:
    """The safetensors in *folder*, with those of a sentence encoder's layers."""
    modules = [file for file in sentence_files.find_files(folder) if file.suffix == ".safetensors"]
    return sorted({*folder.glob("*.safetensors"), *modules})


def read_header(file: Path, name: str) -> bytes:
    """The name, size and header of a safetensors file. Raises ExplorerError if the header is longer than that of any
    checkpoint. Loading reports files that are too short."""
    with file.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        size = file.stat().st_size
        if MAX_HEADER_BYTES < length <= size:  # loading reports a header that is longer than the file
            raise ExplorerError(
                f"{file.name} of {name} has a header of {length / 1e6:,.1f} MB; wanted "
                f"{MAX_HEADER_BYTES / 1e6:.0f} MB at most. Choose another checkpoint."
            )
        return f"{file.name}\0{size}\0".encode() + start + stream.read(min(length, MAX_HEADER_BYTES))


def open_files(folder: str) -> None:
    """Open all files that other libraries parse, and tokenize texts. Loading reports ordinary Python errors.

    Raises ExplorerError for a tokenizer that may cost more than that of any encoder does."""
    for file in weight_files(Path(folder)):
        with suppress(Exception), safe_open(file, framework="np") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - not a dict
                tensors.get_slice(name).get_shape()
    tokenizer_bounds.check(described_tokenizer(encoder_folder(Path(folder))))
    tokenizer = None
    with suppress(ExplorerError):
        tokenizer = Tokenizer.from_folder(encoder_folder(Path(folder)), max_tokens=512, pad_id=0)
    if tokenizer is None:
        return
    parts = json.loads(tokenizer.backend.to_str())  # which need not be what the file says
    tokenizer_bounds.check(parts)
    letters = tokenizer_bounds.telling_letters(parts)
    repeated = dict.fromkeys((*REPEATED, *letters))
    texts = [*PROBES]
    for count in (SHORT, LONG):
        texts += [pattern * count + "!" for pattern in repeated]
    for text in texts:
        with suppress(ExplorerError):
            tokenizer.encode(text)
    for text in (WORDS, *repeated):
        check_cost(tokenizer, (text * MAX_CHARACTERS)[:MAX_CHARACTERS])


def described_tokenizer(folder: Path) -> Any:
    """The content of tokenizer.json; None if there is none that can be read, which loading reports."""
    try:
        return json.loads((folder / "tokenizer.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def check_cost(tokenizer: Tokenizer, text: str) -> None:
    """Raises ExplorerError if *tokenizer* takes too long for a *text* of the greatest length, or makes too much of it.
    A text that it cannot read is an error of that text."""
    begun = time.process_time()
    tokens = 0
    with suppress(ExplorerError), without_panic():
        tokens = len(tokenizer.backend.encode(text))
    seconds = time.process_time() - begun
    about = f"Its tokenizer, for {len(text):,} characters ({text[:8]!r}…),"
    if seconds > TEXT_SECONDS:
        raise ExplorerError(f"{about} takes {seconds:.1f} s; wanted {TEXT_SECONDS:g} at most. Choose another one.")
    if tokens > MAX_TOKENS:
        raise ExplorerError(f"{about} makes {tokens:,} tokens; wanted {MAX_TOKENS:,} at most. Choose another one.")


def free_bytes() -> int | None:
    """The free memory of this machine or container; None if unknown."""
    limits = []
    if MEMINFO.is_file():
        for line in MEMINFO.read_text().splitlines():
            if "MemAvailable" in line:
                limits.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # not in a container
        limit = (CGROUP / "memory.max").read_text().strip()
        used = int((CGROUP / "memory.current").read_text())
        cached = 0  # files in memory, which the kernel gives up
        for line in (CGROUP / "memory.stat").read_text().splitlines():
            name, number = line.split()
            if name in ("active_file", "inactive_file"):  # other lines count events
                cached += int(number)
        if limit != "max":
            limits.append(int(limit) - used + cached)
    return min(limits, default=None)


def weight_bytes(folder: Path, precision: str) -> int:
    """Bytes that the weights in *folder* need at *precision* (fp32 or bf16), by the shapes in their headers. 0 if a
    header cannot be read, which loading reports."""
    count = 0  # of numbers
    for file in weight_files(folder):
        try:
            with safe_open(file, framework="np") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - not a dict
                    count += prod(tensors.get_slice(name).get_shape())
        except (SafetensorError, OSError):
            return 0
    return count * ITEM_BYTES[precision]


def missing_bytes(name: str, folder: Path, precision: str, evictable: int) -> int:
    """How many of the *evictable* bytes, those of loaded checkpoints, must be freed before the checkpoint fits. Raises
    ExplorerError if freeing all of them is not enough."""
    free = free_bytes()
    if free is None:
        return 0
    needed = weight_bytes(folder, precision)
    available = max(0, free + evictable - RESERVE_BYTES)
    if needed > available:
        raise ExplorerError(
            f"{name} takes {needed / 1e9:,.1f} GB of memory and {available / 1e9:,.1f} GB are available. Choose a "
            "smaller checkpoint, or precision bf16 where the processor has it."
        )
    return max(0, needed + RESERVE_BYTES - free)
