"""Wire: calls, replies and settings as bytes. A frame: two lengths, a head of JSON, a body.

Nothing is unpickled. The body of a reply crosses as it is, so a figure of a megabyte is not parsed on its way."""

import json
import struct
from collections.abc import Collection
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import IO, Any

from bertexplorer.api.admission import Reply
from bertexplorer.api.calls import Call
from bertexplorer.settings import Settings

LENGTHS = struct.Struct(">II")
Head = dict[str, Any]
PATHS = ("models_dir", "data_dir", "lessons_dir")


def frame(head: Head, body: bytes = b"") -> bytes:
    written = json.dumps(head).encode()  # not orjson, which refuses lone surrogates, and people send them
    return LENGTHS.pack(len(written), len(body)) + written + body


def unframe(whole: bytes) -> tuple[Head, bytes]:
    """(head, body) of one frame."""
    size, _ = LENGTHS.unpack_from(whole)
    start = LENGTHS.size
    return json.loads(whole[start : start + size]), whole[start + size :]


def read(stream: IO[bytes]) -> tuple[Head, bytes] | None:
    """The next frame of *stream*; None at its end, also if it ends within a frame."""
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    size, more = LENGTHS.unpack(lengths)
    whole = stream.read(size + more)
    return None if len(whole) < size + more else (json.loads(whole[:size]), whole[size:])


def call_head(call: Call, owns: Collection[str] | None) -> Head:
    """*owns*: ids of the runs that the owner may open, None for all; only the front knows them."""
    return {**asdict(call), "owns": None if owns is None else sorted(owns)}


def call_of(head: Head) -> tuple[Call, set[str] | None]:
    """(the call, the ids of the runs that its owner may open)."""
    owns = head["owns"]
    return Call(**{one.name: head[one.name] for one in fields(Call)}), None if owns is None else set(owns)


def reply_frame(reply: Reply, **more: Any) -> bytes:
    return frame({"media": reply.media, "status": reply.status, "headers": reply.headers, **more}, reply.body)


def reply_of(head: Head, body: bytes) -> Reply:
    return Reply(body, head["media"], head["status"], head["headers"])


def settings_head(settings: Settings, share: int = 1) -> Head:
    """*settings* for a replica, without the access code. *share*: how many replicas share the memory of a machine."""
    memory: dict[str, Any] = {"memory_mb": max(1, settings.memory_mb // share), "cache_mb": settings.cache_mb // share}
    given = asdict(replace(settings, code="", **memory))
    return {name: str(value) if isinstance(value, Path) else value for name, value in given.items()}


def settings_of(head: Head) -> Settings:
    known = {one.name for one in fields(Settings)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in head.items() if name in known
    }
    values |= {name: Path(values[name]) for name in PATHS if values.get(name)}
    return Settings(**values)
