"""Files written by version 0.1 still open: run folders, links, uploads, exports, command lines and variables.

fixtures/version_0_1.tar.gz was written by commit 59621a0 with a checkpoint of two layers; HERE is a placeholder for
its folder. Three fine-tuning runs (one stopped halfway, one with LoRA) and their table of jobs, a pretraining run,
one upload of lines, two links of every view, six exports as CSV, JSON and Python, the names of all flags and
variables, and command lines with every flag and their parsed values."""

import argparse
import ast
import csv
import io
import json
import os
import runpy
import tarfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from bertexplorer.cli import pretrain as pretraining, train as finetuning
from bertexplorer.cli.parser import chosen, make_parser
from bertexplorer.core.ask import DEFAULTS, VIEWS, Answerer
from bertexplorer.core.link import restore_state
from bertexplorer.core.state import State, to_link
from bertexplorer.csv_safety import as_csv
from bertexplorer.options import build, option_specs
from bertexplorer.runs import run_folder
from bertexplorer.runs.service import RunService
from bertexplorer.settings import OBSOLETE, Settings
from bertexplorer.store.library import Library
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.pretraining.spec import GROUPS
from bertexplorer.training.tasks import BY_NAME
from tests.conftest import ROOT

FIXTURE = Path(__file__).parent / "fixtures" / "version_0_1.tar.gz"


def unpacked(folder: Path) -> Path:
    """The fixture's folder, below *folder*."""
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    here = folder / "version_0_1"
    for path in here.rglob("*"):
        if path.suffix in (".json", ".txt", ".py") and "HERE" in (text := path.read_text("utf-8")):
            path.write_text(text.replace("HERE", str(here)), "utf-8")
    return here


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("old"))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunService]:
    settings = Settings(data_dir=unpacked(tmp_path) / "data")
    runs = RunService(Library(settings), settings)
    yield runs
    runs.close()


def listed(old: Path, name: str) -> str:
    return str(json.loads((old / "runs.json").read_text("utf-8"))[name])


def test_runs_are_listed_with_their_final_state(service: RunService) -> None:
    assert {run.name: (run.state, run.task) for run in service.runs("")} == {
        "Films": ("finished", "classification"),
        "Stopped": ("stopped", "classification"),
        "Names": ("finished", "tagging"),
    }


@pytest.mark.parametrize(
    ("name", "cells", "predicted"),
    [("Films", {"text": "a good film"}, "labels"), ("Names", {"tokens": "Paris is good"}, "entities")],
)
def test_fine_tuned_checkpoints_answer(service: RunService, name: str, cells: dict[str, str], predicted: str) -> None:
    run = next(run for run in service.runs("") if run.name == name)
    detail = service.detail(run.id, "")
    assert detail.best and service.predictions(detail)
    assert predicted in service.answer(detail, cells)
    assert service.registry.get(f"run:{run.id}").name == f"run:{run.id}"


def test_a_stopped_run_continues_to_its_end(service: RunService) -> None:
    run = next(run for run in service.runs("") if run.name == "Stopped")
    steps = [event["event"] for event in finetune(run.folder)]
    assert "resumed" in steps and steps[-1] == "finished"
    assert run_folder.history(run.folder)[-1]["step"] == 6


def test_a_pretraining_run_can_be_extended(tmp_path: Path) -> None:
    here = unpacked(tmp_path)
    assert pretraining.main([str(here / "pretraining"), "--stretch", "--steps", "2"]) == 0
    assert run_folder.history(here / "pretraining")[-1]["event"] == "finished"


def test_an_upload_keeps_its_key(old: Path) -> None:
    from bertexplorer.store.lines import LineStore

    key = next((old / "data" / "lines").glob("*.json")).stem
    assert [line.text for line in LineStore(old / "data" / "lines").load(key).lines][0] == "Paris is in France."


def links() -> list[str]:
    with tarfile.open(FIXTURE) as archive:
        file = archive.extractfile("version_0_1/links.txt")
        assert file
        return file.read().decode("utf-8").splitlines()


@pytest.mark.parametrize("link", links())
def test_a_link_opens_its_state(link: str) -> None:
    query = dict(parse_qsl(link[1:], keep_blank_values=True))
    state, message = restore_state(
        Answerer(Library()), query, State("The capital of France is [MASK].", checkpoint="mini")
    )
    assert not message and state.view == query["view"] and state.view in VIEWS
    written = dict(parse_qsl(to_link(state, DEFAULTS[state.view])[1:], keep_blank_values=True))
    assert {name: value for name, value in query.items() if value} == {
        name: value for name, value in written.items() if value
    }


