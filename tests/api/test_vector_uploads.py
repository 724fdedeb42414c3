"""Uploaded vectors over HTTP: the key of a file gives its answer, to its owner and by a link."""

import json

from bertexplorer.views.whose_vectors.compute import plant
from tests.api.conftest import Served


def test_a_file_of_vectors_is_stored_and_asked_about(served: Served) -> None:
    checkpoint = served.library.get("little", "fp32")
    made = plant(checkpoint, "another pooling")
    lines = [json.dumps({"text": text, "vector": vector}) for text, vector in zip(*made, strict=True)]
    with served.browser() as browser:
        sent = browser.post("/vectors", files={"file": ("theirs.jsonl", "\n".join(lines))})
        assert sent.status_code == 200 and "12 texts with vectors of 32 numbers" in sent.json()["notice"]
        options = {"vectors": sent.json()["vectors"]}
        state = {"view": "whose-vectors", "checkpoint": "little", "precision": "fp32", "options": options}
        shown = browser.post("/view", json={"state": state}).text.splitlines()[-1]
        assert "They take the first token's vector" in json.loads(shown)["said"]
        program = browser.post("/view/python", json={"state": state}).text
        assert "theirs.jsonl" in program and "planted" not in program
        gone = browser.post("/view", json={"state": {**state, "options": {"vectors": "0" * 24}}}).text
        assert "no uploaded vectors" in gone
        bad = browser.post("/vectors", files={"file": ("theirs.csv", "a,b")})
        assert bad.status_code == 422 and "wanted a .jsonl file" in bad.json()["detail"]
