"""The MCP tools as the SDK's own client sees them, over stdio and over HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from bertexplorer.api.tools import TOOLS
from bertexplorer.core.ask import VIEWS
from bertexplorer.options import option_specs
from tests.api.conftest import Served
from tests.conftest import ROOT
from tests.runs.running import until

mcp = pytest.importorskip("mcp", reason="needs the MCP SDK: pip install -r requirements-mcp.txt")

TEXT = "Paris is the [MASK] of France."
CODE = "class of 26"


def asked(to: Any, ask: Callable[[Any], Awaitable[Any]]) -> Any:
    """The result of *ask* with a client connected to *to*."""

    async def whole() -> Any:
        async with mcp.Client(to) as client:
            return await ask(client)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, whole()).result(120)


def called(to: Any, name: str, **given: Any) -> Any:
    return asked(to, lambda client: client.call_tool(name, given))


def test_ten_analyses_and_the_checkpoints_are_offered(served: Served) -> None:
    result = {tool.name: tool for tool in asked(f"{served.url}/mcp", lambda client: client.list_tools()).tools}
    assert set(result) == {name.replace("-", "_") for name in TOOLS} | {"checkpoints"} and len(TOOLS) == 10
    for name in TOOLS:
        tool = result[name.replace("-", "_")]
        assert tool.annotations.read_only_hint and {"said", "rows"} <= set(tool.output_schema["properties"])
        fields = tool.input_schema["properties"]
        assert tool.input_schema["required"] == ["text"] and fields["checkpoint"]["default"] == "little"
        for setting in option_specs(VIEWS[name].analysis.Options):
            assert fields[setting.name]["default"] == setting.default
            assert fields[setting.name].get("maximum") == setting.option.high


def test_a_tool_answers_like_the_api(served: Served, browser: httpx.Client) -> None:
    answer = called(f"{served.url}/mcp", "fill_mask", text=TEXT, top=5, most_rows=3)
    same = browser.post("/fill-mask", json={"text": TEXT, "top": 5}).json()
    result = answer.structured_content
    assert not answer.is_error and result["said"] == same["said"] and result["provenance"] == same["provenance"]
    assert result["rows"] == same["rows"][:3] and result["left_out"] == 2
    assert json.loads(answer.content[0].text) == result


def test_a_word_is_picked_by_its_name(served: Served) -> None:
    picked = called(f"{served.url}/mcp", "attention", text="The cat sat.", pick="cat", most_rows=1)
    assert "cat" in picked.structured_content["said"]
    absent = called(f"{served.url}/mcp", "attention", text="The cat sat.", pick="dog")
    assert absent.is_error and "'dog' does not occur in the text" in absent.content[0].text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "Paris."}, "Nothing is hidden, so there is nothing to predict. Put [MASK] where a word is missing."),
        ({"text": TEXT, "top": 1000}, "top: got 1000; wanted 100 or less."),
        ({"text": TEXT, "top": "5"}, 'top: got "5"; wanted a whole number.'),
        ({"text": TEXT, "top": True}, "top: got true; wanted a whole number."),
        ({"text": TEXT, "tops": 5}, "tops: not a field here; leave it out."),
        ({"text": TEXT, "checkpoint": "nowhere"}, "nowhere is not on this disk. Available offline: mini, "),
        ({}, "text: got nothing; wanted a value."),
    ],
)
def test_invalid_arguments_are_reported(given: dict[str, Any], message: str, served: Served) -> None:
    answer = called(f"{served.url}/mcp", "fill_mask", **given)
    assert answer.is_error and answer.content[0].text.startswith(message)


def test_an_unknown_tool_and_an_unforeseen_error_are_reported(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = called(f"{served.url}/mcp", "fill")
    assert unknown.is_error and unknown.content[0].text.startswith("There is no tool 'fill'. There are fill_mask, ")
    monkeypatch.setattr("bertexplorer.api.tool_calls.answer", lambda *given: 1 / 0)
    failed = called(f"{served.url}/mcp", "fill_mask", text=TEXT)
    assert failed.is_error and failed.content[0].text.startswith("Internal error (number ")


def test_a_full_queue_is_reported(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.queues.quick, "capacity", 1)
    monkeypatch.setattr(served.queues.quick, "max_waiting", 0)
    with served.queues.turn(served.queues.new_work()):
        answer = called(f"{served.url}/mcp", "fill_mask", text=TEXT)
    assert answer.is_error and "Busy" in answer.content[0].text


def test_a_client_that_disconnects_gives_up_its_place(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "fill_mask", "arguments": {"text": TEXT}},
    }
    queue = served.queues.quick
    monkeypatch.setattr(queue, "capacity", 1)
    with served.queues.turn(served.queues.new_work()):
        for version in ("2025-06-18", "2025-11-25"):
            headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": version}
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{served.url}/mcp", json=ask, headers=headers, timeout=0.3)
            until(lambda: not queue.waiting)


def test_only_posts_are_answered(served: Served) -> None:
    """A GET would keep a stream open on which nothing is ever sent."""
    answer = httpx.get(f"{served.url}/mcp", headers={"accept": "text/event-stream"}, timeout=5)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_the_layers_also_protect_mcp(models: Path, tmp_path: Path) -> None:
    server = Served(models, tmp_path, code=CODE)
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    message = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {CODE}"}

    def status(**more: str) -> int:
        return httpx.post(f"{server.url}/mcp", json=ask, headers={**message, **more}).status_code

    try:
        assert status() in (200, 400)
        assert status(authorization="Bearer wrong") == 401
        assert status(origin="https://evil.example") == 403
        assert status(host="evil.example") == 400
        assert httpx.post(f"{server.url}/mcp", content=b"x" * 2_000_000, headers=message).status_code == 413
    finally:
        server.close()


@pytest.fixture
def started(models: Path, tmp_path: Path) -> Any:
    """The way a client starts the tools over stdio."""
    env = {"BERTEXPLORER_MODELS": str(models), "BERTEXPLORER_DATA": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    return mcp.StdioServerParameters(command=sys.executable, args=["-m", "bertexplorer", "mcp"], cwd=str(ROOT), env=env)


@pytest.mark.slow
def test_the_tools_answer_over_stdio(started: Any) -> None:
    answer = called(started, "fill_mask", text=TEXT, top=2, checkpoint="little")
    assert len(answer.structured_content["rows"]) == 2


@pytest.mark.slow
def test_stdio_answers_text_with_half_an_emoji_and_ends_at_an_interrupt(started: Any) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}
    ask = {"name": "tokenization", "arguments": {"text": "A \ud83d cat.", "checkpoint": "little"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": ask},
    ]
    with subprocess.Popen(
        [started.command, *started.args],
        cwd=started.cwd,
        env={**os.environ, **started.env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout
        try:
            process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
            process.stdin.flush()
            lines = [json.loads(line) for line in islice(process.stdout, 2)]
            assert [line["id"] for line in lines] == [1, 2] and "rows" in lines[1]["result"]["structuredContent"]
            process.send_signal(signal.SIGINT)
            assert process.wait(20)
        finally:
            process.kill()
