"""Valid and invalid requests generated from the OpenAPI document: every answer is a documented one."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.errors import SchemathesisError
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.conftest import Served

pytestmark = pytest.mark.slow

MANY = int(os.environ.get("EXAMPLES", "0"))
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

    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            with suppress(SchemathesisError, Unsatisfiable):  # where no invalid value exists
                asked_for(result.ok().as_strategy(generation_mode=mode), check)
    assert set(counted) == set(document["paths"])
    refused = [path for path, seen in counted.items() if 422 in seen or 404 in seen]
    answered = [path for path, seen in counted.items() if 200 in seen]
    assert len(refused) > 25 and len(answered) > 5, counted


def asked_for(cases: SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    hypothesis_settings(
        max_examples=MANY or 5,
        deadline=None,
        derandomize=not MANY,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )(given(cases)(check))()
