"""What crosses between processes comes out as it went in; a frame that breaks off is the end."""

import io
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bertexplorer.api.admission import Reply
from bertexplorer.api.calls import Call
from bertexplorer.cluster import wire
from bertexplorer.settings import Settings

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(JSON, st.text(), st.none() | st.sets(st.text(max_size=9), max_size=3))
def test_a_call_comes_out_as_it_went_in(value: object, owner: str, owns: set[str] | None) -> None:
    call = Call("analysis", "fill-mask", owner, value, slow=True, figure=True)
    head, body = wire.unframe(wire.frame(wire.call_head(call, owns)))
    assert wire.call_of(head) == (call, owns) and body == b""


@given(st.binary(), st.integers(100, 599))
def test_a_reply_comes_out_as_it_went_in(body: bytes, status: int) -> None:
    reply = Reply(body, "text/plain", status, {"x-file-name": "a.csv"})
    stream = io.BytesIO(wire.reply_frame(reply, id=1) + wire.reply_frame(reply, id=2))
    for id in (1, 2):
        taken = wire.read(stream)
        assert taken is not None and taken[0]["id"] == id and wire.reply_of(*taken) == reply
    assert wire.read(stream) is None


def test_a_frame_that_breaks_off_is_the_end() -> None:
    whole = wire.frame({"id": 1}, b"body")
    assert all(wire.read(io.BytesIO(whole[:size])) is None for size in range(len(whole)))


def test_settings_come_out_as_they_went_in_without_the_code_and_with_a_share_of_the_memory() -> None:
    given = Settings(code="robin-2026", hosts=("a", "b"), lessons_dir=Path("/lessons"), public=True)
    head, _ = wire.unframe(wire.frame(wire.settings_head(given, share=4)))
    assert wire.settings_of(head) == replace(given, code="", memory_mb=1024, cache_mb=64)
    assert wire.settings_of({**wire.settings_head(Settings()), "of_a_later_version": 1}) == Settings()
