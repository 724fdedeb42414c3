"""A result in Python: its rows, its files, its figure in a notebook, its comparison with another."""

import ast
import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from scipy.stats import binomtest

import bertexplorer as bx
from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.notebook import PLOTLY
from bertexplorer.views import difference
from tests.conftest import ROOT, Tiny

Printed = Callable[..., list[object]]  # the fixture `printed`
FRANCE = "Paris is the [MASK] of France."


@pytest.fixture(scope="module")
def bert(tiny: Tiny) -> bx.Bert:
    return bx.load(tiny("bert"))


@pytest.fixture(scope="module")
def result(bert: bx.Bert) -> bx.Result:
    return bert.fill_mask(FRANCE, top=12)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    """The rows that an exported program prints, which may use some names."""
    monkeypatch.chdir(ROOT)

    def run(code: str, **names: object) -> list[object]:
        exec(code, names)
        return [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_a_printed_result_has_its_sentence_rows_and_notes(result: bx.Result, bert: bx.Bert) -> None:
    first, header, *rows = repr(result).splitlines()
    assert result.said in first and first.startswith("fill_mask (") and header.split()[:2] == ["mask", "position"]
    assert len(rows) == 11 and rows[-1] == "… and 2 more rows"
    cut = bert.fill_mask("A [MASK] film. " + "the " * 100, top=1)
    assert cut.notes == ("Shortened: 64 of 106 tokens are read.",) and cut.notes[0] in repr(cut)
    assert result.notes == () and bx.suite(checkpoint=bert, most=1).notes == ()


def test_results_are_equal_if_their_rows_are(bert: bx.Bert, result: bx.Result) -> None:
    assert result == bert.fill_mask(FRANCE, top=12) and hash(result) == hash(bert.fill_mask(FRANCE, top=12))
    assert result != bert.fill_mask(FRANCE, top=11) and result != bert.left_context(FRANCE) and result != 3


def test_rows_are_given_as_copies_csv_json_and_a_table(result: bx.Result) -> None:
    copy = result.to_rows()
    copy[0]["token"] = "changed"
    assert result.rows[0]["token"] != "changed"
    assert [row["rank"] for row in csv.DictReader(io.StringIO(result.to_csv()))] == [
        str(row["rank"]) for row in result.rows
    ]
    whole = json.loads(result.to_json())
    assert whole["rows"] == result.rows and whole["provenance"] == result.provenance
    pandas = pytest.importorskip("pandas")
    assert isinstance(result.to_pandas(), pandas.DataFrame) and list(result.to_pandas()["rank"]) == list(range(1, 13))


def test_a_missing_pandas_is_reported_with_its_package(result: bx.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(bx.ExplorerError, match="pip install pandas"):
        result.to_pandas()


def test_the_code_of_a_result_reproduces_it(bert: bx.Bert, printed: Printed) -> None:
    for made in (
        bert.fill_mask(FRANCE, mask="Paris", top=2, words="city"),
        bert.attention("the cat sat.", pick="cat", layer=1, head=2),
        bert.next_sentence("the cat sat.", "it works."),
    ):
        assert printed(made.code()) == made.rows


def test_the_code_of_given_rows_names_their_file_or_asks_for_them(
    bert: bx.Bert, tmp_path: Path, printed: Printed
) -> None:
    rows = [{"good": f"the {noun} sat.", "bad": f"the {noun} sit."} for noun in ("cat", "dog", "man")]
    file = tmp_path / "pairs.csv"
    file.write_text("good,bad\n" + "".join(f"{row['good']},{row['bad']}\n" for row in rows), "utf-8")
    named = bert.suite("negation", rows=file)
    assert printed(named.code()) == named.rows
    options = json.loads(named.to_json())["options"]
    assert options["rows"] == str(file) and "suite" not in options and options["scoring"] == "the whole sentence"
    unnamed = bert.suite(rows=rows)
    assert printed(unnamed.code(), rows=rows) == unnamed.rows
    assert "# It needs the rows that were given in Python: define rows first.\n" in unnamed.code()
    assert json.loads(unnamed.to_json())["options"]["rows"] == "given in Python"
    results = bert.search("a cat", lines=["the cat sat.", "a dog"])
    assert printed(results.code(), lines=["the cat sat.", "a dog"]) == results.rows


def test_the_code_of_a_built_in_suite_has_no_text() -> None:
    tiny = bx.load("tiny")
    assert "result = bert.suite(suite='agreement', most=9)\n" in tiny.suite("agreement", most=9).code()
    assert "result = bert.suite()\n" in tiny.suite(most=200).code()


def test_the_score_of_a_suite_is_a_separate_table() -> None:
    """In total and by category, as counted in the rows."""
    result = bx.load("tiny").suite("everyday", most=60)
    table = result.tables["summary"]
    assert [row["category"] for row in table] == ["all", *dict.fromkeys(row["category"] for row in result.rows)]
    for row in table:
        cases = [case for case in result.rows if row["category"] in ("all", case["category"])]
        ranks = [case["rank"] or (1 if case["right"] else float("inf")) for case in cases]
        assert row["cases"] == len(cases) and row["low"] <= row["right"] <= row["high"]
        assert row["right"] == pytest.approx(sum(case["right"] for case in cases) / len(cases))
        assert row["baseline"] == pytest.approx(sum(case["baseline"] for case in cases) / len(cases))
        assert row["top5"] == pytest.approx(sum(rank <= 5 for rank in ranks) / len(ranks))
        assert row["mrr"] == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks))
        assert row["chance"] == result.value.chance
    assert json.loads(result.to_json())["summary"] == table
    assert len(list(csv.DictReader(io.StringIO(result.to_csv("summary"))))) == len(table)
    with pytest.raises(bx.ExplorerError, match="no table 'errors' of suite; wanted one of: summary"):
        result.to_csv("errors")
    assert all(row["top5"] == "" for row in bx.load("tiny").suite("agreement", most=20).tables["summary"])


