"""Figure for the forward pass: the picture's data are the result's numbers, and its page makes no request."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bertexplorer.answers.candidates import Candidate
from bertexplorer.answers.heads import Head
from bertexplorer.answers.readout import MaskReadout
from bertexplorer.answers.strongest_heads import HeadLink
from bertexplorer.views.forward_pass import show as figure
from bertexplorer.views.forward_pass.compute import End, ForwardPass, LayerPart, Raised
from tests.views.show.conftest import EVIL


def layer(number: int, *, link: HeadLink | None = None) -> LayerPart:
    """Of two heads; the second gives 0.75 of the attention of each token to the first."""
    weights = np.zeros((2, 3, 4))
    weights[0, :, 1], weights[1, :, 0], weights[1, :, 3] = 1.0, 0.75, 0.25
    vectors = np.arange(36, dtype=np.float64).reshape(3, 12) - 10 * number
    raised = (Raised(EVIL, 0.05, 0.3), Raised("same", 0.1, 0.1))
    answer = Candidate("paris", 3, 0.2 * number, 1)
    return LayerPart(weights, link, vectors, vectors, vectors, raised, answer)


END = End(
    MaskReadout.outcome,
    MaskReadout.view,
    (Candidate("paris", 3, 0.4, 1), Candidate(EVIL, 4, 0.1, 2)),
    words=True,
    hidden=True,
)


def hand(**more: Any) -> ForwardPass:
    """Three tokens; the second layer is open, where [MASK] looks at EVIL in its second head."""
    parts = (layer(1), layer(2, link=HeadLink(Head(1, 1), 2, 1, 0.75, positional=False)))
    word = np.full((3, 12), 0.5)
    inputs = {name: word for name in ("word", "position", "segment", "sum", "normalised")}
    fields: dict[str, Any] = {
        "tokens": ("[CLS]", EVIL, "[MASK]"), "positions": (0, 1, 2), "special": (True, False, False), "followed": 2,
        "others": 0, "inputs": inputs, "layers": parts, "open": 1, "end": END,
        "vocab_size": 30_522, "intermediate_size": 48, "hidden_size": 12,
    }  # fmt: skip
    return ForwardPass(**{**fields, **more})


def test_the_data_are_the_numbers_of_the_result() -> None:
    data = json.loads(figure.draw(hand()).to_json())["data"]
    assert [token["text"] for token in data["tokens"]] == ["[CLS]", EVIL[:11] + "…", "[MASK]"]
    assert [stage["name"] for stage in data["vectors"]["stages"]] == ["word", "position", "segment", "sum"]
    second = data["layers"][1]
    assert (second["number"], second["head"], second["answer"]) == (2, 2, {"token": "paris", "share": "40 %"})
    assert second["weights"] == [[0.75, 0, 0, 0.25]] * 3 and data["heads"][0] == [[0, 1, 0, 0]] * 3
    assert second["raised"] == [{"token": EVIL, "from": "5.0 %", "to": "30 %"}], "a word that stays is left out"
    length = float(np.linalg.norm(hand().layers[1].output[2]))
    assert second["lengths"] == [f"{length:.1f}"] * 3
    assert [bar["share"] for bar in data["end"]["bars"]] == [0.4, 0.1] and data["open"] == 1
    assert data["highlighted"] == 2 and data["followed"] == "[MASK]"
    assert second["link"] == {"to": 2, "from": 1, "words": f"[MASK] ← {EVIL[:11]}…", "share": "75 %"}
    assert data["layers"][0]["link"] is None
    limit = np.percentile(np.abs(hand().layers[1].output), 99)
    assert second["strip"][0][0] == round(max(-1, -20 / limit), 2) and len(second["strip"][0]) == figure.NUMBERS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"end": End()}, "A vector for each token comes out; this checkpoint has no head"),
        (
            {"end": replace(END, hidden=False)},
            "Nothing is hidden, so the head repeats the word at “[MASK]”. Hide a word to ask for a",
        ),
        ({"end": replace(END, scored=True)}, "“paris” comes out (0.40)."),
        ({"other_masks": 1}, "This is about the first of 2 masks."),
        ({"left_out": 3}, "3 tokens beyond the checkpoint's limit were not read."),
        ({"others": 40}, "43 tokens go in"),
        ({"end": replace(END, caveats=("One thing.",))}, "One thing."),
    ],
)
def test_the_sentence_mentions_what_is_special(change: dict[str, Any], words: str) -> None:
    result = hand(**change)
    assert words in figure.say(result)
    assert figure.draw(result).height > 300


def test_a_layer_settles_the_answer() -> None:
    parts = list(hand().layers)
    first = replace(parts[0], answer=Candidate("rome", 5, 0.1, 1))
    assert "it is the first answer only in the last layer." in figure.say(hand(layers=(first, parts[1])))
    assert "it is the first answer from layer 2 on." in figure.say(hand(layers=(first, parts[1], parts[1])))


def test_a_page_of_its_own_makes_no_request_and_runs_no_text() -> None:
    page = figure.draw(hand()).document(EVIL)
    assert EVIL not in page and "&lt;img" in page and "\\u003cimg" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "export function open" in page and "import " not in page.split("<script")[1]
