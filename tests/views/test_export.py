"""Exports: CSV and JSON read back unchanged, and the exported Python runs."""

import csv
import io
import json
import math
import subprocess
import sys
from types import ModuleType

import numpy
import pytest
import torch

from bertexplorer.core import export
from bertexplorer.csv_safety import as_csv
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from bertexplorer.views import VIEWS, view_of
from bertexplorer.views.contrast import compute as contrast
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.template import compute as template
from tests.conftest import ROOT
from tests.filling import FILLING
from tests.views.conftest import CLOSE

Rows = list[dict[str, object]]
MASKED = "Paris is the [MASK] of France."
CASES = {  # analysis -> a text and settings that differ from the defaults
    "fill_mask": (
        Text("Paris is the capital of France.", hidden=(Span(0, 13, 20),)),
        {"top": 3, "words": "a, unbelievably"},
    ),
    "decoding": (Text("The [MASK] said:\n'[MASK] \"x\" \\ is busy.'", "Is it so?"), {"beam_width": 2}),
    "pseudo_likelihood": (Text("The keys to the unbelievably small cabinet."), {"hide": "the rest of its word too"}),
    "contrast": (Text(MASKED), {"other": 'Berlin isn\'t the [MASK] of "Germany".', "named": 2}),
    "left_context": (Text(MASKED), {"top": 4}),
    "template": (Text("The {doctor|nurse} said that [MASK] is busy."), {"words": "he, she"}),
}


def name_of(module: ModuleType) -> str:
    return module.__name__.split(".")[-2]  # of its folder


def answer(module: ModuleType, checkpoint: Checkpoint) -> tuple[Text, object, Rows]:
    text, given = CASES[name_of(module)]
    options = module.Options(**given)
    return text, options, module.rows(module.run(checkpoint, text, options=options))


@pytest.mark.parametrize("module", FILLING, ids=name_of)
def test_files_are_read_back_unchanged(module: ModuleType, mini: Checkpoint) -> None:
    text, options, rows = answer(module, mini)
    rows = rows[:300]
    whole = json.loads(export.as_json(view_of(name_of(module)), mini, text, options, rows))
    assert (whole["analysis"], whole["text"]["first"], whole["rows"]) == (name_of(module), text.first, rows)
    assert whole["options"] == {**vars(options)}
    back = list(csv.DictReader(io.StringIO(as_csv(rows), newline="")))
    for row, safe in zip(rows, back, strict=True):
        for key, value in row.items():
            if isinstance(value, str):
                assert safe[key].removeprefix("'") == value.removeprefix("'")
            else:
                assert float(safe[key]) == pytest.approx(float(str(value)), rel=1e-12)  # float64, printed


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "\r=1", "\n", "\n=1", "  =1", "＝1", "＠x", " \t=1", "\u3000=1", "\xa0+1"],
)
def test_a_formula_is_escaped(cell: str) -> None:
    ((safe,),) = ([row["token"]] for row in csv.DictReader(io.StringIO(as_csv([{"token": cell}]), newline="")))
    assert safe == "'" + cell


@pytest.mark.parametrize("cell", ["a,b", 'say "x"', "two\nlines", "é 日", "a=b", "1-2", "", "<script>"])
def test_other_cells_are_unchanged(cell: str) -> None:
    rows: Rows = [{"token": cell, "p": -0.5, "n": -3}]
    assert list(csv.DictReader(io.StringIO(as_csv(rows), newline=""))) == [{"token": cell, "p": "-0.5", "n": "-3"}]


def test_json_rejects_nan(mini: Checkpoint) -> None:
    with pytest.raises(ValueError, match="JSON"):
        export.as_json(VIEWS["fill-mask"], mini, Text("a"), fill_mask.Options(), [{"p": math.nan}])


def test_an_export_contains_its_provenance(mini: Checkpoint) -> None:
    facts = export.provenance(mini)
    assert facts["checkpoint"] == "mini" and facts["precision"] == "fp32" and facts["family"] == "bert"
    assert facts["revision"].startswith("sha256:") and len(facts["revision"]) == 19
    assert facts["torch"] == torch.__version__ and facts["numpy"] == numpy.__version__
    assert {"device", "python", "tokenizers", "safetensors"} <= set(facts)


@pytest.mark.slow
def test_the_exported_python_runs_and_prints_the_same_rows(mini: Checkpoint) -> None:
    """All six programs in one process, to start Python once; each is complete."""
    picked = [m for m in FILLING if m is not contrast]  # a row for every piece of the vocabulary: see the next test
    programs, wanted = [], []
    for module in picked:
        text, options, rows = answer(module, mini)
        programs.append(export.as_python(view_of(name_of(module)), mini, text, options))
        wanted += rows
    code = "".join(f"exec({program!r}, {{}})\n" for program in programs)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    safe = [eval(line) for line in done.stdout.splitlines()]
    assert len(safe) == len(wanted)
    for row, other in zip(safe, wanted, strict=True):
        assert row == {
            k: pytest.approx(v, rel=CLOSE, abs=CLOSE) if isinstance(v, float) else v for k, v in other.items()
        }


def test_text_in_the_exported_python_is_never_code(mini: Checkpoint) -> None:
    hostile = Text("'); __import__('os').system('x') #\n\ud800")
    program = export.as_python(VIEWS["template"], mini, hostile, template.Options(words="\"'\\\n"))
    compile(program, "receipt", "exec")
    assert "# Made with checkpoint mini, revision sha256:" in program and "top=" not in program
