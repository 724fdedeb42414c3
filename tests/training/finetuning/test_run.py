"""A run learns, stops and resumes bit for bit, and transformers loads its checkpoints."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

from bertexplorer import engine
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.runs.run_folder import history
from bertexplorer.training.finetuning import run as runs, spec as specs
from bertexplorer.training.finetuning.artifacts import open_learner
from bertexplorer.training.finetuning.run import Best, finetune
from bertexplorer.training.finetuning.spec import Tuning, learning_rate
from tests.conftest import Tiny
from tests.tolerance import of_encoder
from tests.training.conftest import Begin


def events_of(folder: Path, kind: str) -> list[dict]:
    return [event for event in history(folder) if event["event"] == kind]


def best_folder(folder: Path) -> Path:
    (result,) = (folder / "best").glob("step-*")
    return result


@pytest.mark.parametrize("more", [{"frozen_layers": 1}, {"layer_decay": 0.9}])
def test_shared_layers_cannot_be_trained_differently(more: dict, begin: Begin) -> None:
    with pytest.raises(
        ExplorerError, match="ALBERT's layers share their weights, so none can be frozen or slowed down alone"
    ):
        list(finetune(begin(family="albert", **more)))


@pytest.mark.parametrize(
    ("size", "steps", "method", "rate"),
    [
        (128, 5000, "full", 3e-4),
        (384, 500, "full", 3e-4),
        (384, 501, "full", 1e-4),
        (384, 501, "lora", 5e-4),
        (384, 10, "frozen", 1e-3),
        (768, 10, "full", 5e-5),
        (1024, 10, "full", 2e-5),
        (384, 10, "own", 7e-4),
    ],
)
def test_the_default_rate_follows_from_the_size_and_the_number_of_steps(
    size: int, steps: int, method: Any, rate: float, tiny: Tiny
) -> None:
    config = replace(load(tiny("bert")).config, hidden_size=size)
    tuning = Tuning(rate=7e-4) if method == "own" else Tuning(method=method)
    assert learning_rate(tuning, config, steps) == pytest.approx(rate)


@pytest.mark.parametrize(("short", "rate"), [(15, 3e-4), (14, 1e-4)])
def test_a_run_says_its_rate_and_its_steps(
    short: int, rate: float, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its 120 rows are 18 batches of 7, so 5 steps of 4 batches in each of 3 epochs."""
    monkeypatch.setattr(specs, "RATES", (specs.SizeRates(128, rate=1e-4, short_rate=3e-4),))
    monkeypatch.setattr(specs, "SHORT", short)
    events = finetune(begin(epochs=3, batch=7, accumulate=4, rate=0))
    (ready,) = (event for event in events if event["event"] == "ready")
    assert (ready["steps"], ready["rate"]) == (15, rate)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "more"),
    [
        ("bert", {}),
        ("roberta", {}),
        ("distilbert", {"layer_decay": 0.8}),
        ("modernbert", {"accumulate": 2}),
        ("electra-discriminator", {"frozen_layers": 1}),
        ("albert", {}),
        ("mpnet", {}),
        ("deberta", {}),
        ("deberta", {"method": "lora", "rate": 2e-2, "epochs": 10}),
        ("albert", {"method": "lora", "rate": 2e-2, "epochs": 10}),
        ("bert", {"method": "lora", "rate": 2e-2, "epochs": 10}),
        ("bert", {"method": "frozen", "rate": 2e-2, "epochs": 20}),
    ],
)
def test_a_run_learns_and_transformers_gives_the_same_answers(family: str, more: dict, begin: Begin) -> None:
    folder = begin(family=family, dropout=0.0, **more)
    *_, last = finetune(folder)
    first = events_of(folder, "evaluated")[0]
    assert last["event"] == "finished" and first["step"] == 0
    assert last["value"] > first["metrics"]["accuracy"] + 0.15 and last["value"] > 0.6
    learner = open_learner(best_folder(folder))
    texts = ["the great film was in the city", "the terrible film"]
    ours = learner.predict([{"text": text} for text in texts])
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(best_folder(folder)).eval()
    for text, answer in zip(texts, ours, strict=True):
        result = learner.checkpoint.tokenizer.backend.encode(text)
        ids = torch.tensor([result.ids])
        logits = theirs(ids, attention_mask=torch.ones_like(ids)).logits
        shares = logits.softmax(-1)[0]
        for label in answer["labels"]:
            allowed = of_encoder(learner.checkpoint.config, logits)
            share = shares[theirs.config.label2id[label["label"]]].item()
            assert share == pytest.approx(label["probability"], abs=allowed)
    about = json.loads((best_folder(folder) / "task.json").read_text())
    assert about["metrics"]["accuracy"] == last["value"] and about["confusion"]["labels"] == ["neg", "pos"]
    predictions = [json.loads(line) for line in (best_folder(folder) / "predictions.jsonl").read_text().splitlines()]
    assert len(predictions) == 60
    card = (best_folder(folder) / "README.md").read_text()
    assert "base_model: tiny" in card and not any(row["text"] in card for row in predictions), "no row of a person"


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "modernbert"])
def test_the_adapter_that_a_run_with_lora_saves_gives_its_answers(family: str, begin: Begin, tiny: Tiny) -> None:
    folder = begin(family=family, dropout=0.0, method="lora", rate=2e-2, epochs=2)
    list(finetune(folder))
    adapter = best_folder(folder) / "adapter"
    if family == "modernbert":  # its files keep queries, keys and values in one matrix
        assert not adapter.exists()
        return
    merged = load(best_folder(folder), precision="fp32")
    checkpoint = load(adapter, precision="fp32", base=tiny(family))
    assert checkpoint.labels == merged.labels == ("neg", "pos")
    encoding = merged.tokenizer.encode("the great film")
    ours, wanted = (engine.head_logits(each, [encoding], "sequence_classifier")[0] for each in (checkpoint, merged))
    torch.testing.assert_close(ours, wanted, rtol=0, atol=of_encoder(merged.config, wanted))


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"dropout": 0.3}, {"method": "lora"}, {"method": "frozen"}, {"accumulate": 2}])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(more: dict, begin: Begin) -> None:
    whole, parts = begin("whole", epochs=2, **more), begin("parts", epochs=2, **more)
    list(finetune(whole))
    assert [last_event(parts, steps) for steps in (3, 4)] == ["stopped", "stopped"]
    list(finetune(parts))
    for name in ("best", "commits"):
        one, other = (sorted((folder / name).glob("step-*"))[-1] for folder in (whole, parts))
        assert one.name == other.name
        for file in one.glob("*.safetensors"):
            theirs = load_file(other / file.name)
            assert all(torch.equal(tensor, theirs[key]) for key, tensor in load_file(file).items())
    scores = [[e["metrics"] for e in events_of(folder, "evaluated")] for folder in (whole, parts)]
    assert scores[0] == scores[1]


