"""Losses equal those of transformers on the same weights and labels, and those of a plain loop."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers

from bertexplorer.engine.masking import Masking
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.initialise import fresh
from bertexplorer.model.load import load
from bertexplorer.model.positions import Relations
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.objective import Objective
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.objectives import (
    CausalLanguage,
    MaskedLanguage,
    ReplacedTokens,
    aligned_logits,
)
from bertexplorer.training.pretraining.pool import DocumentPool, Examples, Kind
from tests.tolerance import assert_within, of_encoder, of_gradient

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def examples(pool: DocumentPool) -> Examples:
    """Four true pairs, four wrong ones and four single texts."""
    kinds = np.array([*[Kind.NEXT, Kind.OTHER] * 4, *[Kind.TEXT] * 4])
    return pool.examples(np.random.default_rng(0), kinds, np.where(kinds == Kind.TEXT, 30, 40))


def singles_of(examples: Examples, collator: Collator) -> list[MaskedBatch]:
    """A batch for each example."""
    return [collator.collate(examples.take(np.array([i])), np.random.default_rng(0)) for i in range(len(examples))]


@pytest.fixture(scope="module")
def batch(examples: Examples, tokenizer: Tokenizer) -> MaskedBatch:
    return Collator.of(tokenizer, Masking(chosen=0.3)).collate(examples, np.random.default_rng(1))


@pytest.fixture
def checkpoint(tiny) -> Checkpoint:
    return load(tiny("bert"), precision="fp32", device="cpu")


def trainable(objective: Objective[Any]) -> Objective[Any]:
    objective.modules.requires_grad_(True)
    return objective


def scatter(batch: MaskedBatch) -> torch.Tensor:
    """-100 everywhere but at the chosen positions, as transformers wants it."""
    flat = torch.full((batch.ids.numel(),), -100)
    flat[batch.chosen] = batch.targets
    return flat.view_as(batch.ids)


def test_mlm_and_nsp_losses_equal_those_of_transformers(batch: MaskedBatch, checkpoint: Checkpoint, tiny) -> None:
    theirs = transformers.BertForPreTraining.from_pretrained(tiny("bert"), attn_implementation="eager").eval()
    inputs = {"input_ids": batch.ids, "token_type_ids": batch.segments, "attention_mask": batch.mask.long()}
    with torch.no_grad():
        result = MaskedLanguage(checkpoint, pairs=True).losses(batch)
        reference = theirs(**inputs)
    logits = reference.prediction_logits.flatten(0, 1)
    wanted = F.cross_entropy(logits, scatter(batch).flatten(), ignore_index=-100)
    assert abs(float(result["mlm"].total / result["mlm"].count - wanted)) < of_encoder(checkpoint.config, wanted)
    two = batch.labels >= 0
    nsp = F.cross_entropy(reference.seq_relationship_logits[two], batch.labels[two])
    assert result["nsp"].count == int(two.sum()) and 0 < result["nsp"].count < len(batch.labels)
    assert abs(float(result["nsp"].total / result["nsp"].count - nsp)) < of_encoder(checkpoint.config, nsp)
    right = (logits[batch.chosen].argmax(-1) == batch.targets).sum()
    assert int(result["mlm"].right) == int(right)


def test_the_total_loss_and_its_gradient_equal_those_of_transformers(
    examples: Examples, checkpoint: Checkpoint, tiny
) -> None:
    tokenizer = checkpoint.tokenizer
    batch = Collator.of(tokenizer, Masking(chosen=0.3)).collate(examples.take(np.arange(8)), np.random.default_rng(1))
    theirs = transformers.BertForPreTraining.from_pretrained(tiny("bert"), attn_implementation="eager").eval()
    inputs = {"input_ids": batch.ids, "token_type_ids": batch.segments, "attention_mask": batch.mask.long()}
    loss = theirs(**inputs, labels=scatter(batch), next_sentence_label=batch.labels).loss
    loss.backward()
    objective = trainable(MaskedLanguage(checkpoint, pairs=True))
    objective.modules.eval()
    counts, losses = DataParallel(objective, 1, CPU, bf16=False).gradients([batch])
    total = sum(float(losses[0][task].total) / counts[task] for task in counts)
    assert abs(total - float(loss.detach())) < of_encoder(checkpoint.config, loss)
    ours, reference = checkpoint.encoder, theirs.bert
    for mine, other in (
        (ours.embeddings.words.weight, reference.embeddings.word_embeddings.weight),
        (ours.layers[0].attention.query.weight, reference.encoder.layer[0].attention.self.query.weight),
        (ours.layers[2].feed_forward.contract.bias, reference.encoder.layer[2].output.dense.bias),
        (checkpoint.next_sentence.output.weight, theirs.cls.seq_relationship.weight),
    ):
        assert_within(mine.grad, other.grad, of_gradient(checkpoint.config, other.grad))


def test_logits_of_a_padded_matrix_equal_those_of_the_head(checkpoint: Checkpoint) -> None:
    head = checkpoint.masked_lm.requires_grad_(True)
    assert len(head.output.weight) % 64, "else nothing is padded"
    vectors = torch.randn(5, checkpoint.config.hidden_size, generator=torch.Generator().manual_seed(0))
    gradients = []
    for logits in (aligned_logits(head, vectors), head(vectors)):
        logits.softmax(-1)[:, 3].sum().backward()
        gradients.append((logits.detach(), head.output.weight.grad, head.output.bias.grad, head.dense.weight.grad))
        head.zero_grad(set_to_none=True)
    for ours, theirs in zip(*gradients, strict=True):
        assert ours.shape == theirs.shape and torch.allclose(ours, theirs, atol=1e-6)


def test_the_causal_loss_equals_a_plain_loop_over_prefixes(batch: MaskedBatch, checkpoint: Checkpoint) -> None:
    """Layer by layer, each token computed anew from its own prefix and nothing else."""
    total, count = 0.0, 0
    with torch.no_grad():
        for row in range(3):
            size = int(batch.mask[row].sum())
            hidden = checkpoint.encoder.embeddings(
                batch.original[row : row + 1, :size], batch.segments[row : row + 1, :size]
            )
            for layer in checkpoint.encoder.layers:
                outputs = []
                for end in range(1, size + 1):  # token by token, each from its prefix of the layer's input
                    result, _, _ = layer(hidden[:, :end], Relations(), lambda c: c, True, None)
                    outputs.append(result[:, -1:])
                hidden = torch.cat(outputs, dim=1)
            log_probs = checkpoint.masked_lm(hidden[0, :-1]).log_softmax(-1)
            total -= float(log_probs.gather(-1, batch.original[row, 1:size, None]).sum())
            count += size - 1
        part = MaskedBatch(
            *(t[:3] for t in (batch.ids, batch.original, batch.segments, batch.mask)),
            batch.chosen,
            batch.kinds,
            batch.labels[:3],
            batch.pairs[:3],
            batch.singles[:0],
            batch.ordinary[:0],
            count + 3,
        )
        loss = CausalLanguage(checkpoint).losses(part)["causal"]
    assert loss.count == count == CausalLanguage(checkpoint).counts(part)["causal"]
    assert abs(float(loss.total) - total) < count * of_encoder(checkpoint.config, total / count)


def electra(tokenizer: Tokenizer) -> ReplacedTokens:
    size = {
        "num_hidden_layers": 2,
        "embedding_size": 32,
        "max_position_embeddings": 64,
        "vocab_size": tokenizer.vocab_size,
    }
    wide = {"model_type": "electra", "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, **size}
    narrow = {**wide, "hidden_size": 16, "num_attention_heads": 2}
    wide["initializer_range"] = narrow["initializer_range"] = 0.3
    return ReplacedTokens(
        fresh(narrow, tokenizer, ("masked_lm",), seed=1), fresh(wide, tokenizer, ("replaced_token",), seed=2)
    )


def test_replaced_tokens_are_samples_of_the_generator_and_losses_are_electras(
    batch: MaskedBatch, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    objective = electra(tokenizer)
    modules = objective.modules.eval()
    torch.manual_seed(0)
    with torch.no_grad():
        result = objective.losses(batch)
        vectors = modules["generator"](batch.ids, batch.segments, batch.mask).last.flatten(0, 1)[batch.chosen]
        logits = modules["masked_lm"](vectors)
        torch.manual_seed(0)
        sampled = torch.multinomial(logits.softmax(-1), 1).squeeze(-1)
        ids = batch.original.flatten().clone()
        ids[batch.chosen] = sampled
        ids = ids.view_as(batch.original)
        scores = modules["replaced_token"](modules["encoder"](ids, batch.segments, batch.mask).last)[batch.mask]
        wrong = (ids != batch.original)[batch.mask].float()
    assert 0 < wrong.sum() < len(batch.chosen) + 1
    nats = F.cross_entropy(logits, batch.targets, reduction="none")
    config = modules["encoder"].config
    assert_within(result["mlm"].total, nats.sum(), len(nats) * of_encoder(config, nats))
    wanted = -(wrong * scores.sigmoid().log() + (1 - wrong) * (1 - scores.sigmoid()).log()).sum()
    assert_within(result["replaced"].total, wanted, len(scores) * of_encoder(config, scores))
    assert result["replaced"].count == batch.tokens and objective.weights == {"mlm": 1.0, "replaced": 50.0}


def test_the_discriminators_loss_does_not_reach_the_generator(batch: MaskedBatch, tokenizer: Tokenizer) -> None:
    objective = trainable(electra(tokenizer))
    modules = objective.modules
    objective.losses(batch)["replaced"].total.backward()
    shared = modules["encoder"].embeddings.words.weight
    assert shared is modules["generator"].embeddings.words.weight is modules["masked_lm"].output.weight
    assert shared.grad is not None and modules["encoder"].layers[0].attention.query.weight.grad is not None
    assert all(p.grad is None for p in modules["generator"].layers.parameters())


def test_many_batches_also_equal_one_batch_in_bf16(
    examples: Examples, checkpoint: Checkpoint, tokenizer: Tokenizer
) -> None:
    """All batches of a step share the weights' bf16 copies; their gradients must all arrive."""
    objective = trainable(MaskedLanguage(checkpoint, pairs=True))
    collator = Collator.of(tokenizer, Masking(chosen=0.99, masked=1.0))
    singles = singles_of(examples, collator)
    result = []
    for bf16, count, batches in ((False, 1, singles), (True, 1, singles), (True, 2, singles)):
        objective.modules.zero_grad()
        DataParallel(objective, count, CPU, bf16=bf16).gradients(batches)
        result.append(torch.cat([p.grad.flatten() for p in objective.modules.parameters()]))
    for other in result[1:]:
        assert (other - result[0]).norm() < 0.05 * result[0].norm()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_batches_and_workers_sum_to_one_batch(
    examples: Examples, checkpoint: Checkpoint, count: int, tokenizer: Tokenizer
) -> None:
    """The same masks in one batch and in many: the same gradient."""
    objective = trainable(MaskedLanguage(checkpoint, pairs=True, weight=0.7))
    collator = Collator.of(tokenizer, Masking(chosen=0.99, masked=1.0))  # almost no choice
    singles = singles_of(examples, collator)
    whole = join(singles, collator.pad_id)
    parameters = list(objective.modules.parameters())
    _, one = DataParallel(objective, 1, CPU, bf16=False).gradients([whole])
    wanted = [p.grad.clone() for p in parameters]
    objective.modules.zero_grad()
    workers = DataParallel(objective, count, CPU, bf16=False)
    counts, many = workers.gradients(singles)
    for task in counts:
        total, allowed = float(one[0][task].total), counts[task] * of_encoder(checkpoint.config, 10.0)  # nats
        assert abs(sum(float(m[task].total) for m in many if task in m) - total) < allowed
    # that of the keys' bias is 0, summed from terms as large as the others
    allowed = of_gradient(checkpoint.config, torch.cat([grad.flatten() for grad in wanted]))
    for parameter, grad in zip(parameters, wanted, strict=True):
        assert_within(parameter.grad, grad, allowed)
    assert all(p.grad is None for other in workers.copies[1:] for p in other.modules.parameters())
    with torch.no_grad():
        parameters[0].add_(1.0)
    assert all(
        torch.equal(other.modules.state_dict()[k], v)
        for other in workers.copies
        for k, v in objective.modules.state_dict().items()
    )


def join(batches: list[MaskedBatch], pad: int) -> MaskedBatch:
    longest = max(b.ids.shape[1] for b in batches)

    def padded(name: str, value: int) -> torch.Tensor:
        rows = [F.pad(getattr(b, name), (0, longest - b.ids.shape[1]), value=value) for b in batches]
        return torch.cat(rows)

    mask = torch.cat([F.pad(torch.ones_like(b.ids), (0, longest - b.ids.shape[1])) for b in batches]).bool()
    chosen, ordinary = (
        torch.cat([getattr(b, name) + i * longest for i, b in enumerate(batches)]) for name in ("chosen", "ordinary")
    )
    kinds, labels = torch.cat([b.kinds for b in batches]), torch.cat([b.labels for b in batches])
    parts = [padded("ids", pad), padded("original", pad), padded("segments", 0)]
    pairs, singles = ((labels >= 0) == two for two in (True, False))
    rows = [are.nonzero().squeeze(1) for are in (pairs, singles)]
    return MaskedBatch(*parts, mask, chosen, kinds, labels, *rows, ordinary, sum(b.tokens for b in batches))
