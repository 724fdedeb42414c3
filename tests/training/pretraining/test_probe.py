"""The probe's questions are correct, its halves share no document, and a perfect encoder answers them all."""

import numpy as np
import pytest
import torch
from torch import nn

from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining import heldout, probe
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.probe import Probe
from bertexplorer.training.pretraining.run import pretrain
from tests.conftest import Tiny
from tests.training.conftest import Begin


@pytest.fixture(scope="module")
def made(shards: list[Shard], tokenizer: Tokenizer) -> Probe:
    return probe.draw_probe(shards, heldout.split_masks(shards, heldout.choose_hashes(shards, 60))[1], tokenizer)


def documents(shards: list[Shard]) -> list[str]:
    """Every document as its ids, written out."""
    result = []
    for shard in shards:
        for first, after in zip(shard.documents[:-1], shard.documents[1:], strict=True):
            begin, end = shard.sentences[first], shard.sentences[after]
            result.append(" ".join(map(str, shard.ids[begin:end])))
    return result


def test_a_gap_replaces_a_frequent_word(made: Probe, shards: list[Shard], tokenizer: Tokenizer) -> None:
    whole = documents(shards)
    words = [tokenizer.backend.token_to_id(word) for word in made.words]
    assert len(set(words)) == probe.WORDS and all(made.gaps)
    for question in [*made.gaps[0][:50], *made.gaps[1][:50]]:
        left, right = question.at
        assert right == left + 1
        ids = [*question.item.ids[1:right], words[question.label], *question.item.ids[right:-1]]
        assert any(" ".join(map(str, ids)) in entry for entry in whole)


def test_pairs_follow_or_come_from_another_document(made: Probe, shards: list[Shard]) -> None:
    whole = documents(shards)
    for question in made.pairs[0][:40]:
        left, right = question.at
        first, second = (" ".join(map(str, question.item.ids[a:b])) for a, b in ((1, left), (left + 1, right)))
        assert any(f"{first} {second}" in entry for entry in whole) == bool(question.label)
    assert {question.label for question in made.pairs[0]} == {0, 1}


def test_the_halves_share_no_document(shards: list[Shard]) -> None:
    held_out = heldout.split_masks(shards, heldout.choose_hashes(shards, 31))[1]
    halves = [[probe.half_of_documents(out, half) for out in held_out] for half in (0, 1)]
    for out, even, odd in zip(held_out, *halves, strict=True):
        assert not (even & odd).any() and ((even | odd) == out).all()


class Telltale(nn.Module):
    """An encoder that knows the answers and encodes them in its vectors."""

    def __init__(self, answers: dict[tuple[int, ...], int]) -> None:
        super().__init__()
        self.answers = answers

    def forward(self, ids: torch.Tensor, segments: object, mask: torch.Tensor | None, **_: object) -> object:
        lengths = [ids.shape[1]] * len(ids) if mask is None else mask.sum(1).tolist()
        rows = [tuple(row[:length].tolist()) for row, length in zip(ids, lengths, strict=True)]
        out = torch.zeros(*ids.shape, 8)
        for i, row in enumerate(rows):
            out[i, :, self.answers[row]] = 1.0
        return type("Forward", (), {"last": out})()


@pytest.mark.slow
def test_a_perfect_encoder_answers_all_questions_and_a_random_one_does_not(
    made: Probe, tokenizer: Tokenizer, tiny: Tiny
) -> None:
    every = [question for half in (*made.gaps, *made.pairs) for question in half]
    knows = Telltale({tuple(q.item.ids): q.label for q in every})
    knows.config = type("Config", (), {"num_segments": 1})()
    cpu = torch.device("cpu")
    result = probe.evaluate_probe(made, knows, tokenizer, cpu, causal=False)
    assert result["probe"] > 0.97  # the same text may hold two gaps with different answers
    random = load(tiny("bert")).encoder
    first = probe.evaluate_probe(made, random, tokenizer, cpu, causal=False)
    assert first["probe_follows"] == pytest.approx(0.5, abs=0.12)  # chance: the text is of random words
    assert first == probe.evaluate_probe(made, random, tokenizer, cpu, causal=False)
    assert first != probe.evaluate_probe(made, random, tokenizer, cpu, causal=True)


def test_too_little_text_gives_no_questions(tokenizer: Tokenizer, shards: list[Shard]) -> None:
    nothing = probe.draw_probe(shards, [np.zeros(len(s.documents) - 1, bool) for s in shards], tokenizer)
    encoder = nn.Linear(1, 1)
    assert probe.evaluate_probe(nothing, encoder, tokenizer, torch.device("cpu"), causal=False) == {}


@pytest.mark.slow
def test_a_run_reports_its_probe(begin: Begin) -> None:
    result = [e for e in pretrain(begin(probe=True, heldout_documents=40)) if e["event"] == "evaluated"]
    assert all(0 <= e["probe"] <= 1 and e["probe_words"] > 0 for e in result)
