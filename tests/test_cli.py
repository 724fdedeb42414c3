"""The command line: the answers on stdout; errors in a sentence on stderr, with exit code 2."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnxruntime
import pytest

import bertexplorer as bx
from bertexplorer.cli import main, make_parser, waiting
from bertexplorer.engine import progress
from bertexplorer.options import option_specs
from bertexplorer.python.result import as_table
from bertexplorer.runs import export
from bertexplorer.store.catalogue import CATALOGUE
from bertexplorer.training.checkpointing import commit
from bertexplorer.views import VIEWS
from tests.conftest import ROOT, Tiny
from tests.multi_vectors import write_multi_vector

FRANCE = "Paris is the [MASK] of France."
Run = Callable[..., tuple[int, str, str]]
OTHERS = {
    "checkpoints",
    "cluster",
    "doctor",
    "lesson",
    "mcp",
    "serve",
    "train",
    "pretrain",
    "encode",
    "export",
    "completion",
    "site",
}


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
    assert code == 0 and err.startswith("It would put “capital” with") and err.count("\n") == 1
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
    assert whole["provenance"]["checkpoint"] == "mini" and whole["notes"] == []
    assert whole["said"].startswith("It would put “capital” with")


def test_words_are_hidden_as_in_python(run: Run) -> None:
    hidden = json.loads(run("fill-mask", "Paris is the capital of France.", "--mask", "capital", "--json")[1])
    typed = bx.fill_mask("Paris is the capital of France.", mask="capital")
    assert hidden["rows"] == typed.rows and hidden["said"] == typed.said
    several = run("fill-mask", "a cat and a dog", "--mask", "cat", "--mask", "dog", "--json")[1]
    assert {row["mask"] for row in json.loads(several)["rows"]} == {1, 2}
    assert "'cow' does not occur" in run("fill-mask", "a cat", "--mask", "cow")[2]


def test_values_with_spaces_are_written_with_hyphens_or_as_before(run: Run) -> None:
    answers = [
        run("saliency", FRANCE, "--method", name, "--json")[1] for name in ("gradient-x-input", "gradient x input")
    ]
    assert answers[0] == answers[1] and json.loads(answers[0])["options"]["method"] == "gradient x input"
    assert "--pick" not in run("fill-mask", "--help")[1] and "--pick" in run("nearest-pieces", "--help")[1]
    assert run("fill-mask", FRANCE, "--pick", "france")[0] == 0, "a script of before"


def test_a_suite_and_a_probe_take_a_file_in_place_of_a_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("good,bad\nThe cat sits.,The cat sit.\n", "utf-8")
    as_flag, as_file = (run("suite", *given, "--checkpoint", "tiny") for given in (["--rows", str(file)], [str(file)]))
    assert as_flag == as_file and as_file[0] == 0
    labelled = tmp_path / "words.csv"
    labelled.write_text("text,label\n" + "".join(f"a {w} film {i},{w}\n" for i in range(30) for w in ("good", "bad")))
    code, out, err = run("probe", str(labelled), "--checkpoint", "tiny", "--json")
    assert code == 0 and json.loads(out)["options"]["rows"] == str(labelled), err
    code, _, err = run("suite", str(tmp_path / "none.csv"))
    assert code == 2 and "none.csv cannot be read: No such file" in err and "or name a built-in one" in err
    assert run("suite", "x" * 300)[0] == 2 and "Two files were given" in run("suite", str(file), "--rows", str(file))[2]
    (tmp_path / "agreement").write_text("not a suite")
    monkeypatch.chdir(tmp_path)
    assert run("suite", "agreement", "--checkpoint", "tiny", "--most", "5")[0] == 0, "a name is not a file"


def test_the_list_of_checkpoints_as_json(run: Run) -> None:
    listed = json.loads(run("checkpoints", "--json")[1])
    assert [entry["checkpoint"] for entry in listed][: len(CATALOGUE)] == [entry.name for entry in CATALOGUE]


def test_the_vectors_of_a_file_are_those_of_python(run: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "lines.txt", tmp_path / "vectors.npy"
    file.write_text("a cat\n\n the dog \n", "utf-8")
    code, _, err = run("encode", str(file), "-o", str(out), "--precision", "fp32")
    assert code == 0 and "1 empty line left out" in err and "2 vectors of 384 numbers" in err
    wanted = bx.load("mini", precision="fp32").encode(["a cat", "the dog"])
    vectors = np.load(out)
    assert vectors.dtype == np.float32 and np.array_equal(vectors, wanted)
    for content, words in ((b"\n", "has no text"), (b"\xff\xfe", "not UTF-8")):
        file.write_bytes(content)
        assert (
            run("encode", str(file), "-o", str(out))[0::2][0] == 2 and words in run("encode", str(file), "-o", "x")[2]
        )
    file.write_text("a\u2028b\n" + "cat " * 600, "utf-8")
    code, _, err = run("encode", str(file), "-o", str(out), "--pooling", "last-four-summed")
    assert code == 0 and len(np.load(out)) == 2, "a line ends at a newline alone"
    assert "note: 1 text is longer than" in err and "UserWarning" not in err
    assert "there is no folder" in run("encode", str(file), "-o", str(tmp_path / "no" / "v.npy"))[2]


def test_the_vectors_of_tokens_are_those_of_python(run: Run, tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "colbert"
    shutil.copytree(tiny("bert"), folder)
    write_multi_vector(folder)
    file, out = tmp_path / "lines.txt", tmp_path / "tokens.npz"
    file.write_text("a cat\nthe dog sat on the mat\n")
    code, _, err = run("encode", str(file), "-o", str(out), "--checkpoint", str(folder), "--tokens", "document")
    assert code == 0, err
    written = np.load(out)
    wanted = bx.load(folder).encode_tokens(["a cat", "the dog sat on the mat"], task="document")
    assert written["lengths"].tolist() == [len(one) for one in wanted]
    np.testing.assert_allclose(written["vectors"], np.concatenate(wanted), atol=1e-6)
    code, _, err = run("encode", str(file), "-o", str(out), "--tokens", "query")
    assert code == 2 and "not those of a ColBERT" in err


def write_run(source: Path, into: Path) -> None:
    """The best checkpoint of a run."""
    shutil.copytree(source, into, dirs_exist_ok=True)
    (into / "task.json").write_text(json.dumps({"task": "classification", "described": {"options": {}}}))
    (into / "predictions.jsonl").write_text("{}")


def failing(path: Path, *given: object, **more: object) -> None:
    """A disk that fills up while a file is written."""
    path.write_text("half")
    raise OSError(28, "full")


def test_a_run_is_exported_as_a_folder_or_a_zip(
    run: Run, tiny: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "films"
    commit(folder / "best", "step-1", lambda into: write_run(tiny("bert-classifier"), into))
    for name in ("out", "out.zip"):
        code, _, err = run("export", str(folder), "-o", str(tmp_path / name))
        assert code == 0, err
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"config.json", "model.safetensors", "task.json"} <= files and "predictions.jsonl" not in files
    assert {*ZipFile(tmp_path / "out.zip").namelist()} == files
    assert run("fill-mask", "a [MASK]", "--checkpoint", str(tmp_path / "out"))[0] in (0, 2)
    for given, words in (
        ([str(folder), "-o", str(tmp_path / "out")], "exists already"),
        ([str(tmp_path / "none"), "-o", "x"], "There is no run '/"),
        (["run:none", "-o", "x"], "There is no run 'run:none'"),
        (["", "-o", "x"], "There is no run ''"),
    ):
        code, _, err = run("export", *given)
        assert code == 2 and words in err
    assert run("export", str(folder), "-o", str(tmp_path / "films-v1.2"))[0] == 0
    monkeypatch.setattr(export, "zip_to", failing)
    code, _, err = run("export", str(folder), "-o", str(tmp_path / "full.zip"))
    assert code == 2 and "full.zip cannot be written: full" in err and not [*tmp_path.glob("*full*")]
    (folder / "best").rename(folder / "commits")
    assert "There is no run" in run("export", str(folder), "-o", str(tmp_path / "p.onnx"))[2]


def test_bash_completes_commands_flags_and_values(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(run("completion", "bash")[1])

    def completed(*words: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in words)
        asked = f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _bertexplorer"
        command = ["bash", "-c", f"{asked}; echo ${{COMPREPLY[@]}}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    assert completed("bertexplorer", "sal") == ["saliency"]
    assert completed("bertexplorer", "suite", "ag") == ["agreement"]
    assert completed("bertexplorer", "cluster", "ch") == ["check"]
    assert "gradient-x-input" in completed("bertexplorer", "saliency", "--method", "")
    assert completed("bertexplorer", "saliency", "--meth") == ["--method"]
    assert completed("bertexplorer", "train", "--task", "pair") == ["pair-classification"]
    assert "mini" in completed("bertexplorer", "fill-mask", "--checkpoint", "mi")
    assert run("completion", "zsh")[1].startswith("autoload -U +X bashcompinit")
    fish = run("completion", "fish")[1].splitlines()
    assert all(line.startswith("complete -c bertexplorer -n ") for line in fish)
    assert any("-l method -xa 'integrated-gradients" in line for line in fish)


def test_progress_is_told_to_a_person_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(waiting, "PATIENCE_S", 0.0)
    monkeypatch.setattr(waiting, "EVERY_S", 0.01)
    for stream, told in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with waiting.watched():
            progress.report(0, 100)
            progress.report(50, 100)
            time.sleep(0.1)
        assert ("50 %, about 0 s left" in stream.getvalue()) is told
        assert bool(stream.getvalue()) is told


@pytest.mark.slow
def test_a_run_is_exported_as_onnx(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    """In a process of its own, without the checks of types, which torch's tracing does not pass."""
    commit(tmp_path / "films" / "best", "step-1", lambda into: write_run(tiny("bert-classifier"), into))
    command = [sys.executable, "-m", "bertexplorer", "export", str(tmp_path / "films"), "-o", str(tmp_path / "a.onnx")]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    assert [output.name for output in session.get_outputs()]


