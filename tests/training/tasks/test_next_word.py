"""The next word: transformers' loss as a decoder, continuations, and a run that improves."""

from math import exp
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.training import learners
from bertexplorer.training.data.rows import Row
from bertexplorer.training.learner import evaluation_mode
from bertexplorer.training.learners.next_word import CausalLanguageLearner
from bertexplorer.training.tasks import next_word
from bertexplorer.training.tasks.adaptation import Example
from bertexplorer.training.tasks.next_word import Options
from tests.tolerance import of_encoder
from tests.training.finetuned import best_folder, built_in, trained

TEXTS = ["The doctor said she works as a nurse.", "a great film", "paris is the capital of france . " * 12]
ROWS = [Row(i + 2, {"text": text}) for i, text in enumerate(TEXTS)]


@pytest.fixture
def checkpoint(tiny) -> Checkpoint:
    return load(tiny("bert-mlm"), precision="fp32", device="cpu")


@pytest.fixture
def continuer(checkpoint: Checkpoint) -> CausalLanguageLearner:
    result, problems = next_word.examples(ROWS, Options())
    assert not problems
    return learners.create(next_word.TASK, checkpoint, result, Options(), seed=0)


def decoder(folder: Path) -> transformers.PreTrainedModel:
    return transformers.BertLMHeadModel.from_pretrained(folder, is_decoder=True, attn_implementation="eager").eval()


def test_the_loss_equals_that_of_a_transformers_decoder(continuer: CausalLanguageLearner, tiny) -> None:
    theirs = decoder(tiny("bert-mlm"))
    items = continuer.read(next_word.examples(ROWS, Options())[0])
    batch = continuer.collate(items)
    assert batch.mask is not None
    with evaluation_mode(continuer):
        loss = continuer.losses(batch)["next"]
        labels = batch.ids.where(batch.mask, -100)
        wanted = theirs(batch.ids, attention_mask=batch.mask.long(), labels=labels).loss
    assert loss.count == continuer.counts(batch)["next"] == sum(len(item.ids) - 1 for item in items)
    assert float(loss.total) / loss.count == pytest.approx(
        float(wanted), abs=of_encoder(continuer.checkpoint.config, wanted)
    )


def test_evaluation_equals_that_of_transformers_row_by_row(continuer: CausalLanguageLearner, tiny) -> None:
    theirs, results = decoder(tiny("bert-mlm")), next_word.examples(ROWS[:2], Options())[0]
    done = continuer.evaluate(results)
    nats, sizes = [], []
    for row, text in zip(done.rows, TEXTS, strict=False):
        ids = torch.tensor([continuer.checkpoint.tokenizer.encode(text).ids])
        with torch.no_grad():
            result = theirs(ids, labels=ids)
        assert row["loss"] == pytest.approx(
            float(result.loss), abs=of_encoder(continuer.checkpoint.config, result.loss)
        )
        best = result.logits[0, :-1].argmax(-1)
        assert row["score"] == pytest.approx(float((best == ids[0, 1:]).float().mean()))
        assert row["predicted"] == continuer.checkpoint.tokenizer.join(best.tolist())
        nats.append(float(result.loss)), sizes.append(ids.shape[1] - 1)
    rel = of_encoder(continuer.checkpoint.config, nats)
    assert done.metrics["perplexity"] == pytest.approx(exp(np.average(nats, weights=sizes)), rel=rel)


def test_only_the_end_of_a_text_has_a_separator(continuer: CausalLanguageLearner) -> None:
    continuer.set_max_tokens(16)
    items = continuer.parts([next_word.examples(ROWS[2:], Options())[0][0]])[0]
    whole = continuer.checkpoint.tokenizer.backend.encode(TEXTS[2]).ids
    assert [i for item in items for i in item.ids[1:]] == whole[1:]
    assert [item.ids[-1] == 3 for item in items] == [False] * (len(items) - 1) + [True]
    assert all(len(item.ids) == len(item.segments) for item in items)


