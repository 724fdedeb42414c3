"""Runs, experiments and files of other owners cannot be seen, changed or copied through any route of the API.

The routes are those of the OpenAPI document, so a new one is tried, too."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.conftest import Tiny
from tests.server.conftest import Running
from tests.server.talk import FILES, PREVIEW, VIEW, Browser, state
from tests.server.test_whole import run_of

pytestmark = pytest.mark.slow

NAME, OWN = "nobody elses business", "the thiefs own"
ROWS = f"text,label\n{NAME} a,x\n{NAME} b,y\n".encode()
ABOUT_RUNS = ("Runs", "Pretraining")  # the tags of all routes that concern runs, experiments and files
NO_ID = {"name", "key", "hub", "repository", "token", "experiment", "scoring", "suite", "precision"}  # fields of bodies
AT_LEAST = 250  # requests with ids of others


@dataclass
class Request:
    """A request to a route of the API. *named*: what the id in its path names: runs, trials or files."""

    method: str
    route: str
    path: str
    params: dict[str, str]
    body: Any
    named: str = ""

    def send(self, browser: httpx.Client) -> httpx.Response:
        body = {} if self.body is None else {"json": self.body}
        return browser.request(self.method, self.path, params=self.params, **body)


@dataclass
class Routes:
    """The routes of an OpenAPI document that take the id of a run, an experiment or a file."""

    document: dict[str, Any]
    fields: set[str] = field(default_factory=set)  # that were filled with ids

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                if set(operation["tags"]) & set(ABOUT_RUNS) and "{key}" not in path:  # a shared run has a key, no id
                    yield path, method.upper(), operation

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema in place of a reference, and the first of several."""
        while "$ref" in schema or "oneOf" in schema:
            schema = schema["oneOf"][0] if "oneOf" in schema else schema
            if "$ref" in schema:
                schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    def body(self, operation: dict[str, Any]) -> dict[str, Any] | None:
        """The schema of a body in JSON; None if there is none."""
        content = operation.get("requestBody", {}).get("content", {})
        return self.resolved(content["application/json"]["schema"]) if "application/json" in content else None

    def smallest(self, schema: dict[str, Any]) -> Any:
        """A value that fits the *schema*, with nothing but what is required."""
        schema = self.resolved(schema)
        if "const" in schema or "enum" in schema:
            return schema.get("const", *schema.get("enum", [])[:1])
        if schema["type"] == "object":
            properties = schema.get("properties", {})
            return {name: self.smallest(properties[name]) for name in schema.get("required", ())}
        return {"string": "x", "number": 1, "integer": 1, "boolean": False, "array": []}[schema["type"]]

    def filled(self, path: str, operation: dict[str, Any], id: str) -> Iterator[str]:
        """The paths of a route with *id*, and with each value of its other parameters."""
        other = [each for each in operation.get("parameters", []) if each["in"] == "path" and each["name"] != "id"]
        paths = [path.replace("{id}", id)]
        for each in other:
            words = self.resolved(each["schema"])["enum"]
            paths = [path.replace(f"{{{each['name']}}}", word) for path in paths for word in words]
        yield from paths

    def by_path(self, id: str) -> Iterator[Request]:
        """Requests for *id* to each route with an id in its path."""
        for path, method, operation in self.operations():
            if "{id}" in path:
                required = [each for each in operation["parameters"] if each["in"] == "query" and each.get("required")]
                params = {each["name"]: "x" for each in required}
                schema = self.body(operation)
                body = None if schema is None else self.smallest(schema)
                named = path.split("/")[3].replace("suites", "runs")
                for address in self.filled(path, operation, id):
                    yield Request(method, path, address, params, body, named)

    def by_field(self, id: str, own: dict[str, str]) -> Iterator[Request]:
        """Requests with *id* in each field of text of a body or a query. *own*: an id for the path of each kind."""
        for path, method, operation in self.operations():
            (_, _, _, kind, *_) = f"{path}/".split("/")
            queries = [each for each in operation.get("parameters", []) if each["in"] == "query"]
            texts = {each["name"] for each in queries if self.is_text(each["schema"])}
            least = {each["name"]: "x" for each in queries if each.get("required")}
            schema = self.body(operation)
            body = None if schema is None else self.smallest(schema)
            properties = {} if schema is None else schema.get("properties", {})
            named = {name for name, each in properties.items() if self.is_text(each)} - NO_ID
            for address in self.filled(path, operation, own.get(kind.replace("suites", "runs"), "")):
                for name in sorted(texts):
                    self.fields.add(name)
                    yield Request(method, path, address, {**least, name: id}, body)
                for name in sorted(named):
                    self.fields.add(name)
                    for value in (id, f"run:{id}"):
                        yield Request(method, path, address, least, {**body, name: value} if body else {name: value})

    def is_text(self, schema: dict[str, Any]) -> bool:
        schema = self.resolved(schema)
        return schema.get("type") == "string" and "enum" not in schema and "const" not in schema


