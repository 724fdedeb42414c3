"""Re-ranking: logits of transformers, the loss by its formula, before and after by hand, a run on the built-in set."""

import json
from math import log2
from pathlib import Path

import ir_measures
import numpy as np
import pytest
import torch
import transformers
from ir_measures import RR, nDCG

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.training import learners
from bertexplorer.training.data.checks import split_rows
from bertexplorer.training.data.rows import Row
from bertexplorer.training.finetuning.artifacts import export_checkpoint
from bertexplorer.training.learners.reranking import Reranker
from bertexplorer.training.tasks import reranking
from tests.conftest import Tiny
from tests.tiny import FAMILIES
from tests.tolerance import assert_within, of_encoder, of_sum
from tests.training.finetuned import built_in, trained
from tests.training.tasks.builtin import write_tiny_bert

GRADED = [
    ("who works", "a river", "0"),
    ("who works", "The doctor works.", "2"),
    ("who works", "who works ? who ?", "0"),
    ("who works", "a nurse", "1"),
    ("which film", "a great film", "yes"),
    ("which film", "the mat", "no"),
    ("which city", "the bank", "0"),
]
ROWS = [Row(i, {"query": q, "passage": p, "relevance": r}) for i, (q, p, r) in enumerate(GRADED, 2)]


def create_learner(folder: Path, **options: object) -> tuple[Reranker, list[reranking.Example]]:
    chosen = reranking.Options(**options)
    result, problems = reranking.examples(ROWS, chosen)
    assert not problems
    learner = learners.create(reranking.TASK, load(folder, precision="fp32"), result, chosen, seed=0)
    assert isinstance(learner, Reranker)
    return learner, result


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_equal_those_of_transformers(family: str, tiny: Tiny, tmp_path: Path) -> None:
    learner, examples = create_learner(tiny(family))
    learner.modules.eval()
    save(export_checkpoint(learner.checkpoint, torch.float32), tmp_path / "saved")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved").eval()
    assert theirs.config.num_labels == 1
    items = learner.read(examples)
    batch = learner.collate(items)
    expected = []
    with torch.no_grad():
        for item in items:
            more = (
                {"token_type_ids": torch.tensor([item.segments])} if learner.checkpoint.config.num_segments > 1 else {}
            )
            expected.append(theirs(torch.tensor([item.ids]), **more).logits.item())
        allowed = of_encoder(learner.checkpoint.config, expected)
        assert_within(learner.logits(batch).numpy(), expected, allowed)
        loss = learner.losses(batch)["relevance"]
    shares, targets = 1 / (1 + np.exp(-np.array(expected))), np.array([0, 1, 0, 0.5, 0.5, 0, 0])
    nats = -(targets * np.log(shares) + (1 - targets) * np.log(1 - shares))
    assert loss.total.item() == pytest.approx(nats.sum(), abs=7 * allowed) and loss.count == 7
    assert learner.evaluate(examples).metrics["loss"] == pytest.approx(nats.mean(), abs=allowed)


def test_balance_increases_the_weight_of_relevant_passages(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny(), balance=True)
    learner.modules.eval()
    assert learner.weight == pytest.approx(4 / 3)
    item = learner.read(examples)[1]
    plain = Reranker(learner.checkpoint, learner.options, learner.highest)
    with torch.no_grad():
        heavy, light = (entry.losses(entry.collate([item]))["relevance"].total for entry in (learner, plain))
    assert heavy.item() == pytest.approx(4 / 3 * light.item(), abs=of_encoder(learner.checkpoint.config, light))


