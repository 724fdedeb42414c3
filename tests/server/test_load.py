"""A class of fifty for some seconds: everyone gets the answer to their own text (`bench.load` measures it)."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench.load import main
from bench.serving import Server

pytestmark = pytest.mark.slow


def test_fifty_people_are_all_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(str(tmp_path))
    try:
        with ThreadPoolExecutor(1) as pool:  # a test with a browser may have left this thread in an event loop
            wrong = pool.submit(asyncio.run, main(["steady", "burst", "same"], 10.0, server)).result()
    finally:
        assert server.end() == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith(("| s", "| b"))]
    assert wrong == 0 and [int(row[2]) for row in rows] == [50, 50, 50]
