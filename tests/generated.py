"""Valid and invalid requests that schemathesis generates from an OpenAPI document."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.errors import SchemathesisError

MANY = int(os.environ.get("EXAMPLES", "0"))


def check_requests(document: dict[str, Any], check: Callable[[Any], None], count: int) -> None:
    """Call *check* with *count* valid and *count* invalid requests for each operation of *document*, or with MANY."""
    usual = {"deadline": None, "derandomize": not MANY, "phases": [Phase.generate]}
    settings = hypothesis_settings(max_examples=MANY or count, suppress_health_check=list(HealthCheck), **usual)
    for result in schemathesis.openapi.from_dict(document).get_all_operations():
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            with suppress(SchemathesisError, Unsatisfiable):  # where no invalid value exists
                settings(given(result.ok().as_strategy(generation_mode=mode))(check))()
