"""Gradio's client calls every analysis of the whole server: its rows are those of Python, its errors our sentences."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError, AuthenticationError, ValidationError

from bertexplorer.api import perform
from bertexplorer.engine import progress
from bertexplorer.python.bert import Bert
from bertexplorer.training.checkpointing import commit
from bertexplorer.views import VIEWS
from tests.api.test_analyses import TUNED, alike, asked
from tests.conftest import ROOT
from tests.multi_vectors import write_multi_vector
from tests.runs.running import until
from tests.server.conftest import Running
from tests.server.talk import Browser
from tests.server.test_whole import gradio_mount, run_of

NAMES = {name.replace("-", "_") for name in VIEWS} | {"encode", "encode_tokens", "similarity", "checkpoints"}
FEWER_LAYERS = {"attention-flow": {"layer": 2}}
CODE = "robin-2026"
MASKED = "Paris is the [MASK] of France."


def connect(url: str, **more: Any) -> Client:
    """A client of the server at *url*."""
    more["httpx_kwargs"] = {"timeout": 60, **more.get("httpx_kwargs", {})}
    return Client(url, verbose=False, analytics_enabled=False, download_files=False, **more)


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[Client]:
    made = connect(running.url)
    yield made
    made.close()


def arguments(view: str) -> dict[str, Any]:
    """A question to *view*, as Python takes it."""
    given = {name: value for name, value in asked(view).items() if name != "picked"} | FEWER_LAYERS.get(view, {})
    picked = [[span["side"], span["start"], span["end"]] for span in asked(view).get("picked", ())]
    return {**given, "pick": picked} if picked else given


def test_every_analysis_is_an_endpoint_and_nothing_else_is(client: Client, running: Running) -> None:
    listed = client.view_api(return_format="dict")
    assert {name.strip("/") for name in listed["named_endpoints"]} == NAMES and not listed["unnamed_endpoints"]
    assert httpx.get(f"{running.url}/gradio_api/info").json()["named_endpoints"].keys() == {
        f"/{name}" for name in NAMES
    }


def test_an_endpoint_says_what_its_arguments_are(client: Client) -> None:
    about = client.view_api(return_format="dict")["named_endpoints"]["/attention"]
    said = {one["parameter_name"]: one for one in about["parameters"]}
    view = VIEWS["attention"]
    assert view.question in about["description"] and view.note in about["description"]
    assert list(said)[:4] == ["text", "pair", "mask", "pick"] and said["layer"]["python_type"]["type"] == "int"
    assert (
        not said["text"]["parameter_has_default"]
        and said["text"]["example_input"] == VIEWS["attention"].examples[0].text
    )
    assert all(one["python_type"]["description"] for one in said.values())


@pytest.mark.parametrize("view", VIEWS)
def test_an_endpoint_answers_as_python_does(view: str, client: Client, running: Running, tiny: Any) -> None:
    given = arguments(view)
    checkpoint = given.pop("checkpoint", "tiny")
    if checkpoint == TUNED:
        shutil.copytree(tiny(TUNED), running.settings.models_dir / TUNED, dirs_exist_ok=True)
    found = client.predict(**given, checkpoint=checkpoint, api_name=f"/{VIEWS[view].name}")
    bert = Bert(running.library.get(checkpoint))
    text = (given.pop("text"),) if "text" in given else ()
    given["pick"] = [tuple(span) for span in given.get("pick", ())]
    wanted = bert.analyse(VIEWS[view].name, *text, **given)
    rows = wanted.to_rows()
    assert found["said"] == wanted.said and found["provenance"]["checkpoint"] and len(found["rows"]) == len(rows) > 0
    for one, other in zip(found["rows"], rows, strict=True):
        assert all(alike(bert.checkpoint.config, one[name], other[name]) for name in other), (one, other)


def test_vectors_similarities_and_checkpoints_are_those_of_python(client: Client, running: Running) -> None:
    bert = Bert(running.library.get("tiny"))
    texts, others = ["Paris is large.", "A cat."], ["A dog.", "London.", "Bread"]
    vectors = client.predict(texts, api_name="/encode")
    np.testing.assert_allclose(vectors["vectors"], bert.encode(texts), rtol=1e-4, atol=1e-5)
    found = client.predict(texts, others, api_name="/similarity")
    np.testing.assert_allclose(found["similarity"], bert.similarity(texts, others), rtol=1e-4, atol=1e-5)
    assert found["measure"] == "cosine" and not found["notes"]
    cut = client.predict(["word " * 600], api_name="/encode")
    assert "256 tokens that are read, and cut" in cut["notes"][0], "what was cut is announced"
    assert "tiny" in [one["name"] for one in client.predict(api_name="/checkpoints")]


def test_the_vectors_of_a_colberts_tokens_are_those_of_python(client: Client, running: Running, tiny: Any) -> None:
    folder = running.settings.models_dir / "colbert"
    shutil.copytree(tiny("bert-mlm"), folder)
    write_multi_vector(folder)
    texts = ["the cat sat", "a dog, a cat."]
    for task in ("query", "document"):
        found = client.predict(texts, task=task, checkpoint="colbert", api_name="/encode_tokens")
        wanted = Bert(running.library.get("colbert")).encode_tokens(texts, task=task)
        for tokens, vectors, ours in zip(found["tokens"], found["vectors"], wanted, strict=True):
            assert len(tokens) == len(ours)
            np.testing.assert_allclose(vectors, ours, rtol=1e-4, atol=1e-5)
    with pytest.raises(AppError, match="its files are not those of a ColBERT"):
        client.predict(texts, api_name="/encode_tokens")
    with pytest.raises(AppError, match="wanted 50 items or fewer"):
        client.predict(["a"] * 51, api_name="/encode_tokens")


def test_a_word_is_picked_and_hidden_by_its_name(client: Client) -> None:
    by_word = client.predict("Paris is the capital of France.", mask="capital", top=3, api_name="/fill_mask")
    by_span = client.predict("Paris is the capital of France.", mask=[[0, 13, 20]], top=3, api_name="/fill_mask")
    assert by_word["rows"] == by_span["rows"] and by_word["hidden"] == [{"side": 0, "start": 13, "end": 20}]
    several = client.predict(MASKED, words=["river", "city"], api_name="/fill_mask")
    assert {"river", "city"} <= {row["token"] for row in several["rows"]}


def test_null_stands_for_the_default(client: Client) -> None:
    """Gradio's own examples write null for an empty text."""
    named = client.predict(MASKED, None, None, None, None, None, api_name="/fill_mask")
    assert named["rows"] == client.predict(MASKED, api_name="/fill_mask")["rows"]
    with pytest.raises(AppError, match="text: got nothing; wanted a value"):
        client.predict(None, api_name="/fill_mask")