def test_metrics_before_and_after_equal_a_computation_by_hand(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """“who works”: BM25 ranks the repetition first; scores that follow the grades give the best order."""
    learner, examples = create_learner(tiny())
    targets = {0: -1.0, 1: 2.0, 2: -2.0, 3: 1.0, 4: -1.0, 5: 1.0, 6: 0.0}
    monkeypatch.setattr(learner, "scores", lambda items: np.array([targets[i] for i in range(len(items))]))
    evaluated = learner.evaluate(examples)
    works, film = evaluated.rows
    best = 2 + 1 / log2(3)
    assert works["ndcg_10"] == 1.0 and works["predicted"] == "The doctor works." and works["right"]
    assert works["ndcg_10_before"] == pytest.approx((2 / log2(3) + 1 / log2(5)) / best)
    assert [item["before"] for item in works["ranked"]] == [2, 4, 3, 1]
    assert film["mrr_10"] == 0.5 and film["mrr_10_before"] == 1.0 and not film["right"]
    counts = {row["after re-ranking"]: row["queries"] for row in evaluated.tables["Queries"]}
    assert counts == {"better": 1, "the same": 0, "worse": 1, "nothing relevant": 1}
    assert evaluated.metrics["ndcg_10"] == pytest.approx((1 + 1 / log2(3)) / 2)
    floor = reranking.baselines([], examples, reranking.Options())
    assert floor["ndcg_10"] == ("BM25", pytest.approx(evaluated.metrics["ndcg_10_before"]))
    assert floor["mrr_10"][1] == pytest.approx(evaluated.metrics["mrr_10_before"])


def test_metrics_equal_those_of_ir_measures(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    evaluated = learner.evaluate(examples)
    scores = learner.scores(learner.read(examples))
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for i, (example, score) in enumerate(zip(examples, scores, strict=True)):
        if example.texts[0] != "which city":
            qrels.setdefault(example.texts[0], {})[str(i)] = int(example.relevance)
            run.setdefault(example.texts[0], {})[str(i)] = float(score)
    theirs = ir_measures.calc_aggregate([nDCG @ 10, RR @ 10], qrels, run)
    assert [evaluated.metrics["ndcg_10"], evaluated.metrics["mrr_10"]] == pytest.approx(
        [theirs[nDCG @ 10], theirs[RR @ 10]]
    )
    json.dumps(evaluated.rows, allow_nan=False)


def test_the_playground_ranks_passages(tiny: Tiny) -> None:
    learner, _ = create_learner(tiny())
    prediction = learner.predict([{"query": "which film", "passage": "the mat\n\n a great film \n"}])[0]["ranked"]
    scores = [item["score"] for item in prediction]
    assert scores == sorted(scores, reverse=True) and {item["passage"]: item["before"] for item in prediction} == {
        "a great film": 1,
        "the mat": 2,
    }
    assert prediction[0]["probability"] == pytest.approx(1 / (1 + np.exp(-prediction[0]["score"])), abs=of_sum(2))
    for given in ({"query": "", "passage": "a"}, {"query": "a", "passage": "\n"}, {}):
        with pytest.raises(ExplorerError, match="Type a query"):
            learner.predict([given])


@pytest.mark.parametrize(("grade", "message"), [(0.0, "none answers"), (1.0, "all answer")])
def test_one_kind_of_relevance_is_rejected(grade: float, message: str, tiny: Tiny) -> None:
    same = [reranking.Example(i, ("q", f"p{i}"), grade) for i in range(3)]
    with pytest.raises(ExplorerError, match=message):
        learners.create(reranking.TASK, load(tiny(), precision="fp32"), same, reranking.Options(), seed=0)


def test_validation_rows_without_a_relevant_passage_are_rejected(tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match="No validation query"):
        create_learner(tiny())[0].evaluate([reranking.Example(1, ("q", "p"), 0.0)])


def test_problems_name_their_line() -> None:
    cells = [
        {"query": "", "passage": "p", "relevance": "1"},
        {"query": "q", "passage": "", "relevance": "1"},
        {"query": "q", "passage": "p"},
        {"query": "q", "passage": "p", "relevance": "inf"},
        {"query": "q", "passage": "<img onerror=x> \ud800", "relevance": "0.5"},
    ]
    result, problems = reranking.examples([Row(i, c) for i, c in enumerate(cells, 2)], reranking.Options())
    messages = ["has no query", "has no passage", "has no relevance", "has the relevance 'inf'; wanted a number"]
    assert [(p.line, p.what) for p in problems] == list(enumerate(messages, 2))
    assert [item.relevance for item in result] == [0.5]


@pytest.mark.slow
def test_the_built_in_set_is_learned(tmp_path: Path) -> None:
    rows = built_in("reranking.jsonl", ("query", "passage", "relevance"))
    assert 200 <= len(rows) <= 600
    train, dev = split_rows(rows, 0.2, 0, keys=reranking.TASK.split_by)
    assert not {row.cells["query"] for row in train} & {row.cells["query"] for row in dev}
    start = write_tiny_bert(tmp_path / "start", [text for row in rows for text in row.cells.values()])
    values = {"rate": 3e-3, "epochs": 6, "batch": 16, "dropout": 0.0, "precision": "fp32", "snapshots": 0}
    metrics, kept = trained(reranking.TASK, start, tmp_path / "run", (train, train[:112]), **values)
    assert metrics[-1]["ndcg_10"] > max(metrics[0]["ndcg_10"], metrics[0]["ndcg_10_before"]) + 0.1
    examples = reranking.examples(train[:112], reranking.Options())[0]
    best = max(metrics[1:], key=lambda found: found["ndcg_10"])
    assert kept.evaluate(examples).metrics == pytest.approx(best, abs=of_encoder(kept.checkpoint.config, best["loss"]))
    assert kept.state()["highest"] == 1.0
