"""BertViz's document: no network requests, no token that ends the script, an error for another version of bertviz."""

import json
import re
from dataclasses import replace

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.views.bertviz import show as figure
from tests.browser.test_bertviz import EVIL, made

SCHEME = re.compile(r"""(?:src|href)\s*=\s*["']|@import|url\(""")


@pytest.mark.parametrize("kind", ["head", "model", "neuron"])
def test_the_document_contains_the_escaped_data(kind: str) -> None:
    document = figure.draw(made(kind))
    data = re.search(r"<script>bertviz\((\{.*\})\);</script>", document)
    assert data and not set("<>&") & set(data[1])
    params = json.loads(data[1])
    assert params["tokens"][1] == EVIL and params["include_layers"] == [2, 4] and params["include_heads"] == [1, 2, 3]
    assert params["attn"][1][1][2] == [0, 0, 1000, 0, 0, 0] and params["attn"][0][0][0][0] == 167
    assert ("queries" in params) == (kind == "neuron")
    head = document.partition("<script>")[0]
    assert document.count("</script>") == 5 and not SCHEME.search(head)
    assert "PYTHON_PARAMS" not in document and f"{kind} view" in figure.say(made(kind))


def test_the_sentence_and_the_height_follow_from_the_result() -> None:
    sentence = figure.say(made("head"))
    assert sentence.startswith("BertViz (head view) of 6 tokens, 2 layers with 3 heads. Lines run")
    assert figure.height(made("head", 20)) > figure.height(made("head", 6)) > 200
    result = made("head")
    figure.draw(replace(result, tokens=("\ud800", *result.tokens[1:]))).encode("utf-8")


def test_another_version_or_a_changed_script_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "VERSION", "1.5.0")
    with pytest.raises(ExplorerError, match=r"needs bertviz 1\.5\.0; 1\.4\.1 is installed"):
        figure.draw(made("head"))
    assert figure.replace_once("a+", "b", "caat") == "cbt"
    for text in ("xyz", "a b a"):
        with pytest.raises(ExplorerError, match="not that of version"):
            figure.replace_once("a+", "b", text)
