"""Question answering: logits and loss of transformers, windows and n-best by brute force, a run on the built-in set."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.runs import run_folder
from bertexplorer.training import learners
from bertexplorer.training.data.checks import split_rows
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import export_checkpoint, open_learner
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.learners.question_answering import QuestionAnswerer
from bertexplorer.training.tasks import question_answering as qa
from tests.conftest import ROOT, Tiny
from tests.tiny import FAMILIES
from tests.tolerance import assert_same, of_encoder, of_sum
from tests.training.tasks.builtin import write_tiny_bert

LONG = "the cat sat on the mat . paris is the capital of france , and london works as a great city of money . " * 2
ROWS = [
    Row(1, {"question": "what is paris ?", "context": "paris is the capital of france", "answers": "the capital"}),
    Row(2, {"question": "who sat ?", "context": LONG, "answers": [{"text": "the cat", "start": 0}]}),
    Row(3, {"question": "where is it ?", "context": LONG, "answers": [], "impossible": True}),
]


def create_learner(
    folder: Path, rows: list[Row] = ROWS, most: int = 40, **options: Any
) -> tuple[QuestionAnswerer, list]:
    chosen = qa.Options(**{"stride": 8, "longest": 6, "n_best": 5, **options})
    result, problems = qa.examples(rows, chosen)
    assert not problems
    learner = learners.create(qa.TASK, load(folder, precision="fp32"), result, chosen, seed=0)
    torch.manual_seed(0)
    torch.nn.init.normal_(learner.modules["span"].output.weight)
    learner.set_max_tokens(most)
    return learner, result


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in ("nomic", "gte", "eurobert")])
def test_logits_and_loss_equal_those_of_transformers(family: str, tiny: Tiny, tmp_path: Path) -> None:
    learner, examples = create_learner(tiny(family))
    learner.modules.eval()
    save(export_checkpoint(learner.checkpoint, torch.float32), tmp_path / "saved")
    theirs = transformers.AutoModelForQuestionAnswering.from_pretrained(tmp_path / "saved").eval()
    items, config = learner.read(examples), learner.checkpoint.config
    for item in items:
        batch = learner.collate([item])
        start, end = learner.logits(batch)
        more = {"token_type_ids": batch.segments} if learner.checkpoint.config.num_segments > 1 else {}
        at = {"start_positions": batch.targets[:, 0], "end_positions": batch.targets[:, 1]}
        out = theirs(batch.ids, **at, **more)
        assert_same(config, start, out.start_logits)
        assert_same(config, end, out.end_logits)
        ours = sum(learner.weights[task] * loss.total.item() for task, loss in learner.losses(batch).items())
        assert ours == pytest.approx(out.loss.item(), abs=of_encoder(config, out.loss))
    whole = learner.losses(learner.collate(items))  # padding is ignored
    for task in whole:
        apart = sum(learner.losses(learner.collate([item]))[task].total.item() for item in items)
        allowed = len(items) * of_encoder(config, apart / len(items))
        assert whole[task].total.item() == pytest.approx(apart, abs=allowed) and whole[task].count == len(items)


def test_the_answers_are_the_best_spans_of_all_windows(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    windows = learner.windows(examples)
    assert [len(items) for items in windows][0] == 1 and len(windows[1]) > 2
    for example, items, reply in zip(examples, windows, learner.answers(windows), strict=True):
        best: dict[tuple[int, int], float] = {}
        nothing = []
        for item in items:
            learner.modules.eval()
            start, end = (x[0].tolist() for x in learner.logits(learner.collate([item])))
            about, nothing = item.target, [*nothing, start[0] + end[0]]
            for i in range(about.first, about.after):
                for j in range(i, min(about.after, i + 6)):
                    span = (int(about.passage.starts[i]), int(about.passage.ends[j]))
                    score = start[i - about.first + about.at] + end[j - about.first + about.at]
                    best[span] = max(score, best.get(span, -1e9))
        wanted = sorted(best.items(), key=lambda pair: -pair[1])[:5]
        assert [(a, b) for _, a, b in reply.spans] == [span for span, _ in wanted]
        allowed = 2 * of_encoder(learner.checkpoint.config, [s for _, s in wanted])  # a start and an end
        assert [s for s, _, _ in reply.spans] == pytest.approx([s for _, s in wanted], abs=allowed)
        assert reply.no_answer == pytest.approx(min(nothing), abs=allowed)
        assert all(0 <= a < b <= len(example.context) for _, a, b in reply.spans)


def test_no_answer_is_predicted_if_it_beats_the_best_span_by_the_threshold(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    surplus = [reply.margin for reply in learner.answers(learner.windows(examples))]
    for threshold in (min(surplus) - 0.1, float(np.median(surplus)), max(surplus) + 0.1):
        learner, _ = create_learner(tiny(), threshold=threshold)
        rows = learner.evaluate(examples).rows
        assert [row["predicted"] == "" for row in rows] == [s > threshold for s in surplus]
        predictions = [
            answer["said"] == ""
            for answer in learner.predict([{"question": q.question, "context": q.context} for q in examples])
        ]
        assert predictions == [s > threshold for s in surplus]
    without, _ = create_learner(tiny(), ROWS[:2], threshold=-100.0)
    assert not without.silent and all(row["predicted"] for row in without.evaluate(examples).rows)
    assert without.predict([{"question": "who ?", "context": "the cat"}])[0]["no_answer"] is None


def test_metrics_are_means_of_the_rows(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    made_of = learner.evaluate(examples)
    rows, metrics = made_of.rows, made_of.metrics
    assert metrics["f1"] == pytest.approx(np.mean([row["f1"] for row in rows]))
    assert metrics["has_answer_f1"] == pytest.approx(np.mean([row["f1"] for row in rows[:2]]))
    assert metrics["no_answer"] == rows[2]["f1"] and metrics["lost"] == 0.0
    assert [row["line"] for row in rows] == [1, 2, 3] and rows[0]["gold"] == "the capital"
    assert rows[1]["context"][rows[1]["start"] : rows[1]["end"]] == rows[1]["predicted"] or not rows[1]["predicted"]
    here = [row for row in made_of.tables["No-answer threshold"] if row["threshold"] == 0.0]
    assert here[0]["f1"] == pytest.approx(metrics["f1"])
    assert {row["question"] for row in made_of.tables["Per question word"]} == {"what", "who", "where"}


def test_an_answer_outside_every_window_counts_as_lost(tiny: Tiny) -> None:
    row = Row(1, {"question": "what ?", "context": LONG, "answers": LONG[:90].strip()})
    learner, examples = create_learner(tiny(), [row], most=20)
    assert learner.evaluate(examples).metrics["lost"] == 1.0
    assert not any(any(item.target.answer) for item in learner.read(examples))


def test_the_playground_gives_spans_of_the_passage_with_probabilities(tiny: Tiny) -> None:
    learner, _ = create_learner(tiny())
    context = "Paris\u200b is the CAPITAL of france ___ , and " + LONG
    (answer,) = learner.predict([{"question": "What is ___ ?", "context": context}])
    assert len(answer["answers"]) == 5 and answer["windows"] > 1
    assert all(answer["context"][a["start"] : a["end"]] == a["text"] for a in answer["answers"])
    shares = [a["probability"] for a in answer["answers"]]
    assert shares == sorted(shares, reverse=True) and sum(shares) + answer["no_answer"] == pytest.approx(
        1.0, abs=of_sum(len(shares) + 1)
    )
    for empty in ({"question": " ", "context": "x"}, {"question": "x", "context": ""}, {"question": "x"}):
        with pytest.raises(ExplorerError, match="There is no"):
            learner.predict([empty])
    with pytest.raises(ExplorerError, match="limit"):
        learner.predict([{"question": "x", "context": "a " * 20_000}])


def test_a_saved_learner_gives_the_same_answers(tiny: Tiny, tmp_path: Path) -> None:
    learner, examples = create_learner(tiny("roberta"))
    save(export_checkpoint(learner.checkpoint, torch.float32), tmp_path / "saved")
    restored = learners.restore(qa.TASK, load(tmp_path / "saved", precision="fp32"), learner.state(), {})
    questions = [{"question": example.question, "context": example.context} for example in examples]
    assert restored.predict(questions) == learner.predict(questions) and restored.silent


def test_baselines_are_the_nearest_sentence_or_no_answer() -> None:
    result, _ = qa.examples(
        [Row(1, {"question": "Who sat?", "context": "It rained. A cat sat.", "answers": "cat"})], qa.Options()
    )
    assert qa.nearest_sentence(result[0]) == "A cat sat."
    assert qa.baselines(result, result, qa.Options())["f1"][1] == pytest.approx(2 / 3)
    silent, _ = qa.examples([Row(1, {"question": "Who?", "context": "It rained.", "answers": []})], qa.Options())
    assert qa.baselines(silent, silent, qa.Options())["f1"] == ("never an answer", 1.0)


@pytest.mark.slow
def test_the_built_in_set_is_learned(tmp_path: Path) -> None:
    path = ROOT / "assets" / "data" / "question-answering.json"
    table = read(path.read_bytes(), path.name)
    rows = map_columns(
        table, {name: name for name in ("question", "context", "answers", "impossible")}, qa.TASK.columns
    )
    assert 200 <= len(rows) <= 600 and not table.problems and not qa.examples(rows, qa.Options())[1]
    train, dev = split_rows(rows, 0.2, 0, keys=["context"])
    texts = (row.cells[name] for row in rows for name in ("question", "context"))
    start = write_tiny_bert(tmp_path / "start", texts, max_position_embeddings=128)
    quick = {
        "epochs": 4,
        "rate": 1e-2,
        "precision": "fp32",
        "snapshots": 0,
        "max_tokens": 128,
        "batch": 8,
        "dropout": 0.0,
    }
    specs.write_run_folder(
        tmp_path / "run", specs.make_spec("question-answering", "tiny", str(start), quick), train[:200], dev
    )
    *_, last = finetune(tmp_path / "run")
    first = next(e for e in run_folder.history(tmp_path / "run") if e["event"] == "evaluated")
    assert last["event"] == "finished" and last["value"] > first["metrics"]["f1"] + 0.1
    (best,) = (tmp_path / "run" / "best").glob("step-*")
    assert open_learner(best).predict([{"question": "Who cooked?", "context": rows[0].cells["context"]}])[0]["answers"]
