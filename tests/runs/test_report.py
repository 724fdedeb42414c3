"""Reports: comparisons of seeds and of runs of one task, results, advice; and the exported files."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.runs import export, report
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.service import RunDetail
from bertexplorer.store import uploads
from bertexplorer.training.tasks import classification

EVIL = "</script><img src=x onerror=1>"


class Service:
    """Runs that have ended, without a server."""

    def __init__(self, details: list[RunDetail], rows: dict[str, list[dict[str, Any]]]) -> None:
        self.details, self.rows = {detail.run.id: detail for detail in details}, rows
        self.jobs = self

    def runs(self, owner: str) -> list[Run]:
        return [detail.run for detail in self.details.values()]

    def detail(self, id: str, owner: str) -> RunDetail:
        return self.details[id]

    def predictions(self, detail: RunDetail) -> list[dict[str, Any]]:
        return self.rows.get(detail.run.id, [])


def ended(id: str, values: list[float], group: str = "g", seed: int = 0, **more: Any) -> RunDetail:
    spec = {"task": "classification", "tuning": {"seed": seed, **more}, "options": {}, "data": {}}
    events: list[dict[str, Any]] = [{"event": "ready", "floors": {"accuracy": {"name": "always “x”", "value": 0.5}}}]
    events += [{"event": "evaluated", "epoch": i, "metrics": {"accuracy": v}} for i, v in enumerate(values)]
    return RunDetail(Run(id, f"{EVIL} {id}", group=group, spec=spec, state="finished"), events, None, None)


def test_seeds_have_a_mean_and_failed_runs_are_named() -> None:
    details = [ended("a", [0.5, 0.9]), ended("b", [0.5, 0.5], seed=1), ended("c", [0.5, 0.8], "", seed=2)]
    service: Any = Service(details, {})
    found = report.seeds(service, details[0], "")
    assert found and found["title"] == "2 seeds" and "70.0 % ± 28.3 %" in found["said"] and len(found["rows"]) == 2
    assert "Collapsed" in found["said"] and found["said"].split("Collapsed")[1].split(". This")[0].endswith("b")
    assert report.seeds(service, details[2], "") is None
    assert [run.id for run in report.comparable(service, details[0].run, "")] == ["b", "c"]


def test_two_runs_are_compared_row_by_row() -> None:
    def rows(right: list[int]) -> list[dict[str, Any]]:
        return [{"line": i, "text": str(i), "gold": "x", "right": bool(value)} for i, value in enumerate(right)]

    details = [ended("a", [0.5, 0.5], rate=1), ended("b", [0.5, 1.0], rate=2), ended("c", [0.5, 1.0])]
    service: Any = Service(details, {"a": rows([1, 0] * 50), "b": rows([1] * 100)})
    found = report.side_by_side(service, details[0], details[1:])
    said = " ".join(found["said"])
    assert "50.0 % and 100.0 %" in said and "better on 50 of 100 rows and worse on 0" in said
    assert "p < 0.001, more than chance" in said and "not tested on the same rows" in said
    assert "rate" in [row["setting"] for row in found["rows"]]


def test_correct_rows_are_not_listed_as_mistakes() -> None:
    right, wrong = {"text": "fine", "right": True, "loss": 0.6}, {"text": "amiss", "right": False, "loss": 0.9}
    found = report.wrong_answers([right, wrong])
    assert found and found["rows"] == [{"text": "amiss", "loss": 0.9}] and "1 of 2 rows" in found["title"]
    correct = report.wrong_answers([right])
    assert correct and "answered correctly" in correct["said"] and report.wrong_answers([]) is None
    neither = report.wrong_answers([{"text": "fine", "loss": 0.6}])
    assert neither and neither["rows"], "where nothing is right or wrong"


def test_a_finished_run_reports_the_interval_of_its_accuracy() -> None:
    about = {"step": 4, "metrics": {"accuracy": 5 / 6}, "tables": {}}
    spec = {"task": "classification", "data": {"dev": 6}}
    found = report.results(RunDetail(Run("a", spec=spec), [], about, None), classification.TASK.metrics)
    assert found and "43.6 % to 97.0 %" in found["said"]
    assert found["metrics"] == [{"metric": "Accuracy", "value": "83.3 %"}]
    without = RunDetail(Run("a", spec={"task": "classification"}), [], about, None)  # of an earlier version
    plain = report.results(without, classification.TASK.metrics)
    assert plain and plain["said"] == ""


@pytest.mark.parametrize(
    ("values", "steps", "state", "advised"),
    [
        ([0.5, 0.5], 6, "finished", (20, 40)),
        ([0.5, 0.4], 6, "finished", (20, 40)),
        ([0.5, 0.5], 60, "finished", (12, 240)),
        ([0.5, 0.9], 6, "finished", None),  # it learned
        ([0.5, 0.5], 600, "finished", None),  # more steps are not what it lacks
        ([0.5, 0.5], 6, "running", None),
        ([0.5], 6, "finished", None),
    ],
)
def test_a_short_run_that_learned_nothing_says_what_to_change(
    values: list[float], steps: int, state: str, advised: tuple[int, int] | None
) -> None:
    detail = ended("a", values, epochs=3.0)
    detail.events[0]["steps"] = steps
    detail = RunDetail(replace(detail.run, state=state), detail.events, None, None)
    found = report.advice(detail)
    if advised is None:
        assert found is None
    else:
        said = f"It learned nothing in {steps} steps. {advised[0]} epochs make about {advised[1]} steps."
        assert found == {"said": said, "settings": {"epochs": advised[0]}}


def test_the_zip_file_contains_the_checkpoint_of_its_owner(tmp_path: Path) -> None:
    (tmp_path / "step-1").mkdir()
    (tmp_path / "step-1" / "config.json").write_text("{}")
    detail = RunDetail(Run("a", f"../{EVIL}", spec={}), [], None, tmp_path / "step-1")
    file = export.write_zip(detail, tmp_path / "tmp", "a" * 32)
    assert file.parent.parent == tmp_path / "tmp" and "<" not in file.name and ".." not in file.name
    assert uploads.find(tmp_path / "tmp", file.parent.name, "a" * 32) == file
    with pytest.raises(ExplorerError, match="no file"):
        uploads.find(tmp_path / "tmp", file.parent.name, "b" * 32)
    assert zipfile.ZipFile(file).namelist() == ["config.json"]
    with pytest.raises(ExplorerError, match="has no checkpoint"):
        export.write_zip(RunDetail(Run("a"), [], None, None), tmp_path, "")
    with pytest.raises(ExplorerError, match="wanted OWNER/NAME"):
        export.upload(detail, EVIL.replace("/", ""), "hf_x")
    with pytest.raises(ExplorerError, match="token with write access"):
        export.upload(detail, "anna/reviews", " ")
    with pytest.raises(ExplorerError, match="could not be uploaded"):
        export.upload(detail, "anna/reviews", "hf_x")


OLD_CARD = "# Films\n\n## Data\n\nfile: a.csv\n\nRows to try on:\n\n- text: my secret\n\n## On the rows to try on\n"


@pytest.mark.parametrize("rows", [False, True])
def test_rows_are_exported_only_on_request(rows: bool, tmp_path: Path) -> None:
    """From a folder of an earlier version, whose card quotes rows."""
    best = tmp_path / "best" / "step-1"
    best.mkdir(parents=True)
    for name, text in {
        "README.md": OLD_CARD,
        "predictions.jsonl": '{"text": "my secret"}\n',
        "config.json": "{}",
    }.items():
        (best / name).write_text(text)
    detail = RunDetail(Run("a", "films", spec={}), [], None, best)
    archive = zipfile.ZipFile(export.write_zip(detail, tmp_path / "tmp", "a" * 32, with_rows=rows))
    text = "".join(archive.read(name).decode() for name in archive.namelist())
    assert ("my secret" in text) == rows and "## On the rows to try on" in text
    assert text.count("- text: my secret") == rows and ("predictions.jsonl" in archive.namelist()) == rows


def test_a_cell_of_words_opens_the_sentences_with_them() -> None:
    row = {"gold": "a (PER)", "predicted": "", "gold_tags": ["B-PER", "O"], "predicted_tags": ["O", "O"]}
    assert report.in_cell(row, "PER", "O") and report.in_cell(row, "O", "O") and not report.in_cell(row, "O", "PER")
    assert report.in_cell({"gold": "x", "predicted": "y"}, "x", "y")
