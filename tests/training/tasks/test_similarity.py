"""Similarity: vectors of transformers, the loss by its formula, reference correlations, a run on the built-in set."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.training import learners
from bertexplorer.training.data.checks import split_rows
from bertexplorer.training.data.rows import Row
from bertexplorer.training.learners.similarity import Similarity
from bertexplorer.training.tasks import similarity
from tests.conftest import Tiny
from tests.tiny import FAMILIES
from tests.tolerance import assert_within, of_encoder
from tests.training.finetuned import built_in, trained
from tests.training.tasks.builtin import write_tiny_bert

ROWS = [
    Row(2, {"text_a": "The doctor works.", "text_b": "The nurse works as a doctor.", "score": "3,5"}),
    Row(3, {"text_a": "Paris is a city", "text_b": "a dog", "score": "1"}),
    Row(4, {"text_a": "the cat sat on the mat", "text_b": "the cat sat on the mat", "score": "5"}),
]


def create_learner(folder: Path, pooling: str = "mean") -> tuple[Similarity, list[similarity.Example]]:
    options = similarity.Options(pooling=pooling)
    result, problems = similarity.examples(ROWS, options)
    assert not problems
    learner = learners.create(similarity.TASK, load(folder, precision="fp32"), result, options, seed=0)
    assert isinstance(learner, Similarity)
    return learner, result


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_and_loss_equal_those_of_transformers(family: str, pooling: str, tiny: Tiny, tmp_path: Path) -> None:
    learner, examples = create_learner(tiny(family), pooling)
    save(learner.checkpoint, tmp_path / "saved")
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "saved").eval()

    def vector(text: str) -> torch.Tensor:
        ids = torch.tensor([learner.checkpoint.tokenizer.backend.encode(text).ids])
        last = theirs(ids).last_hidden_state[0]
        return last.mean(0) if pooling == "mean" else last[0]

    with torch.no_grad():
        pairs = [tuple(vector(text) for text in example.texts) for example in examples]
        cosines = [torch.cosine_similarity(*pair, dim=0).item() for pair in pairs]
    expected = np.stack([torch.nn.functional.normalize(pair[0], dim=0).numpy() for pair in pairs])
    allowed = of_encoder(learner.checkpoint.config)
    assert_within(learner.vectors([example.texts[0] for example in examples]), expected, allowed)
    squares = [(cosine - scaled) ** 2 for cosine, scaled in zip(cosines, (2.5 / 4, 0.0, 1.0), strict=True)]
    learner.modules.eval()
    batch = learner.collate(learner.read(examples))
    loss = learner.losses(batch)["score"]
    assert loss.total.item() == pytest.approx(sum(squares), abs=3 * 2 * allowed) and loss.count == 3
    assert int(loss.right) == sum(square < 0.01 for square in squares)
    assert batch.ids.numel() >= batch.tokens == sum(len(item.ids) for item in learner.read(examples))
    evaluated = learner.evaluate(examples)
    assert evaluated.metrics["loss"] == pytest.approx(np.mean(squares), abs=2 * allowed)
    gaps = [row["gap"] for row in evaluated.rows]
    assert gaps == sorted(gaps, reverse=True)
    json.dumps(evaluated.rows, allow_nan=False)


def test_scores_are_in_the_range_of_the_rows(tiny: Tiny) -> None:
    learner, _ = create_learner(tiny())
    assert (learner.low, learner.high) == (1.0, 5.0)
    assert [learner.score(cosine) for cosine in (-0.4, 0.0, 0.5, 1.0)] == [1.0, 1.0, 3.0, 5.0]
    allowed = of_encoder(learner.checkpoint.config, 5.0)
    prediction = learner.predict([{"text_a": "the cat", "text_b": "The cat"}])[0]
    assert prediction == pytest.approx({"cosine": 1.0, "score": 5.0, "low": 1.0, "high": 5.0}, abs=allowed)
    with pytest.raises(ExplorerError, match="One of the two texts is empty"):
        learner.predict([{"text_a": "the cat", "text_b": "  "}])


def test_correlations_equal_their_formulas() -> None:
    """Spearman's by the sum of squared differences of ranks, Pearson's by numpy."""
    draw = np.random.default_rng(0)
    result, gold = draw.normal(size=20), draw.normal(size=20)
    gaps = result.argsort().argsort() - gold.argsort().argsort()
    metrics = similarity.correlations(result, gold)
    assert metrics["spearman"] == pytest.approx(1 - 6 * (gaps**2).sum() / (20 * (20**2 - 1)))
    assert metrics["pearson"] == pytest.approx(np.corrcoef(result, gold)[0, 1])
    assert similarity.correlations(np.ones(3), np.arange(3.0)) == {"spearman": 0.0, "pearson": 0.0}
    assert similarity.correlations(np.zeros(1), np.zeros(1)) == {"spearman": 0.0, "pearson": 0.0}


def test_problems_name_their_line() -> None:
    cells = [
        {"text_a": "", "text_b": "b", "score": "1"},
        {"text_a": "a", "text_b": " ", "score": "1"},
        {"text_a": "a", "text_b": "b", "score": "high"},
        {"text_a": "a", "text_b": "b", "score": "nan"},
        {"text_a": "a", "text_b": "b"},
        {"text_a": "a\ud800</script>", "text_b": "שלום", "score": "2.5"},
    ]
    result, problems = similarity.examples([Row(i, c) for i, c in enumerate(cells, 2)], similarity.Options())
    assert [(p.line, p.what) for p in problems] == [
        (2, "has no first text"),
        (3, "has no second text"),
        (4, "has the score 'high'; wanted a number"),
        (5, "has the score 'nan'; wanted a number"),
        (6, "has no score"),
    ]
    assert [item.score for item in result] == [2.5]


def test_a_constant_score_is_rejected(tiny: Tiny) -> None:
    same = [similarity.Example(1, ("a", "b"), 4.0)] * 3
    with pytest.raises(ExplorerError, match="has the score 4; wanted different ones"):
        learners.create(similarity.TASK, load(tiny(), precision="fp32"), same, similarity.Options(), seed=0)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_files_for_sentence_transformers_are_written(pooling: str, tiny: Tiny) -> None:
    files = create_learner(tiny(), pooling)[0].files()
    assert [(part["idx"], part["path"], part["type"].rpartition(".")[2]) for part in files["modules.json"]] == [
        (0, "", "Transformer"),
        (1, "1_Pooling", "Pooling"),
    ]
    assert files["1_Pooling/config.json"] == {
        "word_embedding_dimension": 32,
        "pooling_mode_cls_token": pooling == "cls",
        "pooling_mode_mean_tokens": pooling == "mean",
    }
    assert files["sentence_bert_config.json"]["max_seq_length"] == 64


@pytest.mark.slow
def test_the_built_in_set_is_learned(tmp_path: Path) -> None:
    rows = built_in("similarity.csv", ("text_a", "text_b", "score"))
    assert 200 <= len(rows) <= 600
    train, dev = split_rows(rows, 0.2, 0)
    start = write_tiny_bert(tmp_path / "start", [row.cells[key] for row in rows for key in ("text_a", "text_b")])
    folder = tmp_path / "run"
    values = {"rate": 1e-3, "epochs": 4, "batch": 16, "dropout": 0.0, "precision": "fp32", "snapshots": 0}
    before, *_, after = (result := trained(similarity.TASK, start, folder, (train, dev), **values))[0]
    examples = similarity.examples(dev, similarity.Options())[0]
    assert after["spearman"] > before["spearman"] + 0.1 and after["loss"] < before["loss"]
    best = max(result[0], key=lambda m: m["spearman"])
    assert result[1].evaluate(examples).metrics == pytest.approx(best, abs=2 * of_encoder(result[1].checkpoint.config))
