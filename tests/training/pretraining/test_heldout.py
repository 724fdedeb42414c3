"""The held-out evaluation is independent of settings and equals a plain computation with transformers."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining import heldout
from bertexplorer.training.pretraining.batches import MaskedBatch
from bertexplorer.training.pretraining.corpus import Shard, tokenize_files
from bertexplorer.training.pretraining.heldout import HeldOut
from bertexplorer.training.pretraining.measure import main
from bertexplorer.training.pretraining.objectives import CausalLanguage, MaskedLanguage
from tests.tolerance import of_encoder, of_sum

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def held(shards: list[Shard]) -> list[np.ndarray]:
    return heldout.split_masks(shards, heldout.choose_hashes(shards, 40))[1]


@pytest.fixture(scope="module")
def fixed(shards: list[Shard], held: list[np.ndarray], tokenizer: Tokenizer) -> HeldOut:
    return heldout.draw_held_out(shards, held, tokenizer, count=30, longest=64)


def test_the_evaluation_depends_only_on_the_held_out_text(
    shards: list[Shard], held: list[np.ndarray], fixed: HeldOut, tokenizer: Tokenizer
) -> None:
    second = heldout.draw_held_out(shards[::-1], held[::-1], tokenizer, count=30, longest=64)
    for one, other in zip(batches_of(fixed), batches_of(second), strict=True):
        assert torch.equal(one.ids, other.ids) and torch.equal(one.chosen, other.chosen)
    assert second.unigram == pytest.approx(fixed.unigram)
    known = [" ".join(map(str, ids)) for ids in documents_of(shards, held)]
    for batch in batches_of(fixed):
        for row in batch.original.tolist():
            first = row[1 : row.index(3)]
            assert any(" ".join(map(str, first)) in ids for ids in known)
    assert max(b.ids.shape[1] for b in fixed.pairs) <= 64 and max(b.ids.shape[1] for b in fixed.short) <= 24


def batches_of(held_out: HeldOut) -> list[MaskedBatch]:
    return held_out.pairs + held_out.same + held_out.short + held_out.swapped


def documents_of(shards: list[Shard], kept: list[np.ndarray]) -> list[list[int]]:
    result = []
    for shard, held in zip(shards, kept, strict=True):
        for number in np.flatnonzero(held):
            begin, end = shard.sentences[shard.documents[number : number + 2]]
            result.append(shard.ids[begin:end].tolist())
    return result


def test_the_unigram_model_is_counted_on_the_training_text(
    shards: list[Shard], held: list[np.ndarray], fixed: HeldOut, tokenizer: Tokenizer
) -> None:
    counts = np.ones(tokenizer.vocab_size)
    for ids in documents_of(shards, [~h for h in held]):
        for token in ids:
            counts[token] += 1
    nats = [-np.log(counts[t] / counts.sum()) for b in fixed.short for t in b.targets.tolist()]
    assert fixed.unigram["short"] == pytest.approx(np.mean(nats))
    assert fixed.uniform == pytest.approx(np.log(tokenizer.vocab_size))


def test_metrics_equal_those_of_transformers(fixed: HeldOut, tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    theirs = transformers.BertForPreTraining.from_pretrained(tiny("bert"), attn_implementation="eager").eval()
    result = heldout.evaluate(MaskedLanguage(checkpoint, pairs=True), fixed, CPU, bf16=False)
    for name, batches in (("pairs", fixed.pairs), ("short", fixed.short)):
        nats, hits, kinds = [], [], []
        for batch in batches:
            mask = torch.ones_like(batch.ids) if batch.mask is None else batch.mask.long()
            with torch.no_grad():
                logits = theirs(batch.ids, attention_mask=mask, token_type_ids=batch.segments).prediction_logits
            rows = logits.flatten(0, 1)[batch.chosen].log_softmax(-1)
            targets = batch.original.flatten()[batch.chosen]
            nats += (-rows[torch.arange(len(targets)), targets]).tolist()
            hits += (rows.argmax(-1) == targets).tolist()
            kinds += batch.kinds.tolist()
        assert result[f"{name}_loss"] == pytest.approx(np.mean(nats), abs=of_encoder(checkpoint.config, nats))
        assert result[f"{name}_accuracy"] == pytest.approx(np.mean(hits), abs=of_sum(len(hits)))
        masked = [n for n, kind in zip(nats, kinds, strict=True) if kind == 0]
        assert result[f"{name}_loss_mask"] == pytest.approx(np.mean(masked), abs=of_encoder(checkpoint.config, nats))
    assert checkpoint.encoder.training is False


def test_next_sentence_accuracies_equal_those_of_transformers(fixed: HeldOut, tiny) -> None:
    """True pairs, wrong ones of another document and of the same one, swapped ones; two thirds get "is next"."""
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    theirs = transformers.BertForPreTraining.from_pretrained(tiny("bert"), attn_implementation="eager").eval()
    labels, margins = [], []
    for batch in fixed.pairs + fixed.same + fixed.swapped:
        mask = torch.ones_like(batch.ids) if batch.mask is None else batch.mask.long()
        with torch.no_grad():
            logits = theirs(batch.ids, attention_mask=mask, token_type_ids=batch.segments).seq_relationship_logits
        margins += (logits[:, 1] - logits[:, 0]).tolist()
        labels += batch.labels.tolist()
    # the score of one pair, slightly below which the classes are separated
    least = float(np.sort(margins)[2 * len(margins) // 3])
    with torch.no_grad():
        checkpoint.next_sentence.output.bias[1] -= least - 1e-4
    right = (np.array(margins) > least - 1e-4) == np.array(labels)
    result = heldout.evaluate(MaskedLanguage(checkpoint, pairs=True), fixed, CPU, bf16=False)
    true, wrong = np.array(labels[:30]) == 0, np.array(labels[:30]) == 1
    assert true.sum() == wrong.sum() == 15 and labels[30:] == [1] * 30
    shares = {"true": right[:30][true], "other": right[:30][wrong], "same_document": right[30:45], "": right[:30]}
    assert len({rows.mean() for rows in shares.values()}) == 4, "they differ"
    shares["swapped"] = right[45:]
    for name, rows in shares.items():
        assert result["_".join(filter(None, ("nsp_accuracy", name)))] == pytest.approx(rows.mean())
    assert result["order_accuracy"] == pytest.approx((shares["true"].mean() + shares["swapped"].mean()) / 2)


def test_swapped_pairs_are_true_pairs_with_the_second_text_first(
    shards: list[Shard], held: list[np.ndarray], fixed: HeldOut
) -> None:
    known = [" ".join(map(str, ids)) for ids in documents_of(shards, held)]
    count = 0
    for batch in fixed.swapped:
        for row in batch.original.tolist():
            first = row.index(3)
            a, b = row[1:first], row[first + 1 : row.index(3, first + 1)]
            count += any(f" {' '.join(map(str, b + a))} " in f" {ids} " for ids in known)
    assert count == 15


def test_a_causal_objective_predicts_the_same_tokens_from_the_left(fixed: HeldOut, tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    before = torch.random.get_rng_state()
    result = heldout.evaluate(CausalLanguage(checkpoint), fixed, CPU, bf16=False)
    assert torch.equal(before, torch.random.get_rng_state()) and "nsp_accuracy" not in result
    batch = fixed.short[0]
    first = int(batch.chosen[0])
    row, column = divmod(first, batch.ids.shape[1])
    with torch.no_grad():
        left = checkpoint.encoder(batch.original[row : row + 1, :column], intervention=heldout.CAUSAL).last[0, -1]
        wanted = -checkpoint.masked_lm(left).log_softmax(-1)[batch.targets[0]]
    nats = heldout.predict_tokens(checkpoint.encoder, checkpoint.masked_lm, batch, True).nats
    assert float(nats[0]) == pytest.approx(float(wanted), abs=of_encoder(checkpoint.config, wanted))


def test_the_command_evaluates_a_folder(texts: Path, shards: list[Shard], tiny, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("bertexplorer.training.pretraining.measure.CACHE", tmp_path)
    heldout.write_hashes(heldout.choose_hashes(shards, 40), tmp_path / "list")
    common = ["--text", str(texts), "--heldout", str(tmp_path / "list"), "--count", "10"]
    assert main([str(tiny("bert")), *common]) == 0
    assert '"pairs_accuracy"' in capsys.readouterr().out
    assert main([str(tiny("bert-base")), *common]) == 2
    assert "fill-mask" in capsys.readouterr().err


def test_a_text_without_held_out_documents_is_reported(shards: list[Shard], tokenizer: Tokenizer) -> None:
    with pytest.raises(ExplorerError, match="no document"):
        heldout.draw_held_out(shards, [np.zeros(len(s.hashes), bool) for s in shards], tokenizer, count=10)


def test_pairs_of_the_same_document_need_documents_of_three_sentences(
    texts: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "two.txt").write_text("\n\n".join(f"The cat sat {n}. A dog ran to {n}." for n in range(60)), "utf-8")
    (shard,) = [one for one in tokenize_files([tmp_path / "two.txt"], tokenizer, tmp_path) if isinstance(one, Shard)]
    drawn = heldout.draw_held_out([shard], [np.ones(60, bool)], tokenizer, count=10, longest=16)
    assert drawn.pairs and not drawn.same, "B of the same document would follow A"
    assert max(batch.ids.shape[1] for batch in drawn.pairs + drawn.short) <= 16
