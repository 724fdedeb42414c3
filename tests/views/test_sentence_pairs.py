"""Drawn pairs match their kind, and the head's answers equal those of transformers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.views.sentence_pairs import compute as sentence_pairs
from bertexplorer.views.sentence_pairs.compute import NEXT, OTHER, SAME, Options
from tests.conftest import Tiny
from tests.tolerance import of_encoder

STORY = ("The man went to the store.", "He bought milk.", "Then he walked home.", "His children drank it.")


@pytest.mark.parametrize("options", [Options(), Options(same_document=1.0), Options(not_next=1.0, roll=3)])
def test_each_pair_matches_its_kind(mini: Checkpoint, options: Options) -> None:
    result = sentence_pairs.run(mini, " ".join(STORY), options=options)
    others = {sentence for topic in TOPICS.values() for sentence in topic}
    for pair in result.pairs:
        follows = pair.second in STORY and STORY.index(pair.second) == STORY.index(pair.first) + 1
        assert {NEXT: follows, OTHER: pair.second in others, SAME: pair.second in STORY and not follows}[pair.kind]
    kinds = {pair.kind for pair in result.pairs}
    assert (NEXT in kinds) == (options.not_next < 1) and (SAME in kinds) == (options.same_document > 0)


def test_answers_equal_those_of_transformers(mini: Checkpoint, bundled: Path) -> None:
    result = sentence_pairs.run(mini, " ".join(STORY))
    model = transformers.BertForPreTraining.from_pretrained(bundled, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled)
    for pair, answer in zip(result.pairs, result.is_next, strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(pair.first, pair.second, return_tensors="pt")).seq_relationship_logits
        assert answer == pytest.approx(float(logits.softmax(-1)[0, 0]), abs=of_encoder(mini.config, logits))


def test_pairs_are_also_drawn_without_the_head(tiny: Tiny) -> None:
    result = sentence_pairs.run(load(tiny("roberta")), " ".join(STORY))
    assert np.isnan(result.is_next).all() and 5 <= len(result.pairs) <= sentence_pairs.PAIRS
    assert {row["is_next"] for row in sentence_pairs.rows(result)} == {""}, "JSON has no NaN"


@pytest.mark.parametrize("options", [Options(), Options(same_document=1.0), Options(not_next=0.0)])
def test_no_pair_is_drawn_twice(options: Options, tiny: Tiny) -> None:
    six = " ".join([*STORY, "It was late.", "They slept."])
    for roll in range(1, 30):
        pairs = sentence_pairs.run(load(tiny("roberta")), six, options=replace(options, roll=roll)).pairs
        assert len({(pair.first, pair.second) for pair in pairs}) == len(pairs) >= 5
        assert not options.not_next or len(pairs) == sentence_pairs.PAIRS or [p.kind for p in pairs].count(NEXT) == 5


def test_a_blank_line_ends_a_document(tiny: Tiny) -> None:
    text = " ".join(STORY[:2]) + "\n \n" + " ".join(STORY[2:])
    checkpoint = load(tiny("roberta"))
    for options in (Options(not_next=0.0), Options(not_next=1.0, same_document=1.0)):
        result = sentence_pairs.run(checkpoint, text, options=options)
        inside = {frozenset(STORY[:2]), frozenset(STORY[2:])}
        assert result.pairs and all({p.first, p.second} in inside for p in result.pairs if p.kind != OTHER)
    with pytest.raises(ExplorerError, match="blank line after each"):
        sentence_pairs.run(checkpoint, "\n\n".join(STORY))


def test_a_single_sentence_is_rejected(mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="one sentence"):
        sentence_pairs.run(mini, "The man went to the store.")
