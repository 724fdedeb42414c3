"""Every command that the README and the documentation show runs, on files like those that it names."""

import html
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertexplorer.cli import main
from bertexplorer.learn import collect
from bertexplorer.learn.catalogue import BUNDLED
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

COMMAND = re.compile(r"^(?:python -m )?bertexplorer ([^\s@].*)$|`(?:python -m )?bertexplorer ([^`]+)`", re.MULTILINE)
ELSEWHERE = {  # commands that do not end by themselves or take long -> the tests that run them
    "serve": "tests/server",
    "site": "tests/browser/test_site.py",
    "mcp": "tests/api/test_tools.py",
    "cluster": "tests/cluster",
    "doctor": "tests/diagnosis",
    "train": "tests/runs",
    "export MODEL": "tests/model/test_onnx.py",
    "letters": "tests/test_added.py",  # of a package that brings a view
    "pretrain": "tests/training",
}
STAND_INS = {  # as written -> as run
    "[--checkpoint NAME]": "--checkpoint mini",
    "translate NAME": "translate three-vectors",
    "check FILE": "check 30-my-lesson.md",
    "NN-slug": "31-slug",
    "encode TEXTS": "encode texts.txt",
}
SENSES = [
    f"{text},bank,{sense}"
    for i in range(20)
    for text, sense in ((f"The bank of river {i} is green.", "river"), (f"The bank lends {i} pounds.", "money"))
]
FILES = {
    "pairs.csv": "good,bad\nThe cats sleep.,The cats sleeps.\nThe dog barks.,The dog bark.\n",
    "large.jsonl": '{"good": "The cats sleep.", "bad": "The cats sleeps."}\n' * 3,
    "texts.csv": "text,label\nThe cat sleeps.,calm\nThe dog barks.,loud\n",
    "matches.csv": "text_a,text_b,label\nThe cat sleeps.,A cat is asleep.,1\nThe cat sleeps.,A dog barks.,0\n" * 2,
    "labelled.csv": "text,label\nA lovely film.,positive\nA terrible film.,negative\n",
    "rows.jsonl": '{"query": "who sleeps", "passage": "The cat sleeps."}\n' * 2,
    "senses.csv": "\n".join(["text,word,label", *SENSES]),
}
HANDED_IN = {"lesson": "welcome", "version": "", "checkpoint": "", "student": "Ada", "saved": "now", "answers": {}}


def documented() -> Iterator[str]:
    """The commands, as they are written."""
    for file in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))):
        for match in COMMAND.finditer(file.read_text("utf-8")):
            yield " ".join((match[1] or match[2]).split())


def runs_here(command: str) -> bool:
    """Whether *command* ends within seconds, and needs no download."""
    return not f"{command} ".startswith(tuple(f"{name} " for name in ELSEWHERE)) and "--checkpoint tiny" not in command


COMMANDS = sorted(filter(runs_here, set(documented())))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    shutil.copy(BUNDLED / "02-three-vectors.md", "30-my-lesson.md")
    shutil.copy(BUNDLED / "20-attention.lecture.md", "50-my-course.lecture.md")
    shutil.copy(BUNDLED / "00-welcome.md", "31-slug.md")
    shutil.copy(BUNDLED / "00-welcome.de.md", "31-slug.de.md")
    Path("texts.txt").write_text("The cat sat.\nThe dog barked.\n", "utf-8")
    Path("FOLDER").mkdir()
    Path("FOLDER/ada.html").write_text(f'<meta name="{collect.META}" content="{html.escape(json.dumps(HANDED_IN))}">')
    for written, meant in STAND_INS.items():
        command = command.replace(written, meant)
    assert main(shlex.split(command, comments=True)) == 0, capsys.readouterr()
    assert "".join(capsys.readouterr())


def test_the_commands_are_found_and_the_others_are_run_elsewhere() -> None:
    assert {"suite pairs.csv", "lesson list", "probe word-order --checkpoint mini"} <= set(COMMANDS)
    assert all((ROOT / place).exists() for place in ELSEWHERE.values())
