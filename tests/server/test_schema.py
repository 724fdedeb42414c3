"""Valid and invalid requests generated from gradio's OpenAPI description and sent to the whole server: a known route
or a rejection, never a failure."""

from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import requests

from bertexplorer.server.request_filter import route_of
from tests.generated import check_requests
from tests.server.test_whole import gradio_of

pytestmark = pytest.mark.slow

REFUSED = (400, 401, 403, 404, 405, 413, 422)


def described(running: Any) -> dict[str, Any]:
    """The routes of the page as gradio describes them; the server does not publish them."""
    return gradio_of(running).openapi()


def test_gradios_schema_is_not_served(running: Any) -> None:
    assert running.mounted.openapi_url is None and len(described(running)["paths"]) > 50
    for path in ("/openapi.json", "/gradio_api/openapi.json", "/docs", "/redoc"):
        assert requests.get(running.url + path, timeout=10).status_code == 404


def test_every_operation_is_answered_or_rejected(running: Any) -> None:
    counted: dict[str, int] = {}

    def check(case: Any) -> None:
        request = case.as_transport_kwargs(base_url=running.url)
        with requests.request(**request, stream=True, timeout=20, allow_redirects=False) as answer:
            streamed = answer.headers.get("content-type", "").startswith("text/event-stream")
            message = b"a stream" if streamed else answer.content[:5000]
            route = route_of(unquote(urlsplit(answer.request.url).path))[0]
            assert answer.status_code < 500 and b"Traceback" not in message, (answer.request.url, message)
            here = answer.headers.get("location", "") in ("../learn", "../train", "../pretrain")
            assert answer.status_code in (200, 304, *REFUSED) or here, (answer.status_code, answer.request.url)
            assert route != "none" or answer.status_code in REFUSED, answer.request.url
            assert message or answer.status_code == 304 or here or request["method"] == "HEAD"
        counted[route] = counted.get(route, 0) + 1

    check_requests(described(running), check, 2)
    assert counted["none"] > 100 and {"page", "config", "asset"} <= set(counted), counted
    assert requests.get(running.url, timeout=10).status_code == 200
