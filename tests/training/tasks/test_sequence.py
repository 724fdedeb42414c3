"""Source → target: the loss token by token, metrics by hand, beams, and a run that improves."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.model.load import load
from bertexplorer.training import learners
from bertexplorer.training.data.rows import Row, RowProblem
from bertexplorer.training.generate import Beam
from bertexplorer.training.learner import evaluation_mode
from bertexplorer.training.learners.sequence import SequenceLearner
from bertexplorer.training.tasks import sequence
from bertexplorer.training.tasks.sequence import Example, Options, compare_texts
from tests import tiny as recipes
from tests.tolerance import assert_same, of_encoder
from tests.training.finetuned import best_folder, built_in, trained

PAIRS = [("the cat is in the city", "cats"), ("a doctor", "the doctors and nurses"), ("he said", "they said .")]
EXAMPLES = [Example(i + 2, *pair) for i, pair in enumerate(PAIRS)]


@pytest.fixture(params=["bert", "roberta", "modernbert"])
def checkpoint(request: pytest.FixtureRequest, tiny) -> Checkpoint:
    return load(tiny(request.param), precision="fp32", device="cpu")


def rewriter(checkpoint: Checkpoint, **options: object) -> SequenceLearner:
    return learners.create(sequence.TASK, checkpoint, EXAMPLES, Options(**options), seed=0)


def test_the_loss_of_each_token_depends_on_the_source_and_earlier_tokens(checkpoint: Checkpoint) -> None:
    learner = rewriter(checkpoint)
    items = learner.read(EXAMPLES)
    tokenizer, total, right, count = checkpoint.tokenizer, 0.0, 0, 0
    with evaluation_mode(learner):
        result = learner.losses(learner.collate(items))["target"]
        for item, (source, target) in zip(items, PAIRS, strict=True):
            first = tokenizer.backend.encode(source).ids
            then = tokenizer.backend.encode(target).ids[1:]
            assert list(item.ids) == [*first, *then] and item.target == len(first)
            for at, token in enumerate(then):
                ids = torch.tensor([[*first, *then[:at]]])
                segments = torch.tensor([[0] * len(first) + [1] * at]) if checkpoint.config.num_segments > 1 else None
                last = checkpoint.encoder(
                    ids, segments, intervention=Intervention(prefix=torch.tensor([len(first)]))
                ).last
                logs = checkpoint.masked_lm(last[0, -1]).log_softmax(-1)
                total, right, count = total - float(logs[token]), right + int(logs.argmax() == token), count + 1
    assert result.count == count == learner.counts(learner.collate(items))["target"]
    allowed = of_encoder(checkpoint.config, total / count)  # of each word
    assert float(result.total) == pytest.approx(total, abs=count * allowed) and int(result.right) == right
    metrics = learner.evaluate(EXAMPLES).metrics
    assert metrics["loss"] == pytest.approx(total / count, abs=allowed)
    assert metrics["accuracy"] == pytest.approx(right / count)


def chrf(said: list[str], gold: list[str]) -> float:
    """chrF2 by its definition: F2 of the mean precision and recall over character 1- to 6-grams, without spaces."""
    result = []
    for n in range(1, 7):
        match = ours = theirs = 0
        for a, b in zip(said, gold, strict=True):
            x, y = ("".join(t.split()) for t in (a, b))
            grams = [Counter(t[i : i + n] for i in range(len(t) - n + 1)) for t in (x, y)]
            match += (grams[0] & grams[1]).total()
            ours, theirs = ours + grams[0].total(), theirs + grams[1].total()
        if ours and theirs:
            result.append((match / ours, match / theirs))
    precision, recall = np.mean(result, axis=0)
    return 5 * precision * recall / (4 * precision + recall)


def common(a: list[str], b: list[str]) -> int:
    """The length of the longest common subsequence."""
    if not a or not b:
        return 0
    return 1 + common(a[1:], b[1:]) if a[0] == b[0] else max(common(a[1:], b), common(a, b[1:]))


def test_metrics_equal_a_computation_by_hand() -> None:
    outputs, gold = ["the cats sit on mats", "two dogs"], ["the cats sat on the mat", "two dogs"]
    metrics, scores = compare_texts(outputs, gold)
    assert metrics["chrf"] == pytest.approx(chrf(outputs, gold))
    assert scores == pytest.approx([chrf([a], [b]) for a, b in zip(outputs, gold, strict=True)])
    longest = [common(a.split(), b.split()) for a, b in zip(outputs, gold, strict=True)]
    f1 = [2 * n / (len(a.split()) + len(b.split())) for n, a, b in zip(longest, outputs, gold, strict=True)]
    assert metrics["rouge_l"] == pytest.approx(np.mean(f1)) and longest == [3, 2]
    assert metrics["exact"] == 0.5


def test_metrics_are_of_the_text_of_the_file(tiny) -> None:
    """sacrebleu and rouge_score on the targets as the file has them, which an uncased tokenizer cannot write."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.chrf import CHRF

    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    targets = ["The Doctor said (she) works.", "Café in PARIS, a great film!"]
    rows = [Example(i, "the cat", target) for i, target in enumerate(targets, 2)]
    learner = learners.create(sequence.TASK, checkpoint, rows, Options(beams=1), seed=0)
    done = learner.evaluate(rows)
    written = [row["predicted"] for row in done.rows]
    assert [row["gold"] for row in done.rows] == targets
    assert done.metrics["chrf"] == pytest.approx(CHRF().corpus_score(written, [targets]).score / 100)
    for row in done.rows:
        assert row["score"] == pytest.approx(CHRF().sentence_score(row["predicted"], [row["gold"]]).score / 100)
    rouge = RougeScorer(["rougeL"])
    scores = [rouge.score(gold, text)["rougeL"].fmeasure for gold, text in zip(targets, written, strict=True)]
    assert done.metrics["rouge_l"] == pytest.approx(np.mean(scores))


