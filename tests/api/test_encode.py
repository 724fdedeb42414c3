"""Vectors of sentences over HTTP, for Teach."""

from typing import Any

import httpx
import numpy as np
import pytest

import bertexplorer as bx
from bertexplorer.api import encode
from tests.tolerance import of_encoder


def test_vectors_are_those_of_the_package(browser: httpx.Client, served: Any) -> None:
    texts = ["Paris is good.", "A cat."]
    answer = browser.post("/encode", json={"texts": texts}).json()
    checkpoint = served.library.get("little")
    wanted = bx.Bert(checkpoint).encode(texts)
    assert np.array(answer["vectors"]) == pytest.approx(wanted, abs=of_encoder(checkpoint.config) + 1e-6)
    assert answer["encoder"] == {"checkpoint": "little", "revision": checkpoint.revision} and answer["notes"] == []


@pytest.mark.parametrize(("texts", "slow"), [(["A cat."] * 40, 0), (["A cat sat. " * 30] * 40, 1)])
def test_long_requests_wait_in_the_slow_queue(
    browser: httpx.Client, served: Any, monkeypatch: pytest.MonkeyPatch, texts: list[str], slow: int
) -> None:
    seen = []
    computed = encode.encode_texts

    def look(*given: Any) -> Any:
        seen.append(len(served.queues.slow.active))
        return computed(*given)

    monkeypatch.setattr(encode, "encode_texts", look)
    assert browser.post("/encode", json={"texts": texts}).status_code == 200
    assert seen == [slow]


@pytest.mark.parametrize("texts", [[], [""], ["a"] * 301, ["a" * 2001], "a", None])
def test_other_texts_are_refused(browser: httpx.Client, texts: Any) -> None:
    answer = browser.post("/encode", json={"texts": texts})
    assert answer.status_code == 422 and "texts" in answer.text