def last_event(folder: Path, steps: int) -> str:
    """Continue a run for *steps* steps and return the name of its last event."""
    calls = iter(range(1, 10_000))
    return list(finetune(folder, lambda: next(calls) >= steps))[-1]["event"]


def test_a_finished_run_reports_that_it_is_finished(begin: Begin) -> None:
    folder = begin(epochs=1)
    list(finetune(folder))
    events = list(finetune(folder))
    assert [event["event"] for event in events] == ["resumed", "ready", "finished"]


def test_a_run_stops_early_without_improvement(begin: Begin) -> None:
    folder = begin(rate=1e-9, epochs=30, patience=2, weight_decay=0.0)
    *_, last = finetune(folder)
    tried = events_of(folder, "evaluated")
    assert last["event"] == "finished" and len(tried) == 4
    assert last["best_step"] == min(tried[1:], key=lambda event: event["metrics"]["loss"])["step"]
    best = best_folder(folder)
    assert [event["event"] for event in finetune(folder)] == ["resumed", "ready", "finished"]
    assert best_folder(folder) == best and len(events_of(folder, "evaluated")) == 4


def test_equal_values_are_ranked_by_their_loss() -> None:
    best = Best()
    for step, value, loss in ((4, 0.5, 0.70), (8, 0.5, 0.60), (12, 0.5, 0.65), (16, 0.4, 0.1)):
        best = best.after(step, value, loss, higher=True)
    assert (best.step, best.value, best.loss, best.waited) == (8, 0.5, 0.60, 3)
    assert best.after(20, 0.6, 9.9, higher=True).step == 20 and best.after(20, 0.4, 9.9, higher=False).step == 20
    undefined = Best().after(1, float("nan"), 1.0, higher=True)  # a correlation of equal answers
    assert undefined.step == 1 and undefined.after(2, 0.1, 1.0, higher=True).step == 2
    assert best.after(20, float("nan"), 0.0, higher=True).step == best.step