def test_an_exact_match_is_what_the_tokenizer_can_write(tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """The label of the metric says so: an uncased tokenizer would never be right."""
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    rows = [Example(2, "the cat", "The doctor works."), Example(3, "the cat", "A film.")]
    learner = learners.create(sequence.TASK, checkpoint, rows, Options(beams=1), seed=0)
    ids = checkpoint.tokenizer.backend.encode("the doctor works.", add_special_tokens=False).ids
    monkeypatch.setattr(learner, "write", lambda items: [[Beam(tuple(ids), 0.0, 0.0, True)] for _ in items])
    done = learner.evaluate(rows)
    assert [row["right"] for row in done.rows] == [True, False] and done.metrics["exact"] == 0.5
    assert "as the tokenizer writes them" in sequence.TASK.metrics["exact"] and done.metrics["chrf"] < 0.9


def test_long_sources_and_targets_are_cut_and_counted(checkpoint: Checkpoint) -> None:
    learner = rewriter(checkpoint, longest=4)
    learner.set_max_tokens(12)
    long = Example(1, "the man and " * 9, "a cat and a dog and a man")
    [item, short] = learner.read([long, Example(2, "he", "she")])
    tokenizer = checkpoint.tokenizer
    assert item.target == 8 and len(item.ids) == 11 and item.ids[-1] != item.ids[7] == short.ids[-1]
    source, target = (
        len(tokenizer.backend.encode(t, add_special_tokens=False).ids) for t in (long.source, long.target)
    )
    assert item.left_out == source - 6 + target - 3
    assert rewriter(checkpoint).target_limit == max(len(tokenizer.backend.encode(t).ids) - 1 for _, t in PAIRS)


def test_beams_are_ordered_and_equal_those_of_the_saved_learner(checkpoint: Checkpoint) -> None:
    learner = rewriter(checkpoint, beams=3)
    [answer] = learner.predict([{"source": "the cat"}])
    scores = [beam["score"] for beam in answer["beams"]]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    assert all(0 < beam["probability"] < 1 for beam in answer["beams"])
    restored = learners.restore(sequence.TASK, checkpoint, learner.state(), {})
    assert restored.predict([{"source": "the cat"}]) == [answer]
    with pytest.raises(ExplorerError, match="empty"):
        learner.predict([{"source": ""}])


def test_only_some_rows_are_generated(checkpoint: Checkpoint) -> None:
    done = rewriter(checkpoint, shown=2).evaluate(EXAMPLES)
    assert done.metrics["written"] == len(done.rows) == 2
    assert done.metrics["loss"] == rewriter(checkpoint).evaluate(EXAMPLES).metrics["loss"]


def test_bad_rows_and_checkpoints_without_the_head_are_rejected(tiny) -> None:
    rows = [Row(2, {"source": "a", "target": ""}), Row(3, {"target": "b"}), Row(4, {"source": "\u200b", "target": "b"})]
    result, problems = sequence.examples(rows, Options())
    assert not result and problems == [
        RowProblem(2, "has no target"),
        RowProblem(3, "has no source"),
        RowProblem(4, "has no source"),
    ]
    with pytest.raises(ExplorerError, match="no fill-mask head"):
        learners.create(sequence.TASK, load(tiny("bert-base"), precision="fp32"), EXAMPLES, Options(), seed=0)


def test_the_baseline_copies_the_source() -> None:
    floors = sequence.baselines([], [Example(1, "the cat sits", "the cats sit"), Example(2, "a b", "a b")], Options())
    assert floors["exact"] == ("the source, copied", 0.5) and 0.5 < floors["chrf"][1] < 1
    assert sequence.baselines([], [], Options()) == {}


@pytest.mark.slow
def test_a_run_on_the_built_in_set_improves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = built_in("sequence.tsv", ["source", "target"])
    words = sorted({word for row in rows for cell in row.cells.values() for word in cell.lower().strip(".").split()})
    monkeypatch.setattr(recipes, "PIECES", [*recipes.PIECES, *words])  # whole words: short texts
    start = recipes.write(tmp_path / "start", "bert")
    quick = {"epochs": 8, "rate": 5e-3, "batch": 8, "snapshots": 0, "dropout": 0.0, "precision": "fp32", "beams": 1}
    metrics, learner = trained(sequence.TASK, start, tmp_path / "run", (rows[:300], rows[300:330]), **quick)
    assert metrics[-1]["chrf"] > metrics[0]["chrf"] + 0.05 and metrics[-1]["loss"] < 0.7 * metrics[0]["loss"]
    result, _ = sequence.examples(rows[300:330], Options())
    assert learner.evaluate(result).metrics["chrf"] == pytest.approx(max(m["chrf"] for m in metrics))
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(best_folder(tmp_path / "run")).eval()
    ids = torch.tensor([learner.checkpoint.tokenizer.encode("the cat sleeps").ids])
    with torch.no_grad():
        ours = learner.modules["masked_lm"](learner.checkpoint.encoder(ids).last)
        assert_same(learner.checkpoint.config, ours, theirs(ids).logits)
