"""The OpenAPI document matches the settings, and its page needs no other host."""

import json
import re

import httpx
import jsonschema_rs
import pytest

from bertexplorer.api.documents import STATIC
from bertexplorer.api.models import example
from bertexplorer.core.ask import VIEWS
from bertexplorer.options import option_specs
from bertexplorer.server.request_filter import route_of
from bertexplorer.training.tasks import BY_NAME
from tests.api.conftest import Served

PAGE = ("docs", "docs/docs.js", "docs/docs.css")


@pytest.fixture(scope="module")
def document(served: Served) -> dict:
    with served.browser() as browser:
        return browser.get("/openapi.json").json()


def resolved(document: dict, schema: dict) -> dict:
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


@pytest.mark.parametrize("view", VIEWS)
def test_every_analysis_is_listed_with_its_bounds(view: str, document: dict) -> None:
    body = document["paths"][f"/api/v1/{view}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = resolved(document, body)
    assert schema.get("required", []) == ["text"] * VIEWS[view].text and schema["additionalProperties"] is False
    for setting in option_specs(VIEWS[view].analysis.Options):
        field, option = schema["properties"][setting.name], setting.option
        assert (field["default"], field["title"]) == (setting.default, option.label)
        assert (field.get("minimum"), field.get("maximum")) == (option.low, option.high)
        assert tuple(field.get("enum", ())) == setting.choices
        assert field.get("description", "") == option.info


def test_the_layers_treat_exactly_the_file_routes_as_uploads(document: dict) -> None:
    """Other routes have the limit of a text, and their body must be JSON."""
    routes = {
        path: operations["post"]["requestBody"]["content"]
        for path, operations in document["paths"].items()
        if "requestBody" in operations.get("post", {})
    }
    for path, content in routes.items():
        name = route_of(re.sub(r"{\w+}", "x", path))[0]
        assert (name == "upload") is ("multipart/form-data" in content), path


@pytest.mark.parametrize("view", VIEWS)
def test_every_example_fits_its_model(view: str, document: dict) -> None:
    body = document["paths"][f"/api/v1/{view}"]["post"]["requestBody"]["content"]["application/json"]
    whole = {**resolved(document, body["schema"]), "components": document["components"]}
    jsonschema_rs.validate(whole, example(VIEWS[view]))
    assert example(VIEWS[view]) in json.loads(json.dumps(body["schema"].get("examples", body.get("examples", []))))


def test_all_routes_and_their_problems_are_documented(document: dict) -> None:
    paths = set(document["paths"])
    assert {f"/api/v1/{view}" for view in VIEWS} < paths
    others = {"checkpoints", "page", "view", "view/{kind}", "lines", "rows", "runs", "runs/{id}", "runs/{id}/events"}
    others |= {
        "lessons",
        "lessons/own",
        "lessons/runs/{name}",
        "lessons/{slug}",
        "lessons/{slug}/{kind}",
        "lessons/{slug}/{part}",
        "lectures",
        "lectures/{slug}",
        "shared/{key}",
        "shared/{key}/qr.svg",
    }
    others |= {
        "class",
        "class/suggest",
        *(
            f"class/{{code}}{part}"
            for part in (
                "",
                "/advice",
                "/qr.svg",
                "/summary",
                "/votes.csv",
                "/vote",
                "/rejoin",
                "/step",
                "/door",
                "/code",
                "/end",
            )
        ),
    }
    actions = ("{action}", "again", "export", "influence", "rename", "report", "rows", "suspects", "try", "upload")
    actions += ("share", "unshare")
    others |= {"tasks", "files", "files/{id}", "runs/preview", *(f"runs/{{id}}/{action}" for action in actions)}
    others |= {"experiments", "trials", "trials/{id}", "trials/{id}/{action}"}
    others |= {"suites", "suites/{id}/cases", "suites/{id}/summary", "suites/{id}/table"}
    assert paths == {f"/api/v1/{name}" for name in (*VIEWS, *others)}
    assert set(document["paths"]["/api/v1/runs/{id}"]) == {"get", "delete"}
    for path in document["paths"].values():
        for method, operation in path.items():
            problem = operation["responses"]["default"]["content"]["application/problem+json"]["schema"]
            assert "detail" in resolved(document, problem)["properties"]
            assert (
                ("503" in operation["responses"]) == (method == "post")
                and operation["summary"]
                and operation["description"]
            )
    assert "HTTPValidationError" not in json.dumps(document)


def test_every_task_has_its_settings(document: dict) -> None:
    body = document["paths"]["/api/v1/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    models = body["discriminator"]["mapping"]
    assert set(models) == set(BY_NAME)
    for name, task in BY_NAME.items():
        properties = resolved(document, {"$ref": models[name]})["properties"]
        own = resolved(document, properties["settings"])["properties"]
        assert {setting.name for setting in option_specs(task.Options)} < set(own)
        assert {name: own[name]["default"] for name in task.DEFAULTS} == task.DEFAULTS


def test_the_documentation_page_needs_no_other_host(browser: httpx.Client) -> None:
    for part, kind in zip(PAGE, ("text/html", "text/javascript", "text/css"), strict=True):
        answer = browser.get(f"/{part}")
        assert answer.status_code == 200 and answer.headers["content-type"].startswith(kind)
        assert not re.search(r"https?:|//\w|innerHTML|insertAdjacent|\beval\b|Function\(| on\w+=", answer.text)
    assert {file.name for file in STATIC.iterdir()} == {"docs.html", "docs.js", "docs.css"}
    assert "<script>" not in (STATIC / "docs.html").read_text("utf-8")
    assert browser.get("/docs/../openapi.json").status_code == 200
    assert browser.get("/docs/docs.html").status_code == 404


@pytest.mark.parametrize(
    ("path", "media"),
    [
        ("/class/{code}/votes.csv", "text/csv"),
        ("/class/{code}/qr.svg", "image/svg+xml"),
        ("/runs/{id}/events", "text/event-stream"),
        ("/view/{kind}", "text/plain"),
    ],
)
def test_answers_that_are_not_json_are_documented_as_such(path: str, media: str, document: dict) -> None:
    (operation,) = [
        document["paths"][key][method]
        for key in document["paths"]
        if key.endswith(path)
        for method in document["paths"][key]
    ]
    assert list(operation["responses"]["200"]["content"]) == [media]
