"""Hand-ins are graded from the lesson, whatever a file says; a file that cannot be used is named."""

import csv
import html
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.cli import main
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.learn import collect
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue
from bertexplorer.learn.lesson import read_lesson
from bertexplorer.learn.translation import translate
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry

CATALOGUE = LessonCatalogue((BUNDLED,))
LESSON = CATALOGUE.lesson("next-sentence")
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(CheckpointRegistry())


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, given: Mapping[str, Any], **more: Any) -> Path:
        about = {"lesson": LESSON.slug, "version": LESSON.version, "checkpoint": "", "student": name, "saved": "now"}
        data = html.escape(json.dumps(about | {"answers": given} | more))
        (tmp_path / f"{name}.html").write_text(
            f'<html><head><meta name="{collect.META}" content="{data}"></head><body>Right.</body></html>', "utf-8"
        )
        return tmp_path / f"{name}.html"

    return written


def rows_of(answerer: Answerer, *paths: Path) -> list[dict[str, object]]:
    return list(collect.collect(answerer, CATALOGUE, paths, opening(Settings())))


def test_answers_are_graded_from_the_lesson(answerer: Answerer, write: Write) -> None:
    key = next(i for i, block in enumerate(LESSON.questions) if block.kind == "predict")
    predict = LESSON.questions[key]
    marks = {}
    for choice in range(len(predict.items)):
        # the file calls itself right, which counts for nothing
        [row] = rows_of(answerer, write("ada", {predict.id: {"answer": choice, "attempt": 1, "right": True}}))
        marks[choice] = row[f"next-sentence/{predict.id}"]
        assert row["student"] == "ada" and row["problem"] == "" and row["right"] == marks[choice]
    assert sorted(marks.values()) == [0] * (len(marks) - 1) + [1]
    unanswered = [name for name, mark in row.items() if str(name).startswith("next-sentence/") and mark == ""]
    assert len(unanswered) == len(LESSON.questions) - 1


def test_a_find_is_graded_by_the_view_that_was_left(answerer: Answerer, write: Write) -> None:
    [find] = [block for block in LESSON.questions if block.kind == "find"]
    column = f"next-sentence/{find.id}"
    text, _, pair = find.fields["example"].partition(" | ")
    works = f"/?view=next-sentence&text={text}&pair={pair}"
    fails = find.link
    graded = [rows_of(answerer, write("b", {find.id: {"answer": None, "link": link}}))[0] for link in (works, fails)]
    assert [row[column] for row in graded] == [1, 0]
    [elsewhere] = rows_of(answerer, write("c", {find.id: {"answer": None, "link": "/?view=layers&text=a+[MASK]"}}))
    assert elsewhere[column] == "" and "shows the view layers; wanted next-sentence" in str(elsewhere["problem"])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"version": "older"}, "made from another version of the lesson"),
        ({"lesson": "no-such-lesson"}, "There is no lesson"),
        ({"lesson": 3}, "its answers cannot be read"),
        ({"answers": [1]}, "its answers cannot be read"),
        ({"answers": {"nonsense": {"answer": 1}}}, "answers to unknown questions: nonsense"),
        ({"checkpoint": "no/such"}, "no/such"),
    ],
)
def test_a_file_of_another_lesson_or_version_is_named(
    more: dict[str, Any], words: str, answerer: Answerer, write: Write
) -> None:
    [row] = rows_of(answerer, write("d", {LESSON.questions[0].id: {"answer": 0}}, **more))
    assert words in str(row["problem"]) and row["file"] == "d.html"


def test_files_without_answers_are_named(answerer: Answerer, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>hello</p>")
    (tmp_path / "b.html").write_bytes(b"\xff\xfe")
    (tmp_path / "c.html").write_text(f'<meta name="{collect.META}" content="{"[" * 5000}">')
    problems = [str(row["problem"]) for row in rows_of(answerer, *sorted(tmp_path.glob("*.html")))]
    assert all(
        part in problem for part, problem in zip(("no answers", "UTF-8", "cannot be read"), problems, strict=True)
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_broken_file_is_named_and_the_others_are_graded(
    answerer: Answerer, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = {LESSON.questions[0].id: {"answer": 0}}
    good, strange = write("good", answer), write("strange", {LESSON.questions[0].id: {"answer": {"a": []}}})
    broken, pipe = tmp_path / "broken.html", tmp_path / "pipe.html"
    broken.write_text("<p><![x\n<p>", "utf-8")
    os.mkfifo(pipe)
    paths = (broken, pipe, tmp_path, Path("/dev/zero"), strange, good)
    rows = rows_of(answerer, *paths)
    problems = [str(row["problem"]) for row in rows]
    assert "it is not a page that can be read" in problems[0]
    assert all("wanted a file" in problem for problem in problems[1:4])
    assert [row["file"] for row in rows] == [path.name for path in paths]
    assert rows[-1]["of"] and not problems[-1]

    def fails(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(collect, "is_right", fails)
    [row] = rows_of(answerer, good)
    assert row["problem"] == "it cannot be graded (ZeroDivisionError); ask for the file again"


def test_the_version_is_that_of_what_counts_and_of_no_language() -> None:
    english, german = ((BUNDLED / f"00-welcome{end}.md").read_text("utf-8") for end in ("", ".de"))
    lesson = read_lesson(english, "welcome")
    assert translate(lesson, german)[0].version == lesson.version
    other = read_lesson(english.replace("[x]", "[ ]", 1), "welcome")
    assert replace(lesson, about={}).version == lesson.version
    assert other.version != lesson.version


def test_the_command_writes_a_table_and_tells_the_problems(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("=1+1", {LESSON.questions[0].id: {"answer": 0, "attempt": 1}})
    (tmp_path / "empty.html").write_text("<p></p>")
    out = tmp_path / "grades.csv"
    assert main(["lesson", "collect", str(tmp_path), "-o", str(out)]) == 0
    printed = capsys.readouterr()
    assert "2 files in" in printed.out and "empty.html: it has no answers" in printed.err
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert [row["student"] for row in rows] == ["'=1+1", ""] and f"next-sentence/{LESSON.questions[0].id}" in rows[0]
    assert main(["lesson", "collect", str(tmp_path / "none"), "-o", str(out)]) == 2
    assert main(["lesson", "collect", str(tmp_path)]) == 2
