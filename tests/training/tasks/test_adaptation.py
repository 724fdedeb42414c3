"""Masked language modelling on one's own rows: transformers' loss, fixed masks, and a run that improves."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.training import learners
from bertexplorer.training.data.rows import Row, RowProblem
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.learner import evaluation_mode
from bertexplorer.training.learners.adaptation import MaskedLanguageLearner
from bertexplorer.training.tasks import adaptation
from bertexplorer.training.tasks.adaptation import Options
from tests.tolerance import assert_same, of_encoder, of_sum
from tests.training.finetuned import best_folder, built_in, trained

TEXTS = ["The doctor said she works as a nurse.", "a great film", "paris is the capital of france . " * 12]
ROWS = [Row(i + 2, {"text": text}) for i, text in enumerate(TEXTS)]


@pytest.fixture
def checkpoint(tiny) -> Checkpoint:
    return load(tiny("bert"), precision="fp32", device="cpu")


@pytest.fixture
def adapter(checkpoint: Checkpoint) -> MaskedLanguageLearner:
    result, problems = adaptation.examples(ROWS, Options())
    assert not problems
    return learners.create(adaptation.TASK, checkpoint, result, Options(), seed=0)


def test_the_loss_equals_that_of_transformers(adapter: MaskedLanguageLearner, tiny) -> None:
    batch = adapter.collate(adapter.read(adaptation.examples(ROWS, Options())[0]))
    theirs = transformers.BertForPreTraining.from_pretrained(tiny("bert")).eval()
    labels = torch.full((batch.ids.numel(),), -100)
    labels[batch.chosen] = batch.targets
    with evaluation_mode(adapter):
        loss = adapter.losses(batch)["mlm"]
        mask = torch.ones_like(batch.ids) if batch.mask is None else batch.mask.long()
        logits = theirs(batch.ids, token_type_ids=batch.segments, attention_mask=mask).prediction_logits
    wanted = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels, ignore_index=-100)
    assert float(loss.total) / loss.count == pytest.approx(
        float(wanted), abs=of_encoder(adapter.checkpoint.config, wanted)
    )
    assert adapter.counts(batch) == {"mlm": len(batch.chosen)}


def test_the_random_state_of_torch_determines_the_masks(adapter: MaskedLanguageLearner) -> None:
    items = adapter.read(adaptation.examples(ROWS, Options())[0])
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(adapter.collate(items))
    assert torch.equal(drawn[0].ids, drawn[1].ids) and torch.equal(drawn[0].chosen, drawn[1].chosen)
    assert not torch.equal(drawn[0].chosen, drawn[2].chosen)


def test_long_texts_are_split_without_losing_tokens(adapter: MaskedLanguageLearner) -> None:
    adapter.set_max_tokens(16)
    items = adapter.parts([TEXTS[2]])[0]
    whole = adapter.checkpoint.tokenizer.backend.encode(TEXTS[2], add_special_tokens=False).ids
    assert [i for item in items for i in item.ids[1:-1]] == whole and len(whole) > 64
    assert all(len(item.ids) <= 16 and item.ids[0] == 2 and item.ids[-1] == 3 for item in items)


def test_evaluations_use_the_same_masks_for_all_settings(checkpoint: Checkpoint) -> None:
    result, _ = adaptation.examples(ROWS, Options())
    every = [
        learners.create(adaptation.TASK, checkpoint, result, options, seed=0).evaluate(result)
        for options in (Options(), Options(chosen=0.5, whole_words=True))
    ]
    torch.manual_seed(5)
    second = MaskedLanguageLearner(checkpoint, Options(), result).evaluate(result)
    assert every[0] == every[1] == second


def test_the_metrics_are_means_of_the_rows(adapter: MaskedLanguageLearner) -> None:
    result, _ = adaptation.examples(ROWS, Options())
    done = adapter.evaluate(result)
    sizes = [len(row["gold"].split()) for row in done.rows]
    loss = np.average([row["loss"] for row in done.rows], weights=sizes)
    allowed = of_sum(sum(sizes), loss)
    assert done.metrics["loss"] == pytest.approx(loss, abs=allowed)
    assert done.metrics["perplexity"] == pytest.approx(np.exp(loss), rel=allowed)
    right = [g == p for row in done.rows for g, p in zip(row["gold"].split(), row["predicted"].split(), strict=True)]
    assert done.metrics["accuracy"] == pytest.approx(np.mean(right))
    assert done.metrics["unigram_perplexity"] < adapter.checkpoint.config.vocab_size
    assert all(-np.log(1) <= row["loss"] for row in done.rows) and [row["line"] for row in done.rows] == [2, 3, 4]


def test_the_playground_fills_blanks_like_transformers(adapter: MaskedLanguageLearner, tiny) -> None:
    [answer] = adapter.predict([{"text": "The capital of ___ is [MASK] ."}])
    theirs = transformers.BertForPreTraining.from_pretrained(tiny("bert")).eval()
    ids = torch.tensor([adapter.checkpoint.tokenizer.encode("The capital of ___ is [MASK] .").ids])
    with torch.no_grad():
        chances = theirs(ids).prediction_logits[0][ids[0] == adapter.checkpoint.tokenizer.mask_id].softmax(-1)
    assert len(answer["blanks"]) == 2
    allowed = of_encoder(adapter.checkpoint.config)
    for blank, wanted in zip(answer["blanks"], chances, strict=True):
        assert [item["probability"] for item in blank] == pytest.approx(wanted.topk(10).values.tolist(), abs=allowed)
    assert answer["blanks"][0][0]["piece"].lstrip("#") in answer["text"]
    with pytest.raises(ExplorerError, match="no mask"):
        adapter.predict([{"text": "nothing to guess"}])


def test_unusable_input_is_reported(tiny) -> None:
    rows = [Row(2, {"text": " "}), Row(3, {}), Row(4, {"text": "\u200b"}), Row(5, {"text": "fine"})]
    result, problems = adaptation.examples(rows, Options())
    assert problems == [RowProblem(line, "has no text") for line in (2, 3, 4)] and [e.line for e in result] == [5]
    for name in ("electra-discriminator", "bert-classifier"):
        with pytest.raises(ExplorerError, match="no fill-mask head"):
            learners.create(adaptation.TASK, load(tiny(name), precision="fp32"), result, Options(), seed=0)
    with pytest.raises(ExplorerError, match="more than 1"):
        learners.create(
            adaptation.TASK, load(tiny("bert"), precision="fp32"), result, Options(masked=0.9, random=0.2), seed=0
        )


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_run_on_the_built_in_set_improves_and_transformers_loads_it(family: str, tiny, tmp_path: Path) -> None:
    rows = built_in("adaptation.txt", ["text"])
    quick = {"epochs": 3, "rate": 3e-3, "max_tokens": 32, "snapshots": 0, "dropout": 0.0, "precision": "fp32"}
    metrics, learner = trained(adaptation.TASK, tiny(family), tmp_path / "run", (rows[:80], rows[80:110]), **quick)
    assert metrics[-1]["perplexity"] < 0.5 * metrics[0]["perplexity"]
    result, _ = adaptation.examples(rows[80:110], Options())
    second = learner.evaluate(result)
    assert second.metrics["perplexity"] == pytest.approx(
        min(m["perplexity"] for m in metrics), rel=of_encoder(learner.checkpoint.config, 10.0)
    )
    folder = best_folder(tmp_path / "run")
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    ids = torch.tensor([learner.checkpoint.tokenizer.encode("the doctor [MASK] .").ids])
    with torch.no_grad(), evaluation_mode(learner):
        ours = learner.modules["masked_lm"](learner.checkpoint.encoder(ids).last)
        assert_same(learner.checkpoint.config, ours, theirs(ids).logits)


@pytest.mark.slow
def test_a_resumed_run_continues_with_the_same_masks(tiny, tmp_path: Path) -> None:
    rows, weights = built_in("adaptation.txt", ["text"]), []
    for name, stops in (("straight", []), ("stopped", [3, 8])):
        spec = specs.make_spec("adaptation", "tiny", str(tiny("bert")), {"epochs": 2, "rate": 3e-3, "snapshots": 0})
        specs.write_run_folder(tmp_path / name, spec, rows[:96], rows[96:110])
        for most in [*stops, 99]:
            asked = iter(range(1, 100))
            *_, last = finetune(tmp_path / name, lambda asked=asked, most=most: next(asked) >= most)
        assert last["event"] == "finished" and last["step"] > 12
        weights.append((best_folder(tmp_path / name) / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]
