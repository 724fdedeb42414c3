"""Retrieval: the loss by its formula, metrics against ir_measures, saving and searching, a run on the built-in set."""

import json
from pathlib import Path

import ir_measures
import numpy as np
import pytest
import torch
from ir_measures import RR, R, nDCG

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.training import learners
from bertexplorer.training.data.checks import split_rows
from bertexplorer.training.data.rows import Row
from bertexplorer.training.learners.retrieval import Retriever
from bertexplorer.training.ranking import BM25
from bertexplorer.training.tasks import retrieval
from tests.conftest import Tiny
from tests.tolerance import of_encoder
from tests.training.finetuned import built_in, trained
from tests.training.tasks.builtin import write_tiny_bert

ROWS = [
    Row(1, {"query": "who works", "passage": "The doctor works.", "relevance": "2"}),
    Row(2, {"query": "who works", "passage": "The nurse works in Paris.", "relevance": "1"}),
    Row(3, {"query": "which film", "passage": "A great film!", "negatives": "a bank|a river| a bank "}),
    Row(4, {"query": "which city", "passage": "London is the capital of England.", "negatives": ["Berlin"]}),
    Row(5, {"query": "which city", "passage": "a terrible movie", "relevance": "0"}),
    Row(6, {"query": "", "passage": "money", "relevance": "0"}),
    Row(7, {"query": "un film", "passage": "it was a bad film"}),
]


def create_learner(folder: Path, **options: object) -> tuple[Retriever, list[retrieval.Example]]:
    chosen = retrieval.Options(**options)
    result, problems = retrieval.examples(ROWS, chosen)
    assert not problems
    learner = learners.create(retrieval.TASK, load(folder, precision="fp32"), result, chosen, seed=0)
    assert isinstance(learner, Retriever)
    return learner, result


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert", "distilbert"])
def test_the_loss_is_cross_entropy_over_the_batch(family: str, tiny: Tiny) -> None:
    learner, examples = create_learner(tiny(family), scale=7.0)
    learner.modules.eval()
    positives = [entry for entry in examples if entry.relevance]
    items = learner.read(examples)
    assert len(items) == len(positives) == 5
    queries = learner.vectors([entry.query for entry in positives])
    wrong = [text for entry in positives for text in entry.negatives]
    assert wrong == ["a bank", "a river", "Berlin"]
    passages = learner.vectors([entry.passage for entry in positives] + wrong)
    total = 0.0
    for i, query in enumerate(queries):
        logits = [7.0 * float(query @ passage) for passage in passages]
        total += np.log(np.sum(np.exp(logits))) - logits[i]
    batch = learner.collate(items)
    loss = learner.losses(batch)["passage"]
    allowed = 5 * of_encoder(learner.checkpoint.config, 7.0)  # 7 times a cosine, five queries
    assert (
        loss.total.item() == pytest.approx(total, abs=allowed) and loss.count == 5 == learner.counts(batch)["passage"]
    )
    assert int(loss.right) == sum(int((passages @ query).argmax()) == i for i, query in enumerate(queries))


