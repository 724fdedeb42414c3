"""The command line: the answers on stdout; errors in a sentence on stderr, with exit code 2."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bertexplorer.analysis import ANALYSES, FIRST
from bertexplorer.cli import main, make_parser
from bertexplorer.options import option_specs
from bertexplorer.result import as_table
from bertexplorer.store.catalogue import CATALOGUE
from bertexplorer.training.checkpointing import commit
from tests.conftest import ROOT

FRANCE = "Paris is the [MASK] of France."
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Arguments -> (exit code, stdout, stderr), in this process."""
    monkeypatch.setattr(os, "environ", dict(os.environ))

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as stop:  # argparse exits on its own errors
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_fill_mask_prints_the_answers(run: Run) -> None:
    code, out, err = run("fill-mask", FRANCE, "--top", "3", "--words", "heart", "--precision", "fp32")
    lines = out.splitlines()
    assert code == 0 and err == ""
    assert lines[0].split() == [
        *("mask", "position", "entropy_bits", "kind", "rank", "token", "probability", "log_probability")
    ]
    assert len(lines) == 5 and "capital" in "".join(lines[1:4]) and "heart" in lines[4]
    assert all(line == line.rstrip() for line in lines)


def test_json_holds_the_question_the_rows_and_their_provenance(run: Run) -> None:
    code, out, _ = run("fill-mask", FRANCE, "It is.", "--json", "--top", "2", "--precision", "fp32")
    whole = json.loads(out)
    assert code == 0 and whole["text"] == {"first": FRANCE, "second": "It is.", "hidden": [], "picked": []}
    assert whole["options"] == {"top": 2, "words": ""} and len(whole["rows"]) == 2
    assert whole["provenance"]["checkpoint"] == "mini"


