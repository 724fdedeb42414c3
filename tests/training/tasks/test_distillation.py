"""The student is the teacher with fewer layers, the losses are DistilBERT's, and a run saves a classifier."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.training import learners
from bertexplorer.training.data.rows import Row
from bertexplorer.training.learner import evaluation_mode
from bertexplorer.training.learners.classification import Classifier
from bertexplorer.training.learners.distillation import Distiller
from bertexplorer.training.student import create_student, teacher_layers
from bertexplorer.training.tasks import classification, distillation
from bertexplorer.training.tasks.classification import Example
from bertexplorer.training.tasks.distillation import Options
from tests.tolerance import assert_same, of_encoder
from tests.training.finetuned import best_folder, built_in, trained

TEXTS = [("a great film", "good"), ("the movie was terrible", "bad"), ("it is a film, as the man said", "so-so")]
EXAMPLES = [Example(i + 2, (text,), (label,)) for i, (text, label) in enumerate(TEXTS)]
FAMILIES = ["bert", "roberta", "electra", "distilbert", "modernbert"]
LAYERS = {  # where transformers keeps them
    "bert": lambda m: m.bert.encoder,
    "roberta": lambda m: m.roberta.encoder,
    "electra": lambda m: m.electra.encoder,
    "distilbert": lambda m: m.distilbert.transformer,
    "modernbert": lambda m: m.model,
}


@pytest.fixture
def distiller(tiny) -> Callable[..., Distiller]:
    def make(family: str = "bert", **options: object) -> Distiller:
        teacher = load(tiny(f"{family}-SequenceClassification"), precision="fp32", device="cpu")
        return learners.create(distillation.TASK, teacher, EXAMPLES, Options(**options), seed=0)

    return make


def test_layers_are_chosen_as_in_distilbert() -> None:
    assert teacher_layers(12, 0, "spread") == [0, 2, 4, 7, 9, 11]
    assert (
        teacher_layers(6, 3, "spread") == [0, 2, 5]
        and teacher_layers(6, 3, "first") == [0, 1, 2]
        and teacher_layers(4, 1, "spread") == [0]
    )
    for layers, wanted in ((3, 3), (3, 7), (1, 0), (1, 1)):
        with pytest.raises(ExplorerError, match="teacher has"):
            teacher_layers(layers, wanted, "spread")


@pytest.mark.parametrize("family", FAMILIES)
def test_the_student_is_the_teacher_without_some_layers(family: str, tiny, tmp_path: Path) -> None:
    folder = tiny(f"{family}-SequenceClassification")
    teacher = load(folder, precision="fp32", device="cpu")
    chosen = [0, 2] if family != "modernbert" else [0, 2, 3]
    student = create_student(teacher, chosen, list(teacher.heads))
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    holder = LAYERS[family](theirs)
    name = "layers" if hasattr(holder, "layers") else "layer"
    setattr(holder, name, nn.ModuleList(getattr(holder, name)[i] for i in chosen))
    ids = torch.randint(5, 100, (2, 20), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        ours = student.sequence_classifier(student.encoder(ids).last)
        assert_same(student.config, ours, theirs(ids).logits)
        save(student, tmp_path)
        restored = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
        assert_same(student.config, restored(ids).logits, ours)
        ours_again = load(tmp_path, precision="fp32")
        assert_same(student.config, ours_again.sequence_classifier(ours_again.encoder(ids).last), ours)
    assert ours_again.config.num_layers == len(chosen) and student.revision != teacher.revision
    owned = {id(p) for p in teacher.encoder.parameters()}
    assert not owned & {id(p) for p in student.encoder.parameters()}


def test_a_student_of_albert_repeats_the_layer_less_often(tiny) -> None:
    folder = tiny("albert-SequenceClassification")
    teacher = load(folder, precision="fp32", device="cpu")
    student = create_student(teacher, [0, 2], list(teacher.heads))
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_hidden_layers=2).eval()
    ids = torch.randint(5, 60, (2, 20), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert_same(student.config, student.sequence_classifier(student.encoder(ids).last), theirs(ids).logits)
    assert student.num_parameters == teacher.num_parameters


def test_the_losses_equal_those_of_distilbert(distiller) -> None:
    learner = distiller(temperature=3.0, soft=5.0, task=2.0, cosine=1.0)
    items = learner.read(EXAMPLES)
    batch = learner.collate(items)
    assert batch.mask is not None
    with evaluation_mode(learner):
        result = learner.losses(batch)
        ours, theirs = (
            item.encoder(batch.ids, batch.segments, batch.mask).last
            for item in (learner.checkpoint, learner.teacher.checkpoint)
        )
        a, b = learner.checkpoint.sequence_classifier(ours), learner.teacher.checkpoint.sequence_classifier(theirs)
        soft = nn.KLDivLoss(reduction="batchmean")((a / 3).log_softmax(-1), (b / 3).softmax(-1)) * 9
        targets = torch.ones(int(batch.mask.sum()))
        cosine = nn.CosineEmbeddingLoss()(ours[batch.mask], theirs[batch.mask], targets)
        label = nn.CrossEntropyLoss()(a, batch.targets)
    means = {name: float(loss.total) / loss.count for name, loss in result.items()}
    allowed = 9 * of_encoder(learner.teacher.checkpoint.config, b)  # "soft" is multiplied by 9
    assert means == pytest.approx({"soft": float(soft), "label": float(label), "cosine": float(cosine)}, abs=allowed)
    assert {name: loss.count for name, loss in result.items()} == learner.counts(batch)
    assert learner.weights == {"soft": 5.0, "label": 2.0, "cosine": 1.0}
    assert int(result["soft"].right) == int((a.argmax(-1) == b.argmax(-1)).sum())
    assert distiller(cosine=0.0).losses(batch).keys() == {"soft", "label"}


def test_the_teacher_is_not_trained_and_has_no_dropout(distiller) -> None:
    learner = distiller()
    learner.modules.requires_grad_(True)
    learner.modules.train()
    batch = learner.collate(learner.read(EXAMPLES))
    sum(loss.total for loss in learner.losses(batch).values()).backward()
    assert all(p.grad is None for p in learner.teacher.modules.parameters())
    assert not any(module.training for module in learner.teacher.modules.children())
    assert all(p.grad is not None for p in learner.modules["encoder"].layers.parameters())


def test_the_student_is_compared_with_the_teacher(distiller) -> None:
    learner = distiller()
    done = learner.evaluate(EXAMPLES)
    predictions = [row["labels"][0]["label"] for row in learner.teacher.predict([{"text": text} for text, _ in TEXTS])]
    own = [row["labels"][0]["label"] for row in learner.predict([{"text": text} for text, _ in TEXTS])]
    assert [row["teacher"] for row in done.rows] == predictions and [row["predicted"] for row in done.rows] == own
    metrics, gold = done.metrics, [label for _, label in TEXTS]
    assert metrics["teacher_accuracy"] == pytest.approx(sum(map(str.__eq__, predictions, gold)) / 3)
    assert metrics["agreement"] == pytest.approx(sum(map(str.__eq__, predictions, own)) / 3)
    assert metrics["accuracy"] == pytest.approx(sum(map(str.__eq__, own, gold)) / 3)
    if metrics["teacher_accuracy"]:
        assert metrics["kept"] == pytest.approx(metrics["accuracy"] / metrics["teacher_accuracy"])
    assert 0 < metrics["size"] < 1 and metrics["speed"] > 0
    assert metrics.keys() <= distillation.TASK.metrics.keys()


def test_unsuitable_teachers_are_rejected(tiny) -> None:
    for name, examples in (
        ("bert", EXAMPLES),
        ("bert-SequenceClassification", [*EXAMPLES, Example(9, ("x",), ("new",))]),
    ):
        with pytest.raises(ExplorerError, match="A teacher with the labels"):
            learners.create(distillation.TASK, load(tiny(name), precision="fp32"), examples, Options(), seed=0)
    teacher = load(tiny("bert-SequenceClassification"), precision="fp32")
    with pytest.raises(ExplorerError, match="weights are 0"):
        learners.create(distillation.TASK, teacher, EXAMPLES, Options(soft=0, task=0, cosine=0), seed=0)


def test_pairs_are_read_and_bad_rows_reported() -> None:
    rows = [Row(2, {"text": "a", "text_b": "b", "label": "x"}), Row(3, {"text": "a", "text_b": "", "label": "x"})]
    result, problems = distillation.examples(rows, Options())
    assert result == [Example(2, ("a", "b"), ("x",))] and [(p.line, p.what) for p in problems] == [(3, "has no text b")]
    result, problems = distillation.examples([Row(2, {"text": "a", "label": "x"}), Row(3, {"text": "a"})], Options())
    assert result == [Example(2, ("a",), ("x",))] and [(p.line, p.what) for p in problems] == [(3, "has no label")]


@pytest.mark.slow
def test_a_teacher_is_trained_and_then_distilled(tiny, tmp_path: Path) -> None:
    rows = built_in("classification.csv", ["text", "label"])
    both, quick = (rows[:160], rows[160:220]), {"rate": 3e-3, "snapshots": 0, "dropout": 0.0, "precision": "fp32"}
    trained(classification.TASK, tiny("bert"), tmp_path / "teacher", both, epochs=8, **quick)
    start = best_folder(tmp_path / "teacher")
    options = {"student_layers": 1, "epochs": 6}
    metrics, learner = trained(distillation.TASK, start, tmp_path / "run", both, **options, **quick)
    assert max(m["agreement"] for m in metrics[1:]) > metrics[0]["agreement"]
    assert max(m["accuracy"] for m in metrics[1:]) > metrics[0]["accuracy"]
    assert type(learner) is Classifier and learner.checkpoint.config.num_layers == 1
    best = best_folder(tmp_path / "run")
    assert json.loads((best / "config.json").read_text())["num_hidden_layers"] == 1
    texts = [row.cells["text"] for row in both[1][:5]]
    lines = {row["text"]: row for row in map(json.loads, (best / "predictions.jsonl").read_text().splitlines())}
    predictions = [answer["labels"][0]["label"] for answer in learner.predict([{"text": text} for text in texts])]
    assert predictions == [lines[text.strip()]["predicted"] for text in texts]
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(best).eval()
    result = learner.checkpoint.tokenizer.backend.encode(texts[0])
    with torch.no_grad():
        shares = theirs(torch.tensor([result.ids])).logits.softmax(-1)[0]
    ours = learner.predict([{"text": texts[0]}])[0]["labels"][0]
    assert shares[theirs.config.label2id[ours["label"]]].item() == pytest.approx(
        ours["probability"], abs=of_encoder(learner.checkpoint.config)
    )
