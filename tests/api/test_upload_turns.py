"""One upload of each owner and two in all are read at a time."""

import asyncio

import pytest

from bertexplorer.api.upload_turns import MAX_OWN, UploadTurns
from bertexplorer.engine.queues import Busy
from tests.server.conftest import settle


def test_uploads_take_turns() -> None:
    turns = UploadTurns()
    reading: list[str] = []
    most: dict[str, int] = {"all": 0, "a": 0}

    async def upload(owner: str) -> None:
        async with turns.turn(owner):
            reading.append(owner)
            most["all"] = max(most["all"], len(reading))
            most["a"] = max(most["a"], reading.count("a"))
            await asyncio.sleep(0)
            reading.remove(owner)

    async def all_at_once() -> None:
        await asyncio.gather(*(upload(owner) for owner in "aaabbcd"))

    settle(all_at_once())
    assert most == {"all": 2, "a": 1} and not turns.waiting and not turns.own


def test_an_owner_whose_uploads_wait_already_is_refused() -> None:
    async def fill() -> None:
        turns = UploadTurns()
        async with turns.turn("a"):
            others = [asyncio.ensure_future(turns.turn("a").__aenter__()) for _ in range(MAX_OWN - 1)]
            await asyncio.sleep(0)
            with pytest.raises(Busy):
                await turns.turn("a").__aenter__()
            async with turns.turn("b"):
                pass
            for other in others:
                other.cancel()

    settle(fill())