def test_a_figure_comes_on_request(client: Client) -> None:
    assert "figure" not in client.predict(MASKED, api_name="/fill_mask")
    assert client.predict(MASKED, figure=True, api_name="/fill_mask")["figure"]["data"]


WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "a number for a text": ((5,), {}, "text: got 5; wanted text."),
    "an object": (({"path": "/etc/passwd"},), {}, "text: got an object"),
    "nested lists": ((MASKED,), {"mask": [[[["a"]]]]}, "mask: got lists in lists"),
    "a text for a number": ((MASKED,), {"top": "ten"}, 'top: got "ten"; wanted a whole number.'),
    "out of bounds": ((MASKED,), {"top": 10**9}, "top: got 1000000000; wanted"),
    "100,000 characters": (("x" * 100_000,), {}, "wanted 20,000 characters or fewer"),
    "many words": ((MASKED,), {"mask": ["a"] * 601}, "mask: got more than 600 words"),
    "no checkpoint": ((MASKED,), {"checkpoint": "nowhere"}, "nowhere is not on this disk"),
    "a path": ((MASKED,), {"checkpoint": "/etc/passwd"}, "/etc/passwd"),
    "a word that is not there": ((MASKED,), {"pick": "dog"}, "'dog' does not occur in the text"),
    "no mask": (("Paris.",), {}, "Nothing is hidden"),
    "an empty text": (("",), {}, "The text is empty"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_call_gets_our_sentence(wrong: str, client: Client) -> None:
    values, options, sentence = WRONG[wrong]
    with pytest.raises((AppError, ValidationError)) as caught:
        client.predict(*values, **options, api_name="/fill_mask")
    assert sentence in str(caught.value)
    assert "Traceback" not in str(caught.value) and str(Path.cwd()) not in str(caught.value)


def test_half_a_character_is_replaced(running: Running) -> None:
    sent = {"content": b'{"text": "a \\ud83d [MASK]"}', "headers": {"content-type": "application/json"}}
    call = "/gradio_api/call/v2/fill_mask"
    event = httpx.post(f"{running.url}{call}", **sent).raise_for_status().json()["event_id"]
    answer = httpx.get(f"{running.url}{call}/{event}", timeout=60).text
    assert "event: complete" in answer and "a \ufffd [MASK]" in answer


def test_what_belongs_to_another_does_not_exist(client: Client, running: Running, tiny: Any) -> None:
    with pytest.raises(AppError, match="no uploaded lines"):
        client.predict("puppy", lines="0" * 24, api_name="/search")
    owner = Browser(running.url)
    jobs = running.service.jobs
    run = run_of(jobs, owner.owner, "theirs")
    commit(
        jobs.run(run, None).folder / "best",
        "step-1",
        lambda into: shutil.copytree(tiny("bert"), into, dirs_exist_ok=True),
    )
    with closing(connect(running.url, httpx_kwargs={"cookies": dict(owner.cookies)})) as theirs:
        assert theirs.predict(MASKED, checkpoint=f"run:{run}", api_name="/tokenization")["rows"]
    with pytest.raises(AppError, match="This run is not here"):
        client.predict(MASKED, checkpoint=f"run:{run}", api_name="/tokenization")
    jobs.delete(run, None)


def documented(language: str, running: Running) -> str:
    """The first block in *language* of what the documentation says of clients, for this server."""
    section = (ROOT / "docs" / "gradio.md").read_text("utf-8").partition("## From Gradio's clients")[2]
    block = section.partition(f"```{language}\n")[2].partition("```")[0]
    assert "http://127.0.0.1:7860" in block
    return block.replace("http://127.0.0.1:7860", running.url)


def test_the_documented_program_runs(running: Running) -> None:
    known: dict[str, Any] = {}
    exec(documented("python", running), known)
    known["client"].close()
    assert known["answer"]["rows"]


@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="needs bash and curl")
def test_the_documented_commands_run(running: Running) -> None:
    done = subprocess.run(["bash", "-c", documented("bash", running)], capture_output=True, text=True, check=True)
    assert "event: complete" in done.stdout and '"said"' in done.stdout


