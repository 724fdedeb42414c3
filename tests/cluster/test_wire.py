"""Decoding undoes encoding; an incomplete frame counts as the end of the stream."""

import io
from dataclasses import replace
from pathlib import Path

from hypothesis import given, strategies as st

from bertexplorer.api.admission import Reply
from bertexplorer.api.calls import Call
from bertexplorer.cluster import wire
from bertexplorer.settings import Settings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(JSON, st.text(), st.none() | st.sets(st.text(max_size=9), max_size=3))
def test_a_call_survives_encoding(value: object, owner: str, owned_runs: set[str] | None) -> None:
    call = Call("analysis", "fill-mask", owner, value, slow=True, figure=True)
    header, body = wire.unpack_frame(wire.pack_frame(wire.encode_call(call, owned_runs)))
    assert wire.decode_call(header) == (call, owned_runs) and body == b""


@given(st.binary(), st.integers(100, 599))
def test_a_reply_survives_encoding(body: bytes, status: int) -> None:
    reply = Reply(body, "text/plain", status, {"x-file-name": "a.csv"})
    stream = io.BytesIO(wire.encode_reply(reply, id=1) + wire.encode_reply(reply, id=2))
    for id in (1, 2):
        frame = wire.read_frame(stream)
        assert frame is not None and frame[0]["id"] == id and wire.decode_reply(*frame) == reply
    assert wire.read_frame(stream) is None


def test_an_incomplete_frame_is_the_end() -> None:
    frame = wire.pack_frame({"id": 1}, b"body")
    assert all(wire.read_frame(io.BytesIO(frame[:size])) is None for size in range(len(frame)))


def test_settings_survive_encoding_without_the_code_and_with_a_share_of_the_memory() -> None:
    settings = Settings(code="robin-2026", hosts=("a", "b"), lessons_dir=Path("/lessons"), public=True)
    header, _ = wire.unpack_frame(wire.pack_frame(wire.encode_settings(settings, share=4)))
    assert wire.decode_settings(header) == replace(settings, code="", memory_mb=1024, cache_mb=64)
    assert wire.decode_settings({**wire.encode_settings(Settings()), "of_a_later_version": 1}) == Settings()


def test_a_replica_gets_the_views_that_its_server_has_chosen() -> None:
    for plugins in (None, (), ("letters", "marks")):
        sent = wire.unpack_frame(wire.pack_frame(wire.encode_settings(Settings(plugins=plugins))))[0]
        assert wire.decode_settings(sent).plugins == plugins
