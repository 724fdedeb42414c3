"""Further columns as features, against scikit-learn; trained, saved and used for predictions."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.training import learners
from bertexplorer.training.data.rows import Row
from bertexplorer.training.features import encode_features, fit_features
from bertexplorer.training.tasks import classification, distillation
from tests.conftest import Tiny
from tests.tolerance import assert_same, of_encoder
from tests.training.finetuned import trained

WHERE = ("fr", "de", "fr", "it")


def test_numbers_and_categories_equal_those_of_scikit_learn() -> None:
    rows = [{"stars": f"{n},5", "where": where} for n, where in enumerate(WHERE)]
    features = fit_features(rows)
    ours = np.array([encode_features(features, row) for row in rows])
    stars = StandardScaler().fit_transform(np.arange(4)[:, None] + 0.5)
    places = OneHotEncoder(categories=[list(features[1].values)]).fit_transform(np.array(WHERE)[:, None]).toarray()
    np.testing.assert_allclose(ours, np.hstack([stars, places]))
    assert encode_features(features, {"stars": "", "where": "uk"}) == [0.0, 0.0, 0.0, 0.0]
    assert encode_features(features, {}) == [0.0] * 4 and fit_features([{"empty": ""}]) == []
    assert fit_features([{"mixed": "1"}, {"mixed": "x"}])[0].values == ("1", "x")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full", "frozen"])
def test_a_decisive_column_is_learned(tiny: Tiny, tmp_path: Path, method: str) -> None:
    """The text says nothing about the label, the column everything."""
    draw = np.random.default_rng(0)
    stars = draw.integers(1, 6, 160)
    rows = [
        Row(i, {"text": f"film number {i % 7}", "label": "good" if n > 3 else "bad", "feature:stars": str(n)})
        for i, n in enumerate(stars)
    ]
    values = {"rate": 1e-2, "epochs": 12, "batch": 16, "method": method, "precision": "fp32", "snapshots": 0}
    metrics, best_learner = trained(
        classification.TASK, tiny("bert"), tmp_path / "run", (rows[:120], rows[120:]), **values
    )
    assert metrics[0]["accuracy"] < 0.75 and metrics[-1]["accuracy"] > 0.95
    (best,) = (tmp_path / "run" / "best").iterdir()
    saved = [json.loads(line) for line in (best / "predictions.jsonl").read_text().splitlines()]
    questions = [{"text": row.cells["text"], "feature:stars": row.cells["feature:stars"]} for row in rows[120:]]
    predicted = [answer["labels"][0] for answer in best_learner.predict(questions)]
    assert [item["label"] for item in predicted] == [row["predicted"] for row in saved]
    allowed = of_encoder(best_learner.checkpoint.config)
    assert [item["probability"] for item in predicted] == pytest.approx(
        [row["probability"] for row in saved], abs=allowed
    )
    assert "task.safetensors" in (best / "README.md").read_text()
    with pytest.raises(ExplorerError, match="other columns"):
        examples, _ = distillation.examples(rows, distillation.Options())
        learners.create(distillation.TASK, load(best, precision="fp32"), examples, distillation.Options(), seed=0)


def test_the_logits_equal_one_linear_layer_over_vector_and_features(tiny: Tiny) -> None:
    rows = [
        Row(i, {"text": "the doctor works", "label": "ab"[i % 2], "feature:n": str(i), "feature:w": WHERE[i]})
        for i in range(4)
    ]
    result, problems = classification.examples(rows, classification.Options())
    learner = learners.create(
        classification.TASK, load(tiny("bert"), precision="fp32"), result, classification.Options(), seed=0
    )
    torch.nn.init.normal_(learner.extra["features"].weight)
    learner.modules.eval()
    batch = learner.collate(learner.read(result))
    head = learner.checkpoint.sequence_classifier
    with torch.no_grad():
        last = learner.checkpoint.encoder(batch.ids, batch.segments, batch.mask).last
        assert not problems
        text = head(last, batch.mask)
        numbers = torch.tensor([encode_features(learner.features, item.features) for item in result])
        expected = text + numbers @ learner.extra["features"].weight.T
        assert_same(learner.checkpoint.config, learner.logits(batch), expected)