def test_plain_http_calls_an_endpoint_in_two_steps(running: Running) -> None:
    """What curl does, by position and by name."""
    by_name = {"text": "A cat slept.", "pair": "It woke up."}
    calls = {"call/next_sentence": {"data": values(running, "next_sentence")}, "call/v2/next_sentence": by_name}
    for path, body in calls.items():
        event = httpx.post(f"{running.url}/gradio_api/{path}", json=body).raise_for_status().json()["event_id"]
        answer = httpx.get(f"{running.url}/gradio_api/{path}/{event}", timeout=60)
        assert "event: complete" in answer.text, answer.text[:200]
        again = httpx.get(f"{running.url}/gradio_api/{path}/{event}")
        assert again.status_code == 404 and "nothing to read" in again.text.lower()


def values(running: Running, name: str) -> list[Any]:
    """The arguments of the endpoint's example."""
    listed = httpx.get(f"{running.url}/gradio_api/info").json()["named_endpoints"][f"/{name}"]["parameters"]
    return [one["example_input"] for one in listed]


class Endless:
    """Calls that go on until they are stopped: how many a thread has begun and has stopped. One that is cancelled
    before a thread is free for it does neither."""

    begun = stopped = 0

    def go_on(self, answerer: Any, call: Any) -> Any:
        self.begun += 1
        try:
            while True:
                progress.check()
                time.sleep(0.01)
        except progress.Stopped:
            self.stopped += 1
            raise


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Endless:
    """Every call is endless."""
    calls = Endless()
    monkeypatch.setattr(perform, "perform_endpoint", calls.go_on)
    return calls


def computing(running: Running) -> int:
    """How many calls are computed."""
    return sum(len(caller.tasks) for caller in gradio_mount(running).app.callers.callers.values())