@pytest.fixture(scope="module")
def quiet(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that trains nothing, so that runs stay queued."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "data").mkdir()
    shutil.copytree(tiny("bert"), folder / "models" / "tiny")
    server = Running(folder / "models", folder / "data")
    server.service.supervisor.close()
    yield server
    server.close()


@pytest.fixture(scope="module")
def routes(quiet: Running) -> Routes:
    return Routes(httpx.get(f"{quiet.url}/api/v1/openapi.json", timeout=60).json())


def things_of(quiet: Running, browser: Browser, name: str) -> dict[str, str]:
    """What a person has: runs in three states, one of an experiment, and an uploaded file."""
    jobs, owner = quiet.service.jobs, browser.owner
    ids = {"stopped": run_of(jobs, owner, f"{name} 1"), "deleted": run_of(jobs, owner, f"{name} 2")}
    ids["queued"] = jobs.accept(owner, f"{name} 3", {"kind": "finetuning", "task": "classification"}).id
    spec = {"kind": "pretraining", "experiment": "floor", "arm": "MLM + NSP"}
    arm = jobs.accept(owner, f"{name} 4", spec, group=owner)
    ids |= {"arm": arm.id, "group": arm.group, "file": browser.upload(f"{name}.csv", ROWS)}
    jobs.delete(ids["deleted"], owner)
    return ids


@pytest.fixture
def mine(quiet: Running) -> Iterator[tuple[Browser, dict[str, str]]]:
    """A person's browser and ids."""
    browser, jobs = Browser(quiet.url), quiet.service.jobs
    yield browser, things_of(quiet, browser, NAME)
    for run in jobs.runs(None):
        jobs.stop(run.id, None)
        jobs.delete(run.id, None)


def seen(quiet: Running, owner: str) -> list[Any]:
    """The runs of an owner, and all of their files."""
    jobs, uploads = quiet.service.jobs, quiet.settings.uploads_dir
    runs = [run for deleted in (False, True) for run in jobs.runs(owner, deleted=deleted)]
    files = [path for mark in uploads.glob(f"*/.of-{owner}") for path in mark.parent.iterdir()]
    return [*[(run.id, run.name, run.state, run.version) for run in runs], *sorted(map(str, files))]


def tells_nothing(quiet: Running, answer: httpx.Response) -> bool:
    return NAME not in answer.text and str(quiet.settings.data_dir) not in answer.text


def test_no_route_gives_access_to_what_others_own(
    quiet: Running, routes: Routes, mine: tuple[Browser, dict[str, str]]
) -> None:
    browser, ids = mine
    thief = Browser(quiet.url)
    own = things_of(quiet, thief, OWN)
    before, tried = seen(quiet, browser.owner), 0
    for what, id in ids.items():
        for request in routes.by_path(id):
            answer = request.send(thief)
            assert answer.status_code == 404 and answer.json()["detail"], (what, request, answer.text)
            assert tells_nothing(quiet, answer) and seen(quiet, browser.owner) == before, (what, request, answer.text)
            tried += 1
    for what, id in ids.items():
        for request in routes.by_field(id, {"runs": own["stopped"], "trials": own["group"], "files": own["file"]}):
            answer = request.send(thief)
            assert answer.status_code < 500 and tells_nothing(quiet, answer), (what, request, answer.text)
            assert seen(quiet, browser.owner) == before, (what, request, answer.text)
            tried += 1
    assert {"beside", "file", "dev_file", "checkpoint", "rows"} <= routes.fields, "what can hold an id"
    assert tried > AT_LEAST, tried
    assert OWN in thief.get("/api/v1/runs").text and len(thief.get("/api/v1/trials").json()) == 1
    made = [run.name for run in quiet.service.jobs.runs(thief.owner)]
    assert all(name.startswith(OWN) for name in made), "nothing was started from them"


def test_every_route_gives_its_owner_access(quiet: Running, routes: Routes) -> None:
    """So the test above fails for another reason than that nothing is there."""
    browser = Browser(quiet.url)
    asked: dict[str, set[int]] = {}
    for number, request in enumerate(routes.by_path("ID")):
        ids = things_of(quiet, browser, f"{NAME} {number}")
        one = {"runs": ids["stopped"], "trials": ids["group"], "files": ids["file"]}[request.named]
        if request.path.endswith("/restore"):
            one = ids["deleted"] if request.named == "runs" else one
            browser.post(f"/api/v1/trials/{ids['group']}/stop").raise_for_status()
            browser.post(f"/api/v1/trials/{ids['group']}/delete").raise_for_status()
        if request.route.startswith("/api/v1/trials") and request.path.endswith(("/resume", "/delete")):
            browser.post(f"/api/v1/trials/{ids['group']}/stop").raise_for_status()
        request.path = request.path.replace("ID", one)
        answer = request.send(browser)
        asked.setdefault(request.route, set()).add(answer.status_code)
        if answer.status_code >= 400:
            reasons = ("has no checkpoint yet", "has not finished", "does not contain a fine-tuning run")
            assert any(reason in answer.text for reason in reasons), (request, answer.text)
        for run in quiet.service.jobs.runs(browser.owner):
            quiet.service.jobs.stop(run.id, None)
            quiet.service.jobs.delete(run.id, None)
    succeeded = {route for route, statuses in asked.items() if statuses & {200, 202}}
    assert len(asked) >= 17 and len(succeeded) >= 9, asked


def test_its_owner_sees_what_others_do_not(quiet: Running, mine: tuple[Browser, dict[str, str]]) -> None:
    browser, ids = mine
    for path in (f"/runs/{ids['stopped']}", f"/runs/{ids['stopped']}/report", "/runs", "/runs?deleted=true"):
        assert NAME in browser.get(f"/api/v1{path}").text
    assert browser.get(f"/api/v1/trials/{ids['group']}").json()["arms"][0]["run"]["name"].startswith(NAME)
    assert browser.get(f"{FILES}/{ids['file']}").content == ROWS
    assert NAME in browser.preview(file=ids["file"]).text
    thief = Browser(quiet.url)
    for path in ("/runs", "/runs?deleted=true", "/trials", "/trials?deleted=true", "/checkpoints", "/page"):
        answer = thief.get(f"/api/v1{path}")
        assert answer.status_code == 200 and tells_nothing(quiet, answer)
        assert not [id for id in ids.values() if id in answer.text]


@pytest.mark.parametrize("made", ["run:{}", "run:{}@0", "run:{}/../..", "../runs/{}", "{}"])
def test_checkpoints_of_other_owners_cannot_be_opened(
    quiet: Running, routes: Routes, mine: tuple[Browser, dict[str, str]], made: str
) -> None:
    thief = Browser(quiet.url)
    name = made.format(mine[1]["stopped"])
    for path in (PREVIEW, "/api/v1/runs"):
        answer = thief.post(path, json={"task": "classification", "checkpoint": name})
        assert answer.status_code == 422 and tells_nothing(quiet, answer), answer.text
    answer = thief.post("/api/v1/suites", json={"checkpoint": name})
    assert answer.status_code == 422 and tells_nothing(quiet, answer), answer.text
    for body in (
        state(checkpoint=name),
        state(against="another checkpoint", other=name),
        {"link": f"?view=fill-mask&text=a+[MASK]&checkpoint={name}"},
    ):
        for path in (VIEW, f"{VIEW}/json", f"{VIEW}/csv"):
            answer = thief.post(path, json=body)
            assert tells_nothing(quiet, answer)
            if answer.status_code == 200:  # of their own checkpoint, without the comparison
                compared = answer.json()["beside"]["figure"] if path == VIEW else "side" in answer.text
                assert body.get("state", {}).get("other") == name and not compared
            else:
                assert answer.status_code == 422 and answer.json()["detail"], answer.text
    assert NAME not in thief.get("/api/v1/checkpoints").text
    fetched = thief.post("/api/v1/checkpoints", json={"name": name})
    assert fetched.status_code == 422 and NAME not in fetched.text
    assert not seen(quiet, thief.owner), "nothing was started from it"


def test_no_analysis_opens_a_checkpoint_of_other_owners(
    quiet: Running, routes: Routes, mine: tuple[Browser, dict[str, str]]
) -> None:
    thief, tried = Browser(quiet.url), 0
    for path, methods in routes.document["paths"].items():
        schema = routes.body(methods["post"]) if "post" in methods and "{" not in path else None
        if schema and {"text", "checkpoint"} <= set(schema.get("properties", {})):
            body = {**routes.smallest(schema), "checkpoint": f"run:{mine[1]['stopped']}"}
            answer = thief.post(path, json=body)
            assert answer.status_code == 422 and tells_nothing(quiet, answer), (path, answer.text)
            assert "run is not here" in answer.text or "not on this disk" in answer.text, (path, answer.text)
            tried += 1
    assert tried > 25
    assert json.dumps(seen(quiet, thief.owner)) == "[]"
