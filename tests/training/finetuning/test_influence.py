"""Influence scores are sums of products of gradients; planted wrong labels are found."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from bertexplorer import TrainingRun
from bertexplorer.errors import ExplorerError
from bertexplorer.runs import trace
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.service import RunDetail
from bertexplorer.training.checkpointing import list_commits
from bertexplorer.training.data.rows import Row
from bertexplorer.training.finetuning import influence, spec
from bertexplorer.training.finetuning.artifacts import open_learner
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.finetuning.trainable import learning_schedule
from bertexplorer.training.labels import plant_wrong_labels
from bertexplorer.training.optimiser import rate
from bertexplorer.training.tasks import classification
from tests.conftest import Tiny
from tests.training.conftest import Begin

Trained = Callable[..., TrainingRun]
TRAINED: dict[str, Path] = {}
ASKED = {"text": "the great film was in paris"}


@pytest.fixture
def trained(begin: Begin) -> Trained:
    """A finished run: trained(planted=0.1, …). Equal ones are trained once, so no test may change their folder."""

    def make(**values: object) -> TrainingRun:
        key = repr(values)
        if key not in TRAINED:
            TRAINED[key] = begin("traced", **values)
            assert list(finetune(TRAINED[key]))[-1]["event"] == "finished"
        return TrainingRun(TRAINED[key])

    return make


def detail_of(run: TrainingRun) -> RunDetail:
    return RunDetail(Run("0" * 32, folder=run.folder, spec=run.spec), [], None, run.best)


def by_hand(run: TrainingRun, answered: Mapping[str, object]) -> dict[int, float]:
    """Line -> TracIn of the row *answered*, a gradient of all parameters for each row."""
    given, rows, _ = spec.read_run(run.folder)
    examples, _ = given.definition.examples(rows, given.task_options)
    (asked,), _ = given.definition.examples([Row(0, dict(answered))], given.task_options)
    folders = sorted(
        {p.name: p for p in [*(run.folder / "snapshots").glob("step-*"), run.best]}.values(), key=lambda p: p.name
    )
    steps = [int(p.name[5:]) for p in folders]
    total = next(event["steps"] for event in run.events if event["event"] == "ready")
    result = dict.fromkeys((item.line for item in examples), 0.0)
    for folder, (last, step) in zip(folders, pairwise([0, *steps]), strict=True):
        learner = open_learner(folder, about=run.best)
        learner.modules.eval().requires_grad_(True)
        learned = learning_schedule(given.tuning, learner.checkpoint.config, total)
        weight = sum(rate(s / total, learned) for s in range(last, step))

        def slope(example: object, learner=learner, cosine: bool = False) -> torch.Tensor:
            learner.modules.zero_grad()
            batch = learner.collate(learner.read([example]))
            if cosine:
                (-torch.cosine_similarity(*(learner.embed(part) for part in batch.parts)).sum()).backward()
            else:
                sum(learner.weights[name] * loss.total for name, loss in learner.losses(batch).items()).backward()
            return torch.cat(
                [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in learner.modules.parameters()]
            )

        own = slope(asked, cosine=given.task == "similarity")
        for item in examples:
            result[item.line] += weight * float(own @ slope(item))
    return result


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("family", "balance"),
    [("bert", True), pytest.param("bert", False, marks=SLOW), pytest.param("albert", False, marks=SLOW)],
)
def test_the_scores_are_products_of_gradients(trained: Trained, family: str, balance: bool) -> None:
    run = trained(snapshots=2, dropout=0.0, family=family, balance=balance)
    result = run.influence(ASKED)
    assert result.label == run.predict(ASKED)[0]["labels"][0]["label"] and len(result.steps) in (2, 3)
    wanted = by_hand(run, {**ASKED, "label": result.label})
    assert len(result.rows) == len(wanted) == 120
    scores = np.array([row.score for row in result.rows])
    assert (np.diff(scores) <= 0).all()
    np.testing.assert_allclose(
        scores, [wanted[row.line] for row in result.rows], rtol=1e-3, atol=1e-5 * np.abs(scores).max()
    )
    assert result.nearest[0].cosine == max(row.cosine for row in result.rows) <= 1 + 1e-6


def cells(task: str, draw: np.random.Generator) -> dict[str, object]:
    """A random row of *task*; a text has 4 to 9 words."""
    words = [str(word) for word in draw.choice(["film", "city", "good", "bad", "paris", "nurse"], draw.integers(4, 10))]
    text, other, grade = " ".join(words), f"{words[0]} in {words[-1]}", float(draw.integers(3))
    tags = [{"paris": "B-LOC", "nurse": "B-PER"}.get(word, "O") for word in words]
    return {
        "tagging": {"tokens": words, "tags": tags},
        "question-answering": {"question": other, "context": text * 5, "answers": words[1]},
        "similarity": {"text_a": text, "text_b": other, "score": grade},
        "reranking": {"query": other, "passage": text, "relevance": grade},
    }[task]


NEW = {
    "tagging": {"tokens": "the nurse was in paris"},
    "question-answering": {"question": "who was good", "context": "the nurse was good. the film was bad"},
    "similarity": {"text_a": "the film was bad", "text_b": "a good nurse"},
    "reranking": {"query": "paris", "passage": "the film was bad\na nurse in paris"},
}


@pytest.mark.parametrize(
    ("task", "values"),
    [
        ("tagging", {}),
        pytest.param("tagging", {"head": "crf"}, marks=SLOW),
        pytest.param("question-answering", {"stride": 8}, marks=SLOW),
        ("similarity", {}),
        pytest.param("similarity", {"pooling": "cls"}, marks=SLOW),
        pytest.param("reranking", {}, marks=SLOW),
    ],
    ids=str,
)
def test_tags_spans_and_scores_are_traced(task: str, values: dict[str, object], tiny: Tiny, tmp_path: Path) -> None:
    draw, quick = np.random.default_rng(0), {"epochs": 2, "batch": 4, "rate": 3e-3, "max_tokens": 24}
    settings = spec.make_spec(task, "tiny", str(tiny("bert")), {**quick, "precision": "fp32", "dropout": 0.0, **values})
    train, dev = ([Row(line, cells(task, draw)) for line in range(2, 2 + count)] for count in (12, 6))
    spec.write_run_folder(tmp_path / "run", settings, train, dev)
    assert list(finetune(tmp_path / "run"))[-1]["event"] == "finished"
    run = TrainingRun(tmp_path / "run")
    result, prediction = run.influence(NEW[task]), run.predict(NEW[task])[0]
    answered: dict[str, object] = {
        "tagging": lambda: {
            "tokens": NEW[task]["tokens"].split(),
            "tags": [word["tag"] for word in prediction["words"]],
        },
        "question-answering": lambda: NEW[task] | {"answers": prediction["said"]},
        "similarity": lambda: NEW[task] | {"score": "1"},
        "reranking": lambda: {"query": "paris", "passage": prediction["ranked"][0]["passage"], "relevance": 2},
    }[task]()
    wanted = by_hand(run, answered)
    scores = np.array([row.score for row in result.rows])
    assert len(scores) == len(wanted) == 12
    np.testing.assert_allclose(
        scores, [wanted[row.line] for row in result.rows], rtol=1e-3, atol=1e-5 * np.abs(scores).max()
    )
    if task == "similarity":
        with pytest.raises(ExplorerError, match="the head, and this task trains none"):
            run.suspects()
    else:
        assert run.suspects().rows[-1].score >= 0
    detail = detail_of(run)
    found = influence.run_to_end(trace.influence_tables(detail, NEW[task]))
    columns = {"tagging": ["text", "label"], "question-answering": ["question", "passage", "answer"]}
    columns |= {"similarity": ["first text", "second text", "label"], "reranking": ["query", "passage", "label"]}
    assert found["title"] == f"Which rows taught it “{result.label}”?"
    assert [*found["tables"][-1]["rows"][0]][1:-2] == columns[task]


def test_an_impossible_answer_is_rejected(tiny: Tiny, tmp_path: Path) -> None:
    draw, refusals = (
        np.random.default_rng(0),
        {
            "tagging": {
                "O B-LOC": "has 5 words; wanted as many tags, not 2",
                "O O O O B-ORG": "no tag 'B-ORG'; it knows O, ",
            },
            "question-answering": {"berlin": "No window of the passage contains 'berlin'"},
            "similarity": {"0.5": "only one answer to explain; leave the label '0.5' out"},
        },
    )
    for task, answers in refusals.items():
        settings = spec.make_spec(task, "tiny", str(tiny("bert")), {"epochs": 1, "max_tokens": 24, "precision": "fp32"})
        spec.write_run_folder(
            tmp_path / task, settings, *([Row(i, cells(task, draw)) for i in range(2, 14)] for _ in "td")
        )
        assert list(finetune(tmp_path / task))[-1]["event"] == "finished"
        for answer, message in answers.items():
            with pytest.raises(ExplorerError, match=message):
                TrainingRun(tmp_path / task).influence(NEW[task], answer)
    assert TrainingRun(tmp_path / "tagging").influence(NEW["tagging"], "O O O O B-LOC").label == "paris (LOC)"


def test_the_other_label_reverses_the_scores(trained: Trained) -> None:
    run = trained()
    for_it, against = run.influence(ASKED, "pos"), run.influence(ASKED, "neg")
    assert for_it.rows[0].label == "pos" and against.rows[0].label == "neg"


def test_the_page_lists_the_strongest_rows_of_each_label(trained: Trained) -> None:
    run = trained()
    result = run.influence(ASKED)
    detail = detail_of(run)
    found = influence.run_to_end(trace.influence_tables(detail, ASKED))
    same, other = found["tables"][:2]
    for part, heading, labelled in (
        (same, f"Rows with the label “{result.label}”", True),
        (other, "Rows with another label", False),
    ):
        rows = [row for row in result.rows if (row.label == result.label) is labelled]
        strongest = sorted(rows, key=lambda row: abs(row.score), reverse=True)[:5]
        assert part["title"] == heading and [row["line"] for row in part["rows"]] == [row.line for row in strongest]
    assert "A row with another label can make" in found["note"]
    assert "Against it" not in [table["title"] for table in found["tables"]]


def test_an_opposite_vector_with_the_opposite_label_has_a_positive_influence() -> None:
    """As the page says: for a linear head, the gradients of both losses have a positive product."""
    weight = torch.zeros(2, 8, dtype=torch.float64, requires_grad=True)
    vector = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gradients = []
    for sign, label in ((1, 0), (-1, 1), (1, 1)):
        loss = torch.nn.functional.cross_entropy((weight @ (sign * vector))[None], torch.tensor([label]))
        gradients.append(torch.autograd.grad(loss, weight)[0])
    asked, opposite, contradicting = gradients
    assert (asked * opposite).sum() > 0 > (asked * contradicting).sum()


@pytest.mark.slow
def test_planted_labels_are_found(trained: Trained) -> None:
    """12 of 120 labels: in random order, 1.2 of them would be among the first 12."""
    result = trained(planted=0.1, snapshots=3, epochs=10).suspects()
    assert result.planted == 12 and result.found() >= 9
    assert all(row.truth not in ("", row.label) for row in result.rows[:3])


def test_the_page_says_how_many_planted_labels_were_found(trained: Trained) -> None:
    run = trained(planted=0.1, snapshots=2, epochs=4)
    result, detail = run.suspects(), detail_of(run)
    found = influence.run_to_end(trace.suspect_table(detail))
    said = f"12 wrong labels were planted in 120 rows. Of the first 12 rows here, {result.found()} have one"
    assert said in found["said"] and "in random order, 1.2" in found["said"]
    assert found["tables"][0]["rows"][0]["label"].endswith(f"(planted; was {result.rows[0].truth})")
    explained = influence.run_to_end(trace.influence_tables(detail, ASKED))
    assert "Which rows taught it “" in explained["title"]
    assert explained["tables"][-1]["title"] == "Nearest by vector, for comparison"


def test_a_run_without_training_rows_is_not_traced() -> None:
    detail = RunDetail(Run("0" * 32, "a suite", folder=Path("/secret"), spec={"task": "suite"}), [], None, None)
    for steps in (trace.suspect_table(detail), trace.influence_tables(detail, {"text": "x"})):
        with pytest.raises(ExplorerError, match="a suite has no training rows to trace") as error:
            influence.run_to_end(steps)
        assert "/secret" not in str(error.value)


def test_suspects_have_the_loss_of_the_best_checkpoint(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is the second snapshot of four; only the first and the last are read besides."""
    run = trained(planted=0.1, snapshots=4, evaluations=1)
    snapshots = list_commits(run.folder / "snapshots")
    monkeypatch.setattr(influence, "MAX_CHECKPOINTS", 2)
    monkeypatch.setattr(influence, "list_commits", lambda folder: snapshots[: 2 if folder.name == "best" else None])
    result, traced = run.suspects(), influence.TracedRun(run.folder)
    learner = traced.learner(snapshots[1])
    examples = {example.line: example for example in traced.examples}
    losses = learner.row_losses(learner.collate(learner.read([examples[row.line] for row in result.rows])))
    np.testing.assert_allclose([row.loss for row in result.rows], losses.tolist(), rtol=1e-3, atol=1e-4)
    assert result.steps == tuple(influence.step_number(snapshots[i]) for i in (0, 1, 3))