def test_the_mistakes_of_each_layer_of_a_probe_are_a_table() -> None:
    result = bx.load("tiny").probe("number", seeds=2, most=60)
    mistakes, value = json.loads(result.to_json())["mistakes"], result.value
    assert all(row["answer"] != row["label"] and 1 <= row["wrong"] <= row["held_out"] <= 2 for row in mistakes)
    for layer, right in enumerate(value.accuracies):
        held_out = (value.predicted[layer] >= 0).sum(axis=1)
        wrong = sum(row["wrong"] for row in mistakes if row["layer"] == layer)
        assert wrong == pytest.approx(sum((1 - right) * held_out))
    assert any(row["wrong"] for row in mistakes)


@pytest.mark.parametrize("name", ["suite", "probe"])
def test_an_empty_list_of_rows_is_rejected(bert: bx.Bert, name: str) -> None:
    with pytest.raises(bx.ExplorerError, match="No rows were given"):
        bert.analyse(name, rows=[])


def test_the_suffix_determines_the_format_of_a_file(result: bx.Result, tmp_path: Path) -> None:
    for suffix in ("csv", "json", "py", "html"):
        assert result.save(tmp_path / f"paris.{suffix}").stat().st_size > 200
    page = (tmp_path / "paris.html").read_text("utf-8")
    assert "Plotly.newPlot" in page and "It would put" in page
    assert not re.findall(r"<(?:script|link)[^>]*(?:src|href)=", page), "it asks nothing of the network"
    with pytest.raises(bx.ExplorerError, match="ends in '.doc'; wanted one of .csv, .json, .py, .html, .png"):
        result.save(tmp_path / "paris.doc")
    with pytest.raises(bx.ExplorerError, match="cannot be written"):
        result.save(tmp_path / "nowhere" / "paris.csv")