def test_a_continuation_is_greedy_unless_sampled(checkpoint: Checkpoint, tiny) -> None:
    theirs, tokenizer = decoder(tiny("bert-mlm")), checkpoint.tokenizer
    [answer] = learners.create(next_word.TASK, checkpoint, (), Options(length=6), seed=0).predict(
        [{"text": "the doctor said"}]
    )
    ids = tokenizer.encode("the doctor said").ids[:-1]
    banned = sorted(tokenizer.special_ids - {3})
    for step in answer["tokens"]:
        with torch.no_grad():
            logits = theirs(torch.tensor([list(ids)])).logits[0, -1]
        logits[banned] = -torch.inf
        ids = [*ids, int(logits.argmax())]
        assert step["piece"] == tokenizer.show(ids[-1])
        allowed = of_encoder(checkpoint.config, logits)
        assert step["probability"] == pytest.approx(float(logits.softmax(-1).max()), abs=allowed)
    assert answer["text"] == tokenizer.join(ids[1:]) == "the doctor said" + answer["continuation"]
    assert answer["first"][0]["piece"] == answer["tokens"][0]["piece"]
    assert answer["first"][0]["probability"] == pytest.approx(answer["tokens"][0]["probability"], abs=allowed)
    drawn = [
        CausalLanguageLearner(checkpoint, Options(temperature=1.0, draw=draw)).predict([{"text": "the"}])[0]["text"]
        for draw in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_long_prompt_keeps_its_end_and_reports_the_cut(checkpoint: Checkpoint) -> None:
    learner = CausalLanguageLearner(checkpoint, Options(length=400))
    prompt = "the man and " * 40 + "the nurse"
    [answer] = learner.predict([{"text": prompt}])
    most = checkpoint.config.max_positions
    assert answer["cut"] == 122 - (most - 1 - (most - 1) // 2) and len(answer["tokens"]) <= (most - 1) // 2
    with pytest.raises(ExplorerError, match="empty"):
        learner.predict([{"text": " "}])


def test_bad_rows_and_checkpoints_without_the_head_are_rejected(tiny) -> None:
    _, problems = next_word.examples([Row(7, {"text": ""})], Options())
    assert [(p.line, p.what) for p in problems] == [(7, "has no text")]
    with pytest.raises(ExplorerError, match="no fill-mask head"):
        learners.create(next_word.TASK, load(tiny("bert-base"), precision="fp32"), [], Options(), seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert-mlm", "distilbert"])
def test_a_run_on_the_built_in_set_improves(family: str, tiny, tmp_path: Path) -> None:
    rows = built_in("next-word.txt", ["text"])
    quick = {"epochs": 8, "rate": 1e-2, "max_tokens": 48, "snapshots": 0, "dropout": 0.0, "precision": "fp32"}
    metrics, learner = trained(next_word.TASK, tiny(family), tmp_path / "run", (rows[:80], rows[80:110]), **quick)
    assert metrics[-1]["perplexity"] < 0.5 * metrics[0]["perplexity"]
    assert metrics[-1]["perplexity"] < metrics[-1]["unigram_perplexity"]
    result, _ = next_word.examples(rows[80:110], Options())
    perplexity = learner.evaluate(result).metrics["perplexity"]
    assert perplexity == pytest.approx(
        min(m["perplexity"] for m in metrics), rel=of_encoder(learner.checkpoint.config, 10.0)
    )
    if family == "bert-mlm":
        theirs = decoder(best_folder(tmp_path / "run"))
        ids = torch.tensor([learner.checkpoint.tokenizer.encode("the baker").ids])
        with torch.no_grad():
            loss = float(theirs(ids, labels=ids).loss)
        result = learner.evaluate([Example(1, "the baker")]).metrics["loss"]
        assert result == pytest.approx(loss, abs=of_encoder(learner.checkpoint.config, loss))