@pytest.mark.slow
def test_an_interrupt_is_silent_at_any_moment() -> None:
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's background ignores it
    runs = "import runpy; print(flush=True); runpy.run_module('bertexplorer', run_name='__main__', alter_sys=True)"
    for seconds in (0.15, 0.3, 0.6, 1.0, 1.5):
        command = [sys.executable, "-c", f"{heard}; {runs}", "suite", "agreement"]
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline()  # Python itself has started
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        assert child.returncode in (130, -signal.SIGINT) and "Traceback" not in err, seconds


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
        assert (code, len(out.splitlines()), err.count("\n")) == (0, 3, 1)


def test_finished_runs_are_listed_and_opened(run: Run, tiny: Callable[[str], Path], tmp_path: Path) -> None:
    os.environ["BERTEXPLORER_DATA"] = str(tmp_path)
    folder = tmp_path / "runs" / ("ab" * 16)
    commit(folder / "best", "step-1", lambda into: shutil.copytree(tiny("bert-mlm"), into, dirs_exist_ok=True) and None)
    (folder / "name").write_text("my films")
    _, out, _ = run("checkpoints")
    (line,) = [line for line in out.splitlines() if "my films" in line]
    assert line.split()[0] == f"run:{folder.name}"
    code, out, err = run("fill-mask", "paris is the ___", "--top", "2", "--checkpoint", line.split()[0])
    assert (code, len(out.splitlines()), err.count("\n")) == (0, 3, 1)


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
        (["contrast", FRANCE], "other sentence is missing"),
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
    assert set(commands) == OTHERS | set(VIEWS)
    for name, view in VIEWS.items():
        flags = {flag: action for action in commands[name]._actions for flag in action.option_strings}
        flags |= {f"--{view.first}": item for item in commands[name]._actions if item.dest == view.first}
        for setting in option_specs(view.analysis.Options):
            action = flags["--" + setting.name.replace("_", "-")]
            choices = tuple(choice.replace(" ", "-") for choice in setting.choices)
            assert action.default == setting.default and tuple(action.choices or ()) == (
                () if setting.name == view.first else choices
            )
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
    assert code == 0 and len(out.splitlines()) > 2 and err.count("\n") == 1