def test_a_missing_kaleido_is_reported_when_an_image_is_saved(
    result: bx.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: object, **more: object) -> bytes:
        raise ValueError("Image export requires the kaleido package")

    monkeypatch.setattr("plotly.graph_objects.Figure.to_image", missing)
    with pytest.raises(bx.ExplorerError, match=r"cannot be written as svg.*bertexplorer\[images\]"):
        result.save(tmp_path / "paris.svg")
    assert not (tmp_path / "paris.svg").exists()


def test_a_notebook_draws_a_result_without_a_network(result: bx.Result) -> None:
    bundle = result._repr_mimebundle_()
    figure = json.loads(json.dumps(bundle[PLOTLY]))
    assert figure["data"] and figure["layout"]["title"]["text"].startswith("It would put")
    assert figure["layout"]["height"] > result.figure.layout.height
    assert bundle["text/plain"] == repr(result) and "text/html" not in bundle


def test_bertviz_is_saved_as_a_page(bert: bx.Bert, tmp_path: Path) -> None:
    shown = bert.bertviz("the cat sat.")
    assert shown._repr_mimebundle_()["text/html"].startswith('<iframe sandbox="allow-scripts"')
    assert shown.save(tmp_path / "heads.html").read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(bx.ExplorerError, match="Save it as .html"):
        shown.save(tmp_path / "heads.png")


def test_two_results_are_compared(bert: bx.Bert, result: bx.Result) -> None:
    other = bert.control().fill_mask(FRANCE, top=12)
    both = bx.compare(result, other)
    assert both.names == (bert.name, f"{bert.name}, random weights")
    assert both.rows[0] == {"side": bert.name, **result.rows[0]} and len(both.rows) == 24
    pair = (result.checkpoint, other.checkpoint)
    drawn = difference.draw(result.module, result.value, other.value, both.names, pair)
    assert both.figure == chart(drawn).plotly and PLOTLY in both._repr_mimebundle_()
    assert repr(both).count("fill_mask (") == 2 and result.said in both.said


def test_the_code_of_a_comparison_reproduces_it(bert: bx.Bert, result: bx.Result, printed: Printed) -> None:
    both = bx.compare(result, bert.control().fill_mask(FRANCE, top=12))
    assert printed(both.code()) == both.rows


def test_suites_of_several_checkpoints_are_compared(result: bx.Result) -> None:
    names = ("tiny", "tiny@0", "tiny@300")
    every = bx.compare(*[bx.load(name).suite("agreement", most=15) for name in names])
    assert every.names == names and len(every.rows) == 45
    assert every.figure is not None and len(every.figure.data[0].x) == 3 and "McNemar" in every.said
    right = [{row["line"]: row["right"] for row in result.rows} for result in every.results]
    differ = [line for line in right[0] if len({side[line] for side in right}) == 2]
    assert [row["line"] for row in every.tables["differences"]] == differ
    for test, side in zip(every.tables["tests"], right[1:], strict=True):
        only = [sum(a[line] > b[line] for line in a) for a, b in ((side, right[0]), (right[0], side))]
        assert [test["only_this"], test["only_other"]] == only and test["against"] == "tiny"
        assert test["p"] == pytest.approx(binomtest(only[0], sum(only)).pvalue if any(only) else 1)
        assert test["p"] <= test["p_holm"]
    assert json.loads(every.to_json())["tests"] == every.tables["tests"]
    with pytest.raises(bx.ExplorerError, match="3 results of fill_mask were given; it compares two"):
        bx.compare(result, result, result)


def test_differences_name_both_sides(bert: bx.Bert, result: bx.Result) -> None:
    berlin = bert.fill_mask("Berlin is the [MASK] of Germany.", top=12)
    assert bx.compare(result, berlin).names == (FRANCE, "Berlin is the [MASK] of Germany.")
    assert bx.compare(result, bert.fill_mask(FRANCE, top=3)).names == ("top 12", "top 3")
    with pytest.raises(bx.ExplorerError, match="A result of fill_mask cannot be compared with one of left_context"):
        bx.compare(result, bert.left_context(FRANCE))