def test_metrics_equal_those_of_ir_measures(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    evaluated = learner.evaluate(examples)
    collection = list(dict.fromkeys(text for example in examples for text in (example.passage, *example.negatives)))
    assert evaluated.tables["Collection"] == [{"queries": 4, "passages": len(collection), "left out": 0}]
    made_of = dict(zip(collection, learner.vectors(collection), strict=True))
    qrels, run = {}, {}
    for query, grades in retrieval.relevance_by_query(examples).items():
        vector = learner.vectors([query])[0]
        qrels[query] = {str(collection.index(p)): int(g) for p, g in grades.items()}
        run[query] = {str(i): float(vector @ made_of[passage]) for i, passage in enumerate(collection)}
    theirs = ir_measures.calc_aggregate([RR @ 10, nDCG @ 10, R @ 10], qrels, run)
    ours = evaluated.metrics
    expected = [theirs[RR @ 10], theirs[nDCG @ 10], theirs[R @ 10]]
    assert [ours["mrr_10"], ours["ndcg_10"], ours["recall_10"]] == pytest.approx(expected)
    for row in evaluated.rows:
        assert row["right"] == (row["rank"] == 1) and row["mrr_10"] == (1 / row["rank"] if row["rank"] <= 10 else 0)
    json.dumps(evaluated.rows, allow_nan=False)
    assert learner.evaluate(examples).metrics == ours, "the loss draws the same passages each time"


def test_the_baseline_is_bm25(tiny: Tiny) -> None:
    result = create_learner(tiny())[1]
    collection = retrieval.all_passages(result)
    index, ranks = BM25(collection), []
    for query, grades in retrieval.relevance_by_query(result).items():
        ranks.append(next((i + 1 for i, place in enumerate(index.order(query)) if collection[place] in grades), 0))
    name, value = retrieval.baselines([], result, retrieval.Options())["mrr_10"]
    assert name == "BM25" and value == pytest.approx(np.mean([1 / rank if rank else 0 for rank in ranks]))
    assert retrieval.baselines(result, [], retrieval.Options()) == {}


def test_the_limit_of_the_collection_never_drops_an_answer(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny(), collection=2)
    size = learner.evaluate(examples).tables["Collection"][0]
    assert size["passages"] == 5 and size["left out"] == len(retrieval.all_passages(examples)) - 5


def test_no_batch_has_two_answers_to_one_query(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    lengths = [len(item.ids) for item in learner.read(examples)]
    for epoch in range(5):
        batches = learner.order(lengths, 5, 0, epoch)
        assert batches == learner.order(lengths, 5, 0, epoch) and len(batches) == 1
        assert len({learner.pairs[row].query for row in batches[0]}) == len(batches[0]) == 4, "one of “who works” waits"
    with pytest.raises(ExplorerError, match="A batch of 1"):
        learner.order(lengths, 1, 0, 0)


def test_a_saved_learner_finds_the_same_passages(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    learner.evaluate(examples)
    described = json.loads(json.dumps(learner.state()))
    tensors = {name: tensor.clone() for name, tensor in learner.extra.state_dict().items()}
    restored = learners.restore(retrieval.TASK, load(tiny(), precision="fp32"), described, tensors)
    queries = [{"query": "who works"}, {"query": "which city", "passage": "Paris is a city\n\n  the bank \n"}]
    prediction = restored.predict(queries)
    assert prediction == learner.predict(queries)
    assert prediction[0]["searched"] == len(retrieval.all_passages(examples)) and prediction[0]["left_out"] == 0
    cosines = [item["cosine"] for item in prediction[0]["ranked"]]
    assert cosines == sorted(cosines, reverse=True)
    assert {item["passage"] for item in prediction[1]["ranked"]} == {"Paris is a city", "the bank"}
    with pytest.raises(ExplorerError, match="The query is empty"):
        restored.predict([{"query": " "}])


def test_too_few_passages_or_queries_are_rejected(tiny: Tiny) -> None:
    checkpoint = load(tiny(), precision="fp32")
    one = [retrieval.Example(1, "q", "p"), retrieval.Example(2, "r", "p")]
    with pytest.raises(ExplorerError, match="have 1 passage that"):
        learners.create(retrieval.TASK, checkpoint, one, retrieval.Options(), seed=0)
    with pytest.raises(ExplorerError, match="have 0 passages that"):
        learners.create(retrieval.TASK, checkpoint, [], retrieval.Options(), seed=0)
    learner = Retriever(checkpoint, retrieval.Options(), [])
    with pytest.raises(ExplorerError, match="no passage to search"):
        learner.predict([{"query": "who"}])
    with pytest.raises(ExplorerError, match="No validation query"):
        learner.evaluate([retrieval.Example(1, "q", "p", 0.0)])


def test_problems_name_their_line() -> None:
    cells = [
        {"query": "", "passage": "p"},
        {"query": "q", "passage": ""},
        {"query": "q", "passage": "p", "relevance": "very"},
        {"query": "q", "passage": "p", "relevance": "true"},
        {"query": "q", "passage": "p", "relevance": "-1"},
        {"query": "\ud800 <b>", "passage": "العربية"},
    ]
    result, problems = retrieval.examples([Row(i, c) for i, c in enumerate(cells, 2)], retrieval.Options())
    messages = [(2, "has no query"), (3, "has no passage"), (4, "has the relevance 'very'; wanted a number")]
    assert [(p.line, p.what) for p in problems] == messages
    assert [item.relevance for item in result] == [1.0, 0.0, 1.0]


@pytest.mark.slow
def test_the_built_in_set_is_learned(tmp_path: Path) -> None:
    rows = built_in("retrieval.jsonl", ("query", "passage"))
    assert 200 <= len(rows) <= 600
    train, _ = split_rows(rows, 0.2, 0, keys=retrieval.TASK.split_by)
    start = write_tiny_bert(tmp_path / "start", [text for row in rows for text in row.cells.values()])
    values = {"rate": 3e-3, "epochs": 20, "batch": 16, "dropout": 0.0, "precision": "fp32", "snapshots": 0}
    dev = train[:50]  # weights that start at random learn these rows and no others
    metrics, best = trained(retrieval.TASK, start, tmp_path / "run", (train, dev), **values)
    assert metrics[-1]["mrr_10"] > metrics[0]["mrr_10"] + 0.3 and metrics[-1]["loss"] < metrics[0]["loss"]
    examples = retrieval.examples(dev, retrieval.Options())[0]
    rows_kept = [json.loads(line) for line in next((tmp_path / "run" / "best").rglob("predictions.jsonl")).open()]
    top = best.predict([{"query": examples[0].query}])[0]["ranked"][0]
    assert top["passage"] == rows_kept[0]["predicted"]
    assert top["cosine"] == pytest.approx(rows_kept[0]["ranked"][0]["cosine"], abs=of_encoder(best.checkpoint.config))
    assert torch.is_tensor(best.extra["collection"].vectors)
