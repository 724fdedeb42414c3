"""Heads that are penalised for resting on [CLS] and [SEP]: shares, loss, gradient and runs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.engine.masking import Masking
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.runs import run_folder
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.objective import Objective
from bertexplorer.training.pretraining import spec as specs
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.heldout import special_metrics
from bertexplorer.training.pretraining.objectives import MaskedLanguage
from bertexplorer.training.pretraining.pool import DocumentPool, Kind
from bertexplorer.training.pretraining.run import pretrain
from tests.tolerance import assert_within, of_encoder, of_gradient
from tests.training.conftest import Begin

LIMIT = 0.1  # random weights look evenly: about this much goes to two or three of thirty tokens


@pytest.fixture(scope="module")
def batch(pool: DocumentPool, tokenizer: Tokenizer) -> MaskedBatch:
    """Two pairs and two single texts of different lengths."""
    kinds = np.array([Kind.NEXT, Kind.TEXT, Kind.OTHER, Kind.SENTENCE])
    examples = pool.examples(np.random.default_rng(0), kinds, np.array([40, 30, 25, 12]))
    return Collator.of(tokenizer, Masking(chosen=0.3)).collate(examples, np.random.default_rng(1))


def plain_shares(encoder: torch.nn.Module, batch: MaskedBatch, ids: torch.Tensor) -> list[list[torch.Tensor]]:
    """How much the ordinary tokens give to all others, by layer and head: a loop over the weights of transformers."""
    shares = [[torch.zeros(()) for _ in range(encoder.config.num_attention_heads)] for _ in encoder.encoder.layer]
    longest, ordinary = ids.shape[1], set(batch.ordinary.tolist())
    for row in range(len(ids)):
        size = int(batch.mask[row].sum())
        segments = batch.segments[row : row + 1, :size]
        attention = encoder(ids[row : row + 1, :size], token_type_ids=segments, output_attentions=True).attentions
        words = [i for i in range(size) if row * longest + i in ordinary]
        others = [i for i in range(size) if i not in words]
        for token in words:
            for layer, weights in enumerate(attention):
                for head in range(weights.shape[1]):
                    shares[layer][head] = shares[layer][head] + sum(weights[0, head, token, other] for other in others)
    return [[share / len(ordinary) for share in heads] for heads in shares]


def test_ordinary_tokens_are_all_but_special_ones_and_padding(batch: MaskedBatch, tokenizer: Tokenizer) -> None:
    names = [tokenizer.backend.id_to_token(i) for i in batch.original.flatten().tolist()]
    assert batch.ordinary.tolist() == [i for i, name in enumerate(names) if name not in ("[CLS]", "[SEP]", "[PAD]")]


def test_the_loss_and_its_gradient_equal_those_of_a_plain_loop_over_the_weights(batch: MaskedBatch, tiny) -> None:
    theirs = transformers.BertModel.from_pretrained(tiny("bert"), attn_implementation="eager").eval()
    shares = plain_shares(theirs, batch, batch.ids)
    flat = [share for heads in shares for share in heads]
    assert any(share > LIMIT for share in flat) and any(share < LIMIT for share in flat), "both sides of the limit"
    wanted = sum((share - LIMIT).clamp(min=0) for share in flat) / len(flat)
    (5.0 * wanted).backward()

    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    objective: Objective = MaskedLanguage(checkpoint, pairs=True, special_weight=5.0, special_limit=LIMIT)
    assert objective.weights["special"] == 5.0
    objective.modules.requires_grad_(True)
    loss = objective.losses(batch)["special"]
    assert loss.count == objective.counts(batch)["special"] == len(batch.ordinary)
    assert abs(float((loss.total / loss.count - wanted).detach())) < of_encoder(checkpoint.config, 1.0)
    (objective.weights["special"] * loss.total / loss.count).backward()
    for index in range(checkpoint.config.num_layers):
        ours, other = checkpoint.encoder.layers[index].attention, theirs.encoder.layer[index].attention.self
        for mine, reference in ((ours.query.weight, other.query.weight), (ours.key.weight, other.key.weight)):
            assert_within(mine.grad, reference.grad, of_gradient(checkpoint.config, reference.grad))


def test_the_other_losses_stay_the_same(batch: MaskedBatch, tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    with torch.no_grad():
        plain, limited = (
            MaskedLanguage(checkpoint, pairs=True, special_weight=weight).losses(batch) for weight in (0.0, 1.0)
        )
    assert set(limited) == {*plain, "special"}
    for name, loss in plain.items():
        allowed = loss.count * of_encoder(checkpoint.config, float(loss.total) / loss.count)
        assert abs(float(limited[name].total - loss.total)) < allowed


def test_heads_that_rest_on_special_tokens_are_counted_on_held_out_sentences(batch: MaskedBatch, tiny) -> None:
    theirs = transformers.BertModel.from_pretrained(tiny("bert"), attn_implementation="eager").eval()
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    chosen = [i for i in range(len(batch.ordinary)) if i % 9 < 5]  # the others count as special: about half of all
    batch = replace(batch, ordinary=batch.ordinary[chosen])
    with torch.no_grad():
        wanted = torch.tensor(plain_shares(theirs, batch, batch.original))
        metrics = special_metrics(checkpoint.encoder, [batch])
    assert metrics["heads"] == wanted.numel() == 12
    assert 0 < metrics["special_heads"] == int((wanted > 0.5).sum()) < 12
    assert abs(metrics["special_share"] - float(wanted.mean())) < of_encoder(checkpoint.config, 1.0)


def test_batches_of_a_step_weigh_by_their_tokens(pool: DocumentPool, tokenizer: Tokenizer, tiny) -> None:
    collator = Collator.of(tokenizer, Masking())
    batches = [
        collator.collate(pool.examples(np.random.default_rng(i), np.array([Kind.TEXT] * 2), np.full(2, room)), draw)
        for i, (room, draw) in enumerate(((40, np.random.default_rng(0)), (12, np.random.default_rng(1))))
    ]
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    objective = MaskedLanguage(checkpoint, pairs=False, special_weight=1.0, special_limit=0.05)
    objective.modules.requires_grad_(True)
    counts, losses = DataParallel(objective, 2, torch.device("cpu"), bf16=False).gradients(batches)
    assert counts["special"] == sum(len(b.ordinary) for b in batches)
    assert all(loss["special"].count == len(b.ordinary) for loss, b in zip(losses, batches, strict=True))


def test_a_run_with_a_limit_moves_heads_to_words_and_tells_it(begin: Begin, tiny) -> None:
    plain = {"vocabulary": "", "start": str(tiny("bert"))}
    ends = {}
    for name, weight in (("free", 0.0), ("limited", 50.0)):
        folder = begin(
            name, plain=plain, steps=20, peak=1e-2, threads=1, special_weight=weight, special_limit=0.02, seed=1
        )
        list(pretrain(folder))
        events = run_folder.history(folder)
        ends[name] = [event for event in events if event["event"] == "evaluated"]
        steps = [event for event in events if event["event"] == "steps"][-1]
        assert ("special" in steps["loss"]) == bool(weight)
    assert ends["limited"][-1]["special_share"] < ends["free"][-1]["special_share"] - 0.02
    assert ends["limited"][-1]["special_share"] < ends["limited"][0]["special_share"] - 0.02


@pytest.mark.parametrize("objective", ["causal", "replaced"])
def test_an_objective_without_masked_tokens_has_no_limit(objective: str) -> None:
    with pytest.raises(ExplorerError, match=f"got 3 with the objective {objective}; wanted 0, or an objective"):
        specs.make_spec({"text": ("a",)}, {"objective": objective, "special_weight": 3})
    assert specs.make_spec({"text": ("a",)}, {"objective": "mlm", "special_weight": 3}).running.special_limit == 0.3
