"""Valid and invalid requests generated from the OpenAPI document: every answer is a documented one."""

from typing import Any

import pytest
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.conftest import Served
from tests.generated import check_requests

pytestmark = pytest.mark.slow

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OWN_READING = ("/view", "/checkpoints", "/lines")  # checked field by field: unknown fields may hold anything


def test_every_answer_is_documented(served: Served) -> None:
    counted: dict[str, dict[int, int]] = {}
    with served.browser() as browser:
        document = browser.get("/openapi.json").json()

    def check(case: Any) -> None:
        answer = case.call(base_url=served.url, timeout=60)
        strict = not case.path.removeprefix("/api/v1").startswith(OWN_READING)
        case.validate_response(answer, checks=[*CHECKS, *([negative_data_rejection] if strict else [])])
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"], answer.headers
            assert answer.json()["detail"] and "Traceback" not in answer.text
        seen = counted.setdefault(case.path, {})
        seen[answer.status_code] = seen.get(answer.status_code, 0) + 1

    check_requests(document, check, 5)
    assert set(counted) == set(document["paths"])
    refused = [path for path, seen in counted.items() if 422 in seen or 404 in seen]
    answered = [path for path, seen in counted.items() if 200 in seen]
    assert len(refused) > 25 and len(answered) > 5, counted