def test_words_are_picked_and_lines_are_read_from_a_file(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("nearest-pieces", "A cat sat on a mat.", "--pick", "Cat", "--count", "2")
    assert code == 0 and len(out.splitlines()) == 3 and all(line.startswith("cat ") for line in out.splitlines()[1:])
    code, _, err = run("nearest-pieces", "A cat sat.", "--pick", "dog")
    assert code == 2 and "'dog' does not occur in the text" in err
    file = tmp_path / "lines.csv"
    file.write_text("text;label\nA dog barked.;animal\nBread and cheese.;food\n", "latin-1")
    code, out, err = run("search", "The puppy was loud.", "--lines", str(file), "--json")
    results = json.loads(out)["rows"]
    assert code == 0 and "2 lines from lines.csv" in err
    assert [row["text"] for row in results] == ["A dog barked.", "Bread and cheese."]
    code, _, err = run("search", "x", "--lines", str(tmp_path / "none.csv"))
    assert code == 2 and "none.csv cannot be read" in err


def test_json_names_the_file_of_the_rows(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("good,bad\nThe cat sits.,The cat sit.\nThe cats sit.,The cats sits.\n", "utf-8")
    code, out, err = run("suite", "--checkpoint", "tiny", "--rows", str(file), "--json")
    options = json.loads(out)["options"]
    assert code == 0 and options["rows"] == str(file) and "suite" not in options
    header, row = err.splitlines()[-2:]
    score = json.loads(out)["summary"][0]
    assert header.split() == list(score) and row.split()[:3] == ["all", "2", f"{score['right']:.4g}"]


def test_a_suite_takes_several_checkpoints(run: Run, tmp_path: Path) -> None:
    checkpoints = ("--checkpoint", "tiny", "--checkpoint", "tiny@0")
    code, out, err = run("suite", "agreement", "--most", "20", *checkpoints)
    assert code == 0 and "On the same 20 pairs the difference is" in err and "p_holm" in err
    code, whole, _ = run("suite", "agreement", "--most", "20", *checkpoints, "--json")
    differ = json.loads(whole)["differences"]
    assert code == 0 and len(out.splitlines()) == 1 + len(differ) > 1
    assert {row["side"] for row in json.loads(whole)["sides"]} == {"tiny", "tiny@0"}
    code, _, err = run("suite", *checkpoints, "--out", str(tmp_path / "both"))
    assert code == 2 and "--out scores one checkpoint; 2 were given" in err


def test_a_checkpoint_is_opened_by_its_relative_path(
    run: Run, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny("roberta")
    monkeypatch.chdir(folder.parent)
    for name in ("roberta", "./roberta", str(folder)):
        code, out, err = run("fill-mask", "paris is the ___", "--top", "2", "--checkpoint", name)
        assert (code, len(out.splitlines()), err) == (0, 3, "")


def test_finished_runs_are_listed_and_opened(run: Run, tiny: Callable[[str], Path], tmp_path: Path) -> None:
    os.environ["BERTEXPLORER_DATA"] = str(tmp_path)
    folder = tmp_path / "runs" / ("ab" * 16)
    commit(folder / "best", "step-1", lambda into: shutil.copytree(tiny("bert-mlm"), into, dirs_exist_ok=True) and None)
    (folder / "name").write_text("my films")
    _, out, _ = run("checkpoints")
    (line,) = [line for line in out.splitlines() if "my films" in line]
    assert line.split()[0] == f"run:{folder.name}"
    code, out, err = run("fill-mask", "paris is the ___", "--top", "2", "--checkpoint", line.split()[0])
    assert (code, len(out.splitlines()), err) == (0, 3, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fill-mask", "No blank here."),
        ("next-sentence", "One sentence."),
        ("search", "x", "--lines", "EMPTY"),
        ("train", "--task", "classification", "--data", "EMPTY"),
        ("train", "--task", "classification", "--data", "ODD"),
        ("train", "--task", "classification", "--data", "ONE"),
    ],
)
def test_errors_do_not_mention_the_page(run: Run, arguments: tuple[str, ...], tmp_path: Path) -> None:
    files = {"EMPTY": "\n", "ODD": "a,b\n1,2\n3,4\n5,6\n", "ONE": "text,label\nsome words,x\nmore words,x\n"}
    for name, content in files.items():
        (tmp_path / f"{name}.csv").write_text(content)
    code, _, err = run(
        *(str(tmp_path / f"{argument}.csv") if argument in files else argument for argument in arguments)
    )
    message = err.splitlines()[-1]
    assert code == 2 and message.startswith("bertexplorer: ")
    assert not re.search(r"(?i)\b(press|click|upload|page|button|choose (one|another))\b", message)


def test_notes_go_to_stderr(run: Run) -> None:
    code, out, err = run("fill-mask", "The \u200b🤖 [MASK]", "--top", "1")
    assert code == 0 and len(out.splitlines()) == 2
    assert "note: 1 invisible character removed." in err and "🤖" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fill-mask", FRANCE, "--checkpoint", "/no/such"], "/no/such"),
        (["fill-mask", FRANCE, "--checkpoint", "a/b/c"], "not a checkpoint name"),
        (["fill-mask", FRANCE, "--checkpoint", "x" * 300], "cannot be opened"),
        (["fill-mask", FRANCE, "--checkpoint", "~nobody-of-that-name/x"], "cannot be opened"),
        (["fill-mask", FRANCE, "--checkpoint", "/etc"], "No config.json in /etc"),
        (["fill-mask", FRANCE, "--checkpoint", "google/none"], "HF_HUB_OFFLINE is set, so google/none"),
        (["fill-mask", "No mask."], "Nothing is hidden"),
        (["fill-mask", ""], "The text is empty"),
        (["fill-mask", FRANCE, "--top", "1000"], "Answers: got 1000; wanted a whole number from 1 to 100"),
        (["fill-mask", FRANCE, "--top", "many"], "Answers: got 'many'"),
        (["fill-mask", FRANCE, "--precision", "fp8"], "invalid choice: 'fp8'"),
        (["contrast", FRANCE], "second sentence is missing"),
        (["template", FRANCE], "no alternatives"),
        (["pseudo-likelihood", "a", "--hide", "nothing"], "invalid choice: 'nothing'"),
        (["no-such-analysis", "a"], "invalid choice"),
        (["train", "runs/a", "--epochs", "9", "--max-tokens", "64"], "Omit --epochs, --max-tokens, or start a new run"),
        (["train", "runs/a", "--trial", "--checkpoint", "tiny"], "Omit --checkpoint, or"),
        (["train", "runs/a", "--strict", "--name", "b"], "Omit --name, --strict, or"),
        ([], "required: command"),
    ],
)
def test_invalid_arguments_are_errors(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2 and out == ""
    assert message in err and "Traceback" not in err
    if "usage:" not in err:
        assert err.startswith("bertexplorer: ") and err.count("\n") == 1


def test_an_invalid_variable_is_an_error(run: Run) -> None:
    os.environ["BERTEXPLORER_PORT"] = "many"
    assert run("checkpoints") == (
        2,
        "",
        "bertexplorer: BERTEXPLORER_PORT is 'many'; wanted a whole number, 65,535 at most.\n",
    )


def test_the_list_of_checkpoints_includes_the_models_folder(run: Run, tiny: Callable[[str], Path]) -> None:
    os.environ["BERTEXPLORER_MODELS"] = str(tiny("bert").parent)
    code, out, _ = run("checkpoints")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert code == 0 and {entry.name for entry in CATALOGUE} <= set(lines)
    assert lines["mini"].endswith("yes") and lines["bert"].endswith("yes")
    assert "22.9 M" in lines["mini"] and "apache-2.0" in lines["mini"]


def test_every_analysis_has_a_command_with_its_settings_as_flags() -> None:
    (commands,) = (a.choices for a in make_parser()._actions if isinstance(a.choices, dict))
    names = {module.__name__.rpartition(".")[2].replace("_", "-") for module in ANALYSES}
    assert set(commands) == {"checkpoints", "cluster", "lesson", "mcp", "serve", "train", "pretrain"} | names
    for module in ANALYSES:
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        flags = {flag: action for action in commands[name]._actions for flag in action.option_strings}
        flags |= {f"--{FIRST[name]}": item for item in commands[name]._actions if item.dest == FIRST.get(name)}
        for setting in option_specs(module.Options):
            action = flags["--" + setting.name.replace("_", "-")]
            assert action.default == setting.default and tuple(action.choices or ()) == setting.choices
            assert setting.option.label in (action.help or "")
        assert {"--checkpoint", "--precision", "--json"} <= set(flags)


@pytest.mark.parametrize(
    "arguments",
    [
        ["decoding", "The [MASK] [MASK].", "--beam-width", "2"],
        ["pseudo-likelihood", "The cat sat.", "--hide", "the rest of its word too"],
        ["contrast", FRANCE, "--other", "Berlin is the [MASK] of Germany."],
        ["left-context", FRANCE],
        ["template", "The {doctor|nurse} said [MASK] is busy.", "--words", "he, she"],
    ],
    ids=lambda a: a[0],
)
def test_every_analysis_runs(run: Run, arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert code == 0 and len(out.splitlines()) > 2 and err == ""


def test_every_command_has_help(run: Run) -> None:
    for command in ([], ["checkpoints"], *([m.__name__.rpartition(".")[2].replace("_", "-")] for m in ANALYSES)):
        code, out, _ = run(*command, "--help")
        assert code == 0 and "usage: python -m bertexplorer" in out


@pytest.mark.parametrize("command", ["train", "pretrain", "cluster"])
def test_commands_with_their_own_parsers_have_help(run: Run, command: str) -> None:
    code, out, err = run(command, "--help")
    assert code == 0 and out.startswith("usage: ") and f"bertexplorer {command} [-h]" in out and not err


def test_help_describes_each_setting(run: Run) -> None:
    help = " ".join(run("fill-mask", "--help")[1].split())
    assert "--words WORDS Look up words: separated by commas (default: '')" in help


def test_rows_are_aligned_in_a_table() -> None:
    assert as_table([]) == "no rows"
    assert as_table([{"a": 0.123456, "bb": "x"}, {"a": 12, "bb": ""}]) == "a       bb\n0.1235  x\n12"


@pytest.mark.slow
def test_a_closed_pipe_ends_the_program_silently() -> None:
    command = [sys.executable, "-m", "bertexplorer", "contrast", FRANCE, "--other", FRANCE]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline().split()[0] == "token"
    child.stdout.close()
    assert child.stderr.read() == "" and child.wait(30) == 0
    child.stderr.close()
