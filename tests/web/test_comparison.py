"""Comparisons of seeds and of runs of one task, and the exported files."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.runs import export
from bertexplorer.runs.service import RunDetail
from bertexplorer.store import uploads
from bertexplorer.store.runs import Run
from bertexplorer.training.tasks import classification
from bertexplorer.web.training import comparison, html

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
    service = Service(details, {})
    message = comparison.summary(service, details[0], "")  # type: ignore[arg-type]
    assert "2 seeds" in message and "70.0 % ± 28.3 %" in message and "<img" not in message
    assert "Collapsed" in message and message.split("Collapsed")[1].split(". This")[0].rstrip().endswith("b")
    assert comparison.summary(service, details[2], "") == ""  # type: ignore[arg-type]
    assert comparison.seeds(service, details[0].run, "") == ["b"]  # type: ignore[arg-type]
    assert [id for _, id in comparison.choices(service, details[0].run, "")] == ["b", "c"]  # type: ignore[arg-type]


def test_two_runs_are_compared_row_by_row() -> None:
    def rows(right: list[int]) -> list[dict[str, Any]]:
        return [{"line": i, "text": str(i), "gold": "x", "right": bool(value)} for i, value in enumerate(right)]

    details = [ended("a", [0.5, 0.5], rate=1), ended("b", [0.5, 1.0], rate=2), ended("c", [0.5, 1.0])]
    service = Service(details, {"a": rows([1, 0] * 50), "b": rows([1] * 100)})
    message = comparison.side_by_side(service, details[0], details[1:])  # type: ignore[arg-type]
    assert "50.0 % and 100.0 %" in message and "better on 50 of 100 rows and worse on 0" in message
    assert "p &lt; 0.001, more than chance" in message and "not tested on the same rows" in message
    assert '<td dir="auto">rate</td>' in message and "<img" not in message
    assert comparison.side_by_side(service, details[0], []) == ""  # type: ignore[arg-type]


def test_correct_rows_are_not_listed_as_mistakes() -> None:
    right, wrong = {"text": "fine", "right": True, "loss": 0.6}, {"text": "amiss", "right": False, "loss": 0.9}
    message = html.wrong_answers([right, wrong])
    assert "amiss" in message and "fine" not in message and "1 of 2 rows" in message
    assert "answered correctly" in html.wrong_answers([right]) and not html.wrong_answers([])
    assert "fine" in html.wrong_answers([{"text": "fine", "loss": 0.6}]), "where nothing is right or wrong"


def test_a_finished_run_reports_the_interval_of_its_accuracy() -> None:
    about = {"step": 4, "metrics": {"accuracy": 5 / 6}, "tables": {}}
    spec = {"task": "classification", "data": {"dev": 6}}
    message = html.results(RunDetail(Run("a", spec=spec), [], about, None), classification.METRICS)
    assert "43.6 % to 97.0 %" in message
    without = RunDetail(Run("a", spec={"task": "classification"}), [], about, None)  # of an earlier version
    assert "Wilson" not in html.results(without, classification.METRICS)


def test_the_zip_file_contains_the_checkpoint_of_its_owner(tmp_path: Path) -> None:
    (tmp_path / "step-1").mkdir()
    (tmp_path / "step-1" / "config.json").write_text("{}")
    detail = RunDetail(Run("a", f"../{EVIL}", spec={}), [], None, tmp_path / "step-1")
    file = export.write_zip(detail, tmp_path / "tmp", "a" * 32)
    assert file.parent.parent == tmp_path / "tmp" and "<" not in file.name and ".." not in file.name
    assert uploads.is_owner(file, tmp_path / "tmp", "a" * 32) and not uploads.is_owner(file, tmp_path / "tmp", "b" * 32)
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


def test_a_question_without_an_answer_is_marked() -> None:
    markup = html.table([{"question": "Who?", "gold": "", "predicted": "Ann"}])
    assert '<td dir="auto">no answer</td>' in markup and markup.count("no answer") == 1
    assert "no answer" not in html.table([{"text": "no names here", "gold": "", "predicted": ""}])


def test_a_cell_of_words_opens_the_sentences_with_them() -> None:
    row = {"gold": "a (PER)", "predicted": "", "gold_tags": ["B-PER", "O"], "predicted_tags": ["O", "O"]}
    assert html.in_cell(row, "PER", "O") and html.in_cell(row, "O", "O") and not html.in_cell(row, "O", "PER")
    assert html.in_cell({"gold": "x", "predicted": "y"}, "x", "y")
