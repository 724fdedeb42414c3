"""The OpenAPI document matches the settings, and its page needs no other host."""

import json
import re

import httpx
import jsonschema_rs
import pytest

from bertexplorer.api.documents import STATIC
from bertexplorer.api.models import example
from bertexplorer.core.ask import VIEWS
from bertexplorer.server.request_filter import route_of
from tests.api.conftest import Served

PAGE = ("docs", "docs/docs.js", "docs/docs.css")


@pytest.fixture(scope="module")
def document(served: Served) -> dict:
    with served.browser() as browser:
        return browser.get("/openapi.json").json()


def resolved(document: dict, schema: dict) -> dict:
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


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


def test_the_problems_of_all_routes_are_documented(document: dict) -> None:
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