def near(row: dict[str, object], other: dict[str, object]) -> bool:
    """Whether *other*, which may have later columns, equals *row*; numbers within fp32's rounding over a pass of two
    layers of width 8."""
    return row.keys() <= other.keys() and all(
        value == (pytest.approx(other[key], rel=1e-4, abs=1e-6) if isinstance(value, float) else other[key])
        for key, value in row.items()
    )


def cells(rows: list[dict[str, object]]) -> list[dict[str, str]]:
    """The rows of a CSV file as it is exported today, read back."""
    return list(csv.DictReader(io.StringIO(as_csv(rows), newline="")))


@pytest.mark.parametrize("name", ["fill_mask", "next_sentence", "attention", "saliency", "search", "tokenization"])
def test_an_exported_program_prints_the_rows_exported_with_it(
    old: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = old / "exports" / f"{name}.py"
    code = program.read_text("utf-8").replace("'CHECKPOINT'", repr(str(old / "checkpoint")))
    program.write_text(code.replace("Library(settings)", "Library(settings, anywhere=True)"), "utf-8")
    monkeypatch.chdir(ROOT)
    monkeypatch.setitem(os.environ, "BERTEXPLORER_DATA", str(old / "data"))
    runpy.run_path(str(program))
    printed = [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines()]
    rows = json.loads((old / "exports" / f"{name}.json").read_text("utf-8"))["rows"]
    assert len(printed) == len(rows) or name == "attention", "attention's rows hold the whole grid since 0.2"
    assert all(any(near(row, new) for new in printed) for row in rows)
    with (old / "exports" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert table and table == cells(rows)
    assert table[0].keys() <= cells(printed)[0].keys()


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def test_every_command_still_accepts_its_flags(old: Path) -> None:
    chosen = make_parser()._subparsers
    assert chosen
    parsers = dict(chosen._group_actions[0].choices or {})
    parsers |= {"train": finetuning.parser(), "pretrain": pretraining.parser()}
    taken = json.loads((old / "commands.json").read_text("utf-8"))
    missing = {name: set(before) - flags(parsers[name]) for name, before in taken.items()}
    assert {name for name, gone in missing.items() if gone} == set()


def understood(arguments: list[str]) -> dict[str, Any]:
    """The parsed values of a command line, with its settings as built; "set NAME" is a setting of a task."""
    command, *rest = arguments
    if command == "train":
        given, groups = finetuning.parser().parse_args(rest), (Tuning,)
    elif command == "pretrain":
        given, groups = pretraining.parser().parse_args(rest), tuple(GROUPS.values())
    else:
        given = make_parser().parse_args(arguments)
        groups = (given.view.analysis.Options,) if "view" in given else ()
    values = dict(vars(given))
    if "pick" in values:  # once a word, now a list of words
        values["pick"] = " ".join(values["pick"])
    for group in groups:
        named = {
            spec.name: chosen(spec, values[spec.name]) for spec in option_specs(group) if values[spec.name] is not None
        }
        values |= asdict(build(group, named))
    if values.get("set"):
        of_task = asdict(build(BY_NAME[given.task].options, finetuning.parse_pairs(given.set, "--set")))
        values |= {f"set {name}": value for name, value in of_task.items()}
    return values


NEW_DEFAULTS = {"pooling": ("mean", "own")}  # own is the mean, unless the checkpoint's files name another pooling


def test_a_command_line_keeps_its_meaning(old: Path) -> None:
    lines = json.loads((old / "command_lines.json").read_text("utf-8"))
    assert {line["arguments"][0] for line in lines} == json.loads((old / "commands.json").read_text("utf-8")).keys()
    for line in lines:
        values = understood(line["arguments"])
        pairs = {name: (before, values.get(name)) for name, before in line["values"].items()}
        differing = {
            name: pair for name, pair in pairs.items() if pair[0] != pair[1] and pair != NEW_DEFAULTS.get(name)
        }
        assert differing == {}, line["arguments"]


def test_every_variable_still_changes_its_setting(old: Path) -> None:
    env = {name: str(number) for number, name in enumerate(json.loads((old / "variables.json").read_text("utf-8")), 60)}
    env |= {"BERTEXPLORER_CODE": "robin-2026", "BERTEXPLORER_LOG": "debug", "BERTEXPLORER_METRICS": "public"}
    before, settings = asdict(Settings()), asdict(Settings.from_env(env))
    changed = {
        f"BERTEXPLORER_{field.removesuffix('_dir').upper()}": str(value)
        for field, value in settings.items()
        if value != before[field]
    }
    assert changed.keys() == env.keys() - OBSOLETE.keys()
    assert {name: value for name, value in changed.items() if env[name] not in value} == {}
