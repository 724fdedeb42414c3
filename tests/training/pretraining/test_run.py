"""A resumed run equals an uninterrupted one; its checkpoints load here and in transformers."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.runs import run_folder
from bertexplorer.training.events import STOPPED
from bertexplorer.training.pretraining import heldout, run, spec as specs
from bertexplorer.training.pretraining.new_run import prepare_folder
from bertexplorer.training.pretraining.run import pretrain
from bertexplorer.training.student import teacher_layers
from tests.conftest import ROOT
from tests.tolerance import assert_same
from tests.training.conftest import Begin, add_stage


def last(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(sorted((folder / "commits").iterdir())[-1] / "training.safetensors")


def after(count: int) -> Callable[[], bool]:
    """A stop that is requested after *count* steps."""
    calls = iter(range(10**6))
    return lambda: next(calls) >= count - 1


def kinds(folder: Path) -> list[str]:
    return [e["event"] for e in run_folder.history(folder)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"dropout": 0.2, "whole_words": True, "threads": 1},
        {"objective": "causal", "precision": "fp32"},
        {"objective": "replaced", "hidden": 32, "heads": 4, "threads": 1},
        {"objective": "mlm+order", "static": True, "repeat_steps": 2, "threads": 1},
        {"objective": "mlm", "precision": "bf16", "decay": "cosine"},
    ],
    ids=str,
)
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(begin: Begin, values: dict[str, object]) -> None:
    whole, parts = begin("whole", **values), begin("parts", **values)
    list(pretrain(whole))
    for steps in (2, 1, 99):
        list(pretrain(parts, after(steps)))
    one, other = last(whole), last(parts)
    assert one.keys() == other.keys() and any(name.startswith("exp_avg") for name in one)
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert kinds(whole)[-1] == kinds(parts)[-1] == "finished" and kinds(parts).count("stopped") == 2
    first, second = ([e for e in run_folder.history(f) if e["event"] == "evaluated"] for f in (whole, parts))
    assert first[-1]["pairs_loss"] == second[-1]["pairs_loss"] and first[0]["step"] == 0


def test_prefetched_batches_give_the_same_weights(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead, parts, plain = begin("ahead"), begin("parts"), begin("plain")
    list(pretrain(ahead))
    for steps in (2, 99):  # the batches prepared for the step after the last are discarded
        list(pretrain(parts, after(steps)))
    requested: list[int] = []

    @contextmanager
    def one_at_a_time(make: Callable[[int], object]) -> Iterator[Callable[[int], object]]:
        yield lambda step: (requested.append(step), make(step))[1]

    monkeypatch.setattr(run, "Prefetched", one_at_a_time)
    list(pretrain(plain))
    assert requested == [0, 1, 2, 3, 4, 5]
    for name, tensor in last(plain).items():
        assert torch.equal(tensor, last(ahead)[name]) and torch.equal(tensor, last(parts)[name])


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_weights(begin: Begin) -> None:
    whole, killed = begin("whole", steps=40), begin("killed", steps=40, commit_minutes=0.0)
    list(pretrain(whole))
    command = [sys.executable, "-m", "bertexplorer.cli.pretrain", str(killed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("committed"):
            break
    process.kill()
    process.communicate(timeout=60)
    list(pretrain(killed))
    assert kinds(killed).count("resumed") == 1 and kinds(killed)[-1] == "finished"
    assert all(torch.equal(tensor, last(killed)[name]) for name, tensor in last(whole).items())


@pytest.mark.slow
def test_a_crash_between_commits_repeats_the_same_steps(begin: Begin) -> None:
    whole, parts = begin("whole"), begin("parts")
    list(pretrain(whole))
    list(pretrain(parts, after(2)))
    for event in pretrain(parts, after(99)):
        if event["event"] == "resumed":
            break  # as a crash: the steps since the commit are lost
    list(pretrain(parts))
    assert all(torch.equal(tensor, last(parts)[name]) for name, tensor in last(whole).items())


def test_a_torn_commit_is_reported_and_the_previous_one_is_used(begin: Begin) -> None:
    whole, folder = begin("whole"), begin("parts")
    list(pretrain(whole))
    list(pretrain(folder, after(2)))
    list(pretrain(folder, after(2)))
    torn = sorted((folder / "commits").iterdir())[-1] / "training.safetensors"
    torn.write_bytes(torn.read_bytes()[:-100])
    result = list(pretrain(folder))
    assert [e["text"] for e in result if e["event"] == "warning"][0].startswith("commit step-000000004 is damaged")
    assert next(e for e in result if e["event"] == "resumed")["step"] == 2
    assert all(torch.equal(tensor, last(folder)[name]) for name, tensor in last(whole).items())


@pytest.mark.slow
def test_a_run_learns_and_its_checkpoint_loads_here_and_in_transformers(begin: Begin) -> None:
    folder = begin(steps=60, peak=0.01, export="fp32", snapshots="0, 5")
    result = list(pretrain(folder))
    measured = [e for e in result if e["event"] == "evaluated"]
    floors = next(e for e in result if e["event"] == "ready")["floors"]
    assert (
        abs(measured[0]["pairs_loss"] - floors["uniform"]) < 0.5
        and measured[-1]["pairs_loss"] < measured[0]["pairs_loss"] - 0.5
    )
    assert {"nsp_accuracy", "nsp_accuracy_same_document", "short_accuracy_mask", "pairs_loss_random"} <= measured[
        -1
    ].keys()
    model = sorted((folder / "commits").iterdir())[-1] / "model"
    ours = load(model, precision="fp32", device="cpu")
    theirs = transformers.BertForPreTraining.from_pretrained(model, attn_implementation="eager").eval()
    encoding = ours.tokenizer.encode("The doctor said she works as a [MASK].")
    with torch.no_grad():
        logits = theirs(torch.tensor([encoding.ids])).prediction_logits[0]
        mine = ours.masked_lm(ours.encoder(torch.tensor([encoding.ids])).last[0])
    assert_same(ours.config, mine, logits)
    exact = last(folder)["weight.encoder.embeddings.words.weight"]
    assert torch.equal(ours.encoder.embeddings.words.weight, exact)
    assert [p.name for p in sorted((folder / "snapshots").iterdir())] == ["step-000000000", "step-000000005"]
    assert load(folder / "snapshots" / "step-000000000" / "model").heads.keys() == ours.heads.keys()


def test_a_stage_continues_from_the_weights_with_its_own_budget(begin: Begin) -> None:
    folder = begin()
    list(pretrain(folder))
    before = last(folder)
    add_stage(folder, steps=3, peak=0.0, warmup=0.0)
    result = list(pretrain(folder))
    assert {e["stretch"] for e in result} == {1} and result[-1]["step"] == 9 and result[-1]["stretch"] == 1
    weights = {k: v for k, v in before.items() if k.startswith("weight.")}
    assert all(torch.equal(v, last(folder)[k]) for k, v in weights.items()), "a rate of 0 changes nothing"
    assert result[-1]["tokens"] > 6 * 200
    assert [e["event"] for e in pretrain(folder)][-1] == "finished"


def test_a_run_starts_from_a_checkpoint_and_adds_missing_heads(begin: Begin, tiny) -> None:
    plain = {"vocabulary": "", "start": str(tiny("bert-base"))}
    folder = begin(plain=plain, steps=1, peak=0.0, warmup=0.0, export="fp32")
    list(pretrain(folder))
    checkpoint = load(sorted((folder / "commits").iterdir())[-1] / "model", precision="fp32")
    given = load(tiny("bert-base"), precision="fp32")
    assert set(checkpoint.heads) == {"masked_lm", "pooler", "next_sentence"}
    assert torch.equal(
        checkpoint.encoder.layers[1].attention.query.weight, given.encoder.layers[1].attention.query.weight
    )
    assert checkpoint.masked_lm.output.weight is checkpoint.encoder.embeddings.words.weight


def test_a_run_starts_from_some_layers_of_a_teacher(begin: Begin, tiny, tmp_path: Path) -> None:
    teacher = load(tiny("bert"), precision="fp32")
    count = teacher.config.num_layers - 1
    prepare_folder(tmp_path, ["x"], {"start": str(tiny("bert")), "layers": str(count)})
    assert specs.read_stages(tmp_path / "spec.json")[0].start_layers == count
    plain = {"vocabulary": "", "start": str(tiny("bert")), "start_layers": count}
    folder = begin(plain=plain, steps=1, peak=0.0, warmup=0.0, export="fp32")
    list(pretrain(folder))
    checkpoint = load(sorted((folder / "commits").iterdir())[-1] / "model", precision="fp32")
    assert checkpoint.config.num_layers == count
    for new, old in enumerate(teacher_layers(teacher.config.num_layers, count, "spread")):
        result, expected = (c.encoder.layers[i].attention.query.weight for c, i in ((checkpoint, new), (teacher, old)))
        assert torch.equal(result, expected)
    with pytest.raises(ExplorerError, match="the teacher has"):
        list(pretrain(begin("more", plain=plain | {"start_layers": count + 1})))


@pytest.mark.parametrize(
    "name", ["roberta", "distilbert", "modernbert", "electra-generator", "albert", "mpnet", "deberta"]
)
def test_other_families_continue_with_masked_tokens(begin: Begin, tiny, name: str) -> None:
    folder = begin(plain={"vocabulary": "", "start": str(tiny(name))}, objective="mlm", steps=2, heldout_pairs=4)
    assert list(pretrain(folder))[-1]["event"] == "finished"
    assert list(load(sorted((folder / "commits").iterdir())[-1] / "model").heads)


def test_a_vocabulary_is_trained_by_default(begin: Begin) -> None:
    folder = begin(plain={"vocabulary": ""}, steps=1)
    list(pretrain(folder))
    checkpoint = load(sorted((folder / "commits").iterdir())[-1] / "model")
    assert 60 < checkpoint.tokenizer.vocab_size <= 120 and checkpoint.tokenizer.kind == "WordPiece"
    assert checkpoint.tokenizer.backend.id_to_token(0) == "[PAD]" and "##" in "".join(
        checkpoint.tokenizer.backend.get_vocab()
    )


def test_the_held_out_documents_are_fixed_and_never_trained_on(begin: Begin, tmp_path: Path) -> None:
    folder = begin(steps=1)
    ready = next(e for e in pretrain(folder) if e["event"] == "ready")
    assert ready["documents"] + ready["heldout_documents"] == 130 and ready["heldout_documents"] >= 20
    chosen = heldout.read_hashes(folder / "heldout.txt")
    assert len(chosen) == 20
    other = begin("other", plain={"heldout": str(folder / "heldout.txt")}, steps=1, heldout_documents=50, seed=5)
    list(pretrain(other))
    assert (heldout.read_hashes(other / "heldout.txt") == chosen).all()


def test_a_second_process_of_a_run_is_rejected(begin: Begin) -> None:
    folder = begin()
    first = pretrain(folder)
    next(first)
    with pytest.raises(ExplorerError, match="another process"):
        next(pretrain(folder))
    first.close()
    assert list(pretrain(folder))[-1]["event"] == "finished"


def test_a_stop_file_stops_a_run_after_a_commit(begin: Begin) -> None:
    folder = begin(steps=10**6)
    result = []
    for event in pretrain(folder):
        result.append(event["event"])
        if event["event"] == "evaluated":
            (folder / "stop").touch()
    assert result[-2:] == ["committed", "stopped"] and run_folder.history(folder)[-1]["step"] == 1


@pytest.mark.slow
def test_a_signal_stops_a_run_after_a_commit(begin: Begin) -> None:
    folder = begin(steps=10**6)
    command = [sys.executable, "-m", "bertexplorer.cli.pretrain", str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("evaluated"):
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=60)[0].splitlines()
    assert process.returncode == STOPPED and rest[-2].startswith("committed") and rest[-1].startswith("stopped")
    state = json.loads((sorted((folder / "commits").iterdir())[-1] / "state.json").read_text())
    assert state["step"] > 0


def test_an_infinite_gradient_is_skipped_and_ends_the_run_if_it_persists(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begin(steps=60, peak=0.5, clip=0.0, warmup=0.0)
    built = run.create_setup

    def broken(*arguments):
        trained = built(*arguments)
        with torch.no_grad():
            trained.checkpoints["model"].encoder.embeddings.words.weight[:] = float("inf")
        return trained

    monkeypatch.setattr(run, "create_setup", broken)
    with pytest.raises(ExplorerError, match="not finite"):
        list(pretrain(folder))
    assert kinds(folder)[-1] == "failed" and not (folder / "commits").exists()


def test_a_torn_last_line_of_the_events_is_ignored(begin: Begin) -> None:
    folder = begin(steps=1)
    list(pretrain(folder))
    before = len(run_folder.history(folder))
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"event": "st')
    assert len(run_folder.history(folder)) == before
