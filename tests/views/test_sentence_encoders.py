"""A sentence encoder answers with the similarity of two texts in every view of an answer, by its own pipeline."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertexplorer import engine
from bertexplorer.answers import task_head
from bertexplorer.answers.readout import kind_of, require_tuned
from bertexplorer.engine import gradients
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.python.bert import Bert
from bertexplorer.views.answer import compute as answer
from bertexplorer.views.counterfactuals import compute as counterfactuals
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.referee import compute as referee
from bertexplorer.views.saliency import compute as saliency
from bertexplorer.views.switchboard import compute as switchboard
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder
from tests.tolerance import of_encoder

PAIR = Text("the cat sat on the mat .", "a dog sat in paris , she said .")
PIPELINES: list[tuple[dict[str, Any], list[str]]] = [
    ({"pooling_mode": "mean"}, []),
    ({"pooling_mode": "cls"}, []),
    ({"pooling_mode": ["cls", "max"]}, ["Tanh"]),
]


def own(folder: Path, pooling: dict[str, Any], dense: list[str], **settings: Any) -> Checkpoint:
    write_sentence_encoder(folder, pooling, dense=dense, do_lower_case=True, max_seq_length=12)
    if settings:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return load(folder, precision="fp32", device="cpu")


@pytest.mark.parametrize(("pooling", "dense"), PIPELINES)
def test_every_view_reads_the_cosine_of_its_own_vectors(
    pooling: dict[str, Any], dense: list[str], tiny_copy: Tiny
) -> None:
    checkpoint = own(tiny_copy("bert"), pooling, dense)
    first, second = Bert(checkpoint).encode([PAIR.first, PAIR.second])
    wanted = float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
    close = of_encoder(checkpoint.config)
    assert kind_of(checkpoint) == "similarity"
    assert answer.run(checkpoint, PAIR).labels[0].value == pytest.approx(wanted, abs=close)
    assert saliency.run(checkpoint, PAIR).value == pytest.approx(wanted, abs=close)
    assert layers.run(checkpoint, PAIR).layers[-1].candidates[0].probability == pytest.approx(wanted, abs=close)
    assert switchboard.run(checkpoint, PAIR).before.value == pytest.approx(wanted, abs=close)
    encoding = require_tuned(checkpoint).encode(PAIR)
    target = gradients.cosine_target(encoding, task_head.pair_encoder(checkpoint))
    words = gradients.word_vectors(checkpoint, encoding.ids)
    whole = words.new_ones(1)
    value = gradients.path_values(checkpoint, encoding, target, words, words, whole)
    assert float(value) == pytest.approx(wanted, abs=close), "the number with gradients is the same"
    with pytest.raises(ExplorerError, match="Look at Saliency"):
        referee.run(checkpoint, PAIR)
    with pytest.raises(ExplorerError, match="Look at Saliency"):
        counterfactuals.run(checkpoint, PAIR)


def test_where_it_departs_from_its_files_is_said(tiny_copy: Tiny) -> None:
    settings = {"prompts": {"query": "query: "}, "default_prompt_name": "query", "similarity_fn_name": "dot"}
    checkpoint = own(tiny_copy("bert"), {"pooling_mode": "mean"}, [], **settings)
    long = Text("the cat sat on the mat in the park of paris and ran", "a dog")
    said = " ".join(answer.run(checkpoint, long).caveats())
    assert "Its own files cut a text at 12 tokens; here 20 are read." in said
    assert "put a prompt before each text" in said and "compare by dot" in said
    assert set(saliency.run(checkpoint, long).caveats) == set(answer.run(checkpoint, long).caveats())
    plain = own(tiny_copy("roberta"), {"pooling_mode": "mean"}, [])
    assert not answer.run(plain, Text("the cat", "a dog")).caveats()


def test_texts_are_read_in_lower_case_where_the_files_say_so(tiny_copy: Tiny) -> None:
    checkpoint = own(tiny_copy("roberta"), {"pooling_mode": "mean"}, [])
    loud = Text(PAIR.first.upper(), PAIR.second)
    assert answer.run(checkpoint, loud).labels[0].value == answer.run(checkpoint, PAIR).labels[0].value


def test_files_that_cannot_be_followed_make_no_answer(tiny_copy: Tiny) -> None:
    checkpoint = own(tiny_copy("bert"), {"pooling_mode": "mode"}, [])
    assert kind_of(checkpoint) is None
    assert engine.sentence_vectors(checkpoint, [checkpoint.tokenizer.encode("a cat")], layer=1, pooling="mean").shape