def test_every_command_has_help(run: Run) -> None:
    for command in ([], ["checkpoints"], *([name] for name in VIEWS)):
        code, out, _ = run(*command, "--help")
        assert code == 0 and "usage: bertexplorer" in out


@pytest.mark.parametrize("command", ["train", "pretrain", "cluster"])
def test_commands_with_their_own_parsers_have_help(run: Run, command: str) -> None:
    code, out, err = run(command, "--help")
    assert code == 0 and out.startswith("usage: ") and f"bertexplorer {command} [-h]" in out and not err


def test_help_describes_each_setting(run: Run) -> None:
    help = " ".join(run("fill-mask", "--help")[1].split())
    assert "--words TEXT Look up words (separated by commas)" in help
    assert "--top N Answers, 1 to 100; default: 10" in help
    assert "bertexplorer fill-mask 'The capital of France is [MASK].'" in help


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
    assert child.stderr.read().startswith("More likely in the first") and child.wait(30) == 0
    child.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("fil-mask", FRANCE), "did you mean fill-mask?"),
        (("fill-mask", FRANCE, "--tpo", "5"), "did you mean --top?"),
        (("attention", FRANCE, "--show", "gird"), "did you mean grid?"),
    ],
)
def test_a_misspelt_word_is_answered_with_what_it_is_close_to(run: Run, arguments: tuple[str, ...], meant: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2 and meant in err and not out
    assert "did you mean" not in run("zzzzzz")[2]


def test_a_hyphen_reads_the_sentence_from_stdin(run: Run, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{FRANCE}\n"))
    assert run("fill-mask", "-", "--top", "1")[1] == run("fill-mask", FRANCE, "--top", "1")[1]


def test_a_terminal_shows_the_first_rows_and_says_how_many_follow(run: Run, monkeypatch) -> None:
    animal = "The animal was too tired because it ran."
    piped = run("attention", animal, "--pick", "it")[1].splitlines()
    assert len(piped) > 1000  # all of them
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, shown, err = run("attention", animal, "--pick", "it")
    assert len(shown.splitlines()) == 101 and f"{len(piped) - 101:,} more rows; --all prints them" in err
    assert len(run("attention", animal, "--pick", "it", "--all")[1].splitlines()) == len(piped)