def test_a_call_that_is_cancelled_stops_and_no_other(client: Client, running: Running, endless: Endless) -> None:
    jobs = [client.submit(MASKED, api_name="/fill_mask") for _ in range(2)]
    until(lambda: endless.begun == 2 and all(job.communicator.event_id for job in jobs))  # else none is sent
    jobs[0].cancel()
    until(lambda: endless.stopped == 1)
    assert computing(running) == 1
    jobs[1].cancel()
    until(lambda: endless.stopped == 2 and computing(running) == 0)


def test_many_calls_that_are_cancelled_leave_room_for_others(client: Client, running: Running) -> None:
    call = {"data": values(running, "fill_mask"), "fn_index": 1, "session_hash": "hasty"}
    with httpx.Client(base_url=f"{running.url}/gradio_api", timeout=60) as hasty:
        for number in range(250):
            event = hasty.post("/queue/join", json=call).raise_for_status().json()["event_id"]
            hasty.post("/cancel", json={**call, "event_id": event}).raise_for_status()
            if number % 90 == 89 or number == 249:
                hasty.get("/queue/data", params={"session_hash": "hasty"})
    assert client.predict(MASKED, api_name="/fill_mask")["rows"] and computing(running) == 0


def test_a_caller_who_leaves_stops_the_computation_and_is_forgotten(running: Running, endless: Endless) -> None:
    callers = gradio_mount(running).app.callers.callers
    call = {"data": values(running, "fill_mask"), "fn_index": 1, "session_hash": "leaving"}
    with httpx.Client(base_url=f"{running.url}/gradio_api", timeout=60) as leaving:
        assert leaving.get("/info").json() and len(callers) == 0
        for _ in range(2):
            leaving.post("/queue/join", json=call).raise_for_status()
        with leaving.stream("GET", "/queue/data", params={"session_hash": "leaving"}) as answers:
            until(lambda: endless.begun == 2)
            assert answers.status_code == 200
    until(lambda: endless.stopped == 2 and not callers)


@pytest.fixture(scope="module")
def guarded(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with an access code."""
    made = Running(running.settings.models_dir, tmp_path_factory.mktemp("guarded"), code=CODE)
    yield made
    made.close()


def test_with_an_access_code_a_client_must_send_it(guarded: Running) -> None:
    with pytest.raises(AuthenticationError):
        connect(guarded.url)
    with pytest.raises(AuthenticationError):
        connect(guarded.url, headers={"Authorization": "Bearer wrong"})
    for path in ("/config", "/gradio_api/info", "/gradio_api/queue/data?session_hash=a"):
        assert httpx.get(f"{guarded.url}{path}").status_code == 401
    for path in ("queue/join", "call/fill_mask", "call/v2/fill_mask", "cancel"):
        assert httpx.post(f"{guarded.url}/gradio_api/{path}", json={}).status_code == 401
    with closing(connect(guarded.url, headers={"Authorization": f"Bearer {CODE}"})) as theirs:
        assert theirs.predict("A cat.", api_name="/tokenization")["rows"]


def test_streams_without_an_answer_to_wait_for_are_refused_and_hold_nobody(running: Running) -> None:
    begun = time.monotonic()
    host, port = running.socket.getsockname()
    with ExitStack() as sockets:
        streams = [sockets.enter_context(socket.create_connection((host, port))) for _ in range(300)]
        for number, stream in enumerate(streams):
            path = f"/gradio_api/queue/data?session_hash=idle{number}"
            stream.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert {stream.recv(12) for stream in streams} == {b"HTTP/1.1 404"}
        assert httpx.get(f"{running.url}/healthz", timeout=5).text == "ok"
    assert time.monotonic() - begun < 20


def test_callers_at_once_get_their_own_answers(running: Running) -> None:
    """Fifty of them are in bench/endpoints.py."""
    clients = [connect(running.url) for _ in range(12)]
    texts = [f"Number {i} is [MASK]." for i in range(12)]
    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(lambda one, text: one.predict(text, api_name="/fill_mask"), clients, texts))
    assert [answer["text"] for answer in found] == texts
    until(lambda: not gradio_mount(running).app.callers.callers)