def test_constant_answers_cause_a_warning(begin: Begin) -> None:
    folder = begin(rate=0.9, epochs=1, clip=0.0, warmup=0.0)
    list(finetune(folder))
    message = " ".join(event["text"] for event in events_of(folder, "warning"))
    assert "every answer is" in message or "not a number" in message


def test_validation_rows_without_a_trained_label_are_named_as_the_cause(begin: Begin) -> None:
    folder = begin(epochs=1)
    path = folder / "data" / "dev.jsonl"
    path.write_text(path.read_text("utf-8").replace('"pos"', '"new"').replace('"neg"', '"newer"'), "utf-8")
    list(finetune(folder))
    message = " ".join(event["text"] for event in events_of(folder, "warning"))
    assert "the loss is not a number: no validation row has a label that was trained" in message
    assert "learning rate" not in message


def test_a_full_disk_leaves_the_commits_intact(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = begin(epochs=4)
    monkeypatch.setattr(runs, "COMMIT", 0.0)
    monkeypatch.setattr(runs, "SPENT", 1e9)
    write = runs.write_training_state

    def full(modules, optimiser, state, *rest, **more):
        if state.step >= 5:
            raise OSError(28, "No space left on device")
        write(modules, optimiser, state, *rest, **more)

    monkeypatch.setattr(runs, "write_training_state", full)
    with pytest.raises(ExplorerError, match="No space left"):
        list(finetune(folder))
    assert (
        events_of(folder, "failed") and sorted(p.name for p in (folder / "commits").iterdir())[-1] == "step-000000004"
    )
    monkeypatch.undo()
    assert [e["event"] for e in finetune(folder)][-1] == "finished"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"frozen_layers": 7}, "7 layers cannot be frozen; the checkpoint has 3"),
        ({"epochs": "many"}, "Epochs"),
        ({"evil": 1}, "Unknown setting evil"),
        ({"task": "nonsense"}, "no task"),
    ],
)
def test_invalid_settings_are_reported(values: dict, message: str, begin: Begin) -> None:
    with pytest.raises(ExplorerError, match=message):
        list(finetune(begin(**values)))


def test_a_new_run_does_not_replace_another(begin: Begin, tmp_path: Path) -> None:
    folder = begin()
    before = (folder / "spec.json").read_bytes()
    with pytest.raises(ExplorerError, match="holds a run already. Name another folder, or resume it") as caught:
        begin(epochs=9)
    assert str(folder) in str(caught.value) and (folder / "spec.json").read_bytes() == before
    (tmp_path / "other" / "data").mkdir(parents=True)
    with pytest.raises(ExplorerError, match="holds a folder called data already. Name another folder.$"):
        begin("other")


def test_two_processes_cannot_work_in_one_folder(begin: Begin) -> None:
    folder = begin()
    first = finetune(folder)
    next(first)
    with pytest.raises(ExplorerError, match="another process"):
        next(finetune(folder))
    first.close()
