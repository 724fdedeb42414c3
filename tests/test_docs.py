"""The generated documentation: it covers every public name and every command."""

import re
from pathlib import Path
from typing import Any

import pytest

import bertexplorer as bx
from bertexplorer.cli import main, make_parser
from bertexplorer.views import VIEWS, view_of
from tests.conftest import ROOT

pytest.importorskip("mkdocs")

from docs import hooks


def commands() -> dict[str, Any]:
    """The commands listed by --help."""
    chosen = make_parser()._subparsers
    assert chosen
    return dict(chosen._group_actions[0].choices or {})


def test_every_command_is_documented_and_fill_mask_represents_those_for_texts() -> None:
    plain = {name.replace("_", "-") for name in VIEWS.names if not view_of(name).first}
    assert sorted(hooks.COMMANDS) == sorted({*(commands().keys() - plain), "fill-mask"})


def test_every_public_name_is_documented() -> None:
    assert sorted([*hooks.PUBLIC, *VIEWS.names, "__version__"]) == sorted(dir(bx))


def test_the_table_of_the_readme_has_every_view_in_the_order_of_the_page() -> None:
    table = (ROOT / "README.md").read_text("utf-8").partition("| topic | views |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [line.split(" | ", 1) for line in table.splitlines()]
    listed = {topic.removeprefix("| "): re.findall(r"\*\*(.+?)\*\*", views) for topic, views in rows}
    topics = dict.fromkeys(view.topic for view in VIEWS.values())
    assert listed == {topic: [view.title for view in VIEWS.values() if view.topic == topic] for topic in topics}
    assert list(listed) == list(topics)


def test_the_views_of_the_documentation_have_pictures_where_they_are_ours() -> None:
    files = {file.stem for file in (ROOT / "assets" / "views").glob("*.png")}
    assert files == set(VIEWS), "`python -m tests.browser.pictures ADDRESS my-view` takes one"


@pytest.mark.parametrize("file", ["CONTRIBUTING.md", "docs/python.md"])
def test_the_package_that_the_documentation_shows_is_the_one_that_tests_use(file: str) -> None:
    shown = re.search(r"```toml\n(.*?)```", (ROOT / file).read_text("utf-8"), re.DOTALL)
    assert shown and shown[1] == (ROOT / "tests" / "added" / "pyproject.toml").read_text("utf-8")


def test_a_section_lists_the_papers_missing_from_its_text() -> None:
    assert "Papers: Devlin et al., 2019, BERT" in hooks.section(VIEWS["fill-mask"])
    further = hooks.section(VIEWS["counterfactuals"])
    assert "Further papers: Garg and Ramakrishnan, 2020, BAE" in further and "HotFlip" in "".join(further)
    assert "apers: " not in "".join(hooks.section(VIEWS["bertviz"]))


def test_the_reference_writes_types_like_the_code() -> None:
    assert "ExplorerError(message: str = '', hint: Hint | None = None, *, code: str = '')\n" in (
        written := hooks.reference()
    )
    assert "<class" not in written


def test_the_lesson_of_the_documentation_passes_its_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = re.search(r"````markdown\n(.*?)````", (ROOT / "docs" / "lessons.md").read_text("utf-8"), re.DOTALL)
    assert example
    (tmp_path / "a-lesson.md").write_text(example[1], "utf-8")
    assert main(["lesson", "check", str(tmp_path / "a-lesson.md")]) == 0, capsys.readouterr().out
