"""A task's name occurs only in its own files: others ask what it can do."""

import ast

import pytest

from bertexplorer.runs.learning import is_share
from bertexplorer.training.task import AnyTask
from bertexplorer.training.tasks import BY_NAME
from tests.conftest import ROOT

PACKAGE = ROOT / "bertexplorer"
OWN = ("training/tasks/", "training/learners/")
ELSEWHERE = {  # file -> names that occur there all the same
    "answers/task_head.py": {
        "adaptation",
        "next-word",
        "question-answering",
        "reranking",
        "retrieval",
    },  # in task.json
    "api/runs.py": {"classification"},  # an example in the documentation
}
WORDS = {"similarity", "summary", "sequence"}  # of other things too: an answer, a key of JSON, a head


@pytest.mark.parametrize("task", BY_NAME.values(), ids=lambda task: task.name)
def test_each_task_has_built_in_rows(task: AnyTask) -> None:
    files = list((ROOT / "assets" / "data").glob(f"{task.built_in_rows}.*"))
    assert len(files) == 1, "Train and its examples show them; see CONTRIBUTING.md"


@pytest.mark.parametrize("task", BY_NAME.values(), ids=lambda task: task.name)
def test_a_metric_in_per_cent_is_a_metric_and_no_loss(task: AnyTask) -> None:
    assert task.metric in task.metrics and set(task.per_cent) <= set(task.metrics)
    assert not any("loss" in metric or "perplexity" in metric for metric in task.per_cent)
    assert set(filter(is_share, task.metrics)) == set(task.per_cent)


def test_the_name_of_a_task_occurs_only_in_its_own_files() -> None:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        where = path.relative_to(PACKAGE).as_posix()
        if where.startswith(OWN):
            continue
        texts = {n.value for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Constant)}
        names = {text for text in texts if isinstance(text, str) and text in BY_NAME}
        if names - WORDS:
            found[where] = names - WORDS
    assert found == ELSEWHERE