def test_planting_is_reproducible_and_changes_no_other_row(begin: Begin) -> None:
    given, rows, _ = spec.read_run(begin(planted=0.25))
    examples, _ = classification.examples(rows, given.task_options)
    changed, own = plant_wrong_labels(examples, given.task_options)
    assert plant_wrong_labels(examples, given.task_options) == (changed, own) and len(own) == 30
    for i, (before, after) in enumerate(zip(examples, changed, strict=True)):
        assert (before == after) is (i not in own) and own.get(i, before.labels) == before.labels


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {"method": "frozen"},
        {"method": "lora"},
        {"frozen_layers": 1},
        {"layer_decay": 0.5},
        {"labels": "several"},
        {"snapshots": 0},
    ],
)
def test_every_training_method_is_traced(trained: Trained, values: dict[str, object]) -> None:
    run = trained(**values)
    assert run.influence(ASKED).rows[0].score > 0 and run.suspects().rows[-1].score >= 0


def test_many_rows_are_sampled(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(influence, "MAX_ROWS", 50)
    result = trained().influence(ASKED)
    assert (len(result.rows), result.left_out) == (50, 70)


def test_untraceable_runs_are_rejected(trained: Trained, begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained()
    with pytest.raises(ExplorerError, match="knows no label 'blue'; it knows neg, pos"):
        run.influence(ASKED, "blue")
    with pytest.raises(ExplorerError, match="The row has 2 texts; wanted 1"):
        run.influence({**ASKED, "another": "the film"})
    with pytest.raises(ExplorerError, match="text is empty"):
        run.influence({"text": " "})
    with pytest.raises(ExplorerError, match="has no checkpoint"):
        TrainingRun(begin("new")).influence(ASKED)
    monkeypatch.setattr(influence, "open_learner", lambda *_, **__: "a tagger")
    with pytest.raises(
        ExplorerError, match="labels, tags, answers to questions, similarities and relevance; this run is of the task"
    ):
        run.suspects()


def test_snapshots_keep_every_trained_part(trained: Trained) -> None:
    """Snapshots of version 0.1 lack the parts in task.safetensors and are left out."""
    run = trained(snapshots=2, epochs=1)
    assert [item.folder for item in influence.traced_checkpoints(run.folder, run.best, [1.0] * 99, complete=False)] == [
        run.best
    ]
    for snapshot in list_commits(run.folder / "snapshots"):
        (snapshot / "task.safetensors").touch()
    result = influence.traced_checkpoints(run.folder, run.best, [1.0] * 99, complete=False)
    assert len(result) >= 2 and [sum(item.weight for item in result[: i + 1]) for i in range(len(result))] == [
        item.step for item in result
    ]
