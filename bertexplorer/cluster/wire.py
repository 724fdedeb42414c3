"""Wire format: calls, replies and settings as bytes. A frame is two lengths, a JSON header and a body.

Nothing is unpickled. The body of a reply is passed on unparsed, as a figure may have a megabyte."""

import json
import struct
from collections.abc import Collection
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import IO, Any

from bertexplorer.api.admission import Reply
from bertexplorer.api.calls import Call
from bertexplorer.settings import Settings

LENGTHS = struct.Struct(">II")  # of the header and of the body
Header = dict[str, Any]
PATHS = ("models_dir", "data_dir", "lessons_dir")


def pack_frame(header: Header, body: bytes = b"") -> bytes:
    """*header* and *body* as a frame."""
    encoded = json.dumps(header).encode()  # not orjson, which rejects lone surrogates, and people send them
    return LENGTHS.pack(len(encoded), len(body)) + encoded + body


def unpack_frame(frame: bytes) -> tuple[Header, bytes]:
    """Return (header, body) of a whole *frame*."""
    header_size, _ = LENGTHS.unpack_from(frame)
    start = LENGTHS.size
    return json.loads(frame[start : start + header_size]), frame[start + header_size :]


def read_frame(stream: IO[bytes]) -> tuple[Header, bytes] | None:
    """Read (header, body) of the next frame; None at the end of *stream*, even in the middle of a frame."""
    lengths = stream.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header_size, body_size = LENGTHS.unpack(lengths)
    content = stream.read(header_size + body_size)
    if len(content) < header_size + body_size:
        return None
    return json.loads(content[:header_size]), content[header_size:]


def encode_call(call: Call, owned_runs: Collection[str] | None) -> Header:
    """The header of a frame with *call*. *owned_runs*: ids of the runs that the owner may open, None for all; only the
    server knows them."""
    return {**asdict(call), "owns": None if owned_runs is None else sorted(owned_runs)}


def decode_call(header: Header) -> tuple[Call, set[str] | None]:
    """Return (the call, the ids of the runs that its owner may open, or None for all)."""
    call = Call(**{field.name: header[field.name] for field in fields(Call)})
    owned_runs = header["owns"]
    return call, None if owned_runs is None else set(owned_runs)


def encode_reply(reply: Reply, **more: Any) -> bytes:
    """*reply* as a frame. *more*: what its header says besides, such as the id of the call."""
    return pack_frame({"media": reply.media, "status": reply.status, "headers": reply.headers, **more}, reply.body)


def decode_reply(header: Header, body: bytes) -> Reply:
    """The reply in a frame."""
    return Reply(body, header["media"], header["status"], header["headers"])


def encode_settings(settings: Settings, share: int = 1) -> Header:
    """*settings* for a replica, without the access code. *share*: how many replicas share the memory of a machine."""
    memory_mb = max(1, settings.memory_mb // share)
    shared = replace(settings, code="", memory_mb=memory_mb, cache_mb=settings.cache_mb // share)
    values = asdict(shared)
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def decode_settings(header: Header) -> Settings:
    """The settings that `encode_settings` has written. Unknown names, which a later version may send, are ignored."""
    known = {field.name for field in fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in header.items():
        if name not in known:
            continue
        if isinstance(value, list):  # JSON has no tuples
            value = tuple(value)
        if value and name in PATHS:
            value = Path(value)
        values[name] = value
    return Settings(**values)
