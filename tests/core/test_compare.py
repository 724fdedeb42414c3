"""Compare: the sides of a comparison, and the figures and sentences for two or more."""

from __future__ import annotations

import ast
import csv
import io
import json
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import binomtest

from bertexplorer.core import compare
from bertexplorer.core.ask import DEFAULTS, Answerer
from bertexplorer.core.row_uploads import RowUploads
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.store import catalogue
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import ROOT

SUITE = State(
    "",
    checkpoint="tiny@300",
    view="suite",
    options={**DEFAULTS["suite"], "suite": "agreement", "most": 8},
    against="its training",
)
SERIES = [saved.name for saved in catalogue.snapshots()]


@pytest.fixture(scope="module")
def answerer() -> Answerer:
    return Answerer(CheckpointRegistry())


def test_checkpoints_of_a_training_are_in_order(answerer: Answerer) -> None:
    sides = compare.comparison_sides(answerer.registry, SUITE)
    assert [side.state.checkpoint for side in sides] == SERIES
    assert [side.name for side in sides if side.checkpoint is None] == ["tiny, step 300"]


def test_a_suite_follows_the_checkpoints_of_a_training(answerer: Answerer) -> None:
    """The curve has the shares that each checkpoint reaches alone."""
    comparison = answerer.answer(SUITE).comparison
    assert (
        comparison is not None
        and comparison.name == "8 checkpoints"
        and comparison.difference is None
        and comparison.figure
    )
    (mark, _) = comparison.figure.panels[0].marks
    line = mark.lines[-1]
    alone = [answerer.analyse(answerer.registry.get(name), SUITE).total.right for name in SERIES]
    assert list(line.values) == pytest.approx(alone)
    assert mark.steps == ["0", "10", "30", "100", "300", "1,000", "2,000", "2,927"]


PAIR = State(
    "The bank of the river.",
    pair="The bank lends money.",
    view="sentence-similarity",
    options={**DEFAULTS["sentence-similarity"]},
    against="other settings",
)


@pytest.mark.parametrize(
    ("typed", "options", "precision"),
    [
        ("pooling=CLS", {"pooling": "CLS"}, "fp32"),
        (" pooling = last four summed ,precision=bf16", {"pooling": "last four summed"}, "bf16"),
        ("precision=bf16", {}, "bf16"),
    ],
)
def test_the_same_view_with_other_settings(
    typed: str, options: dict[str, str], precision: str, answerer: Answerer
) -> None:
    state = replace(PAIR, precision="fp32", other=typed)
    comparison = answerer.answer(state).comparison
    assert comparison is not None and comparison.figure and comparison.name == f"mini, {typed}"
    alone = replace(state, against="", other="", options={**state.options, **options}, precision=precision)
    ((_, result),) = comparison.others
    wanted = answerer.analyse(answerer.registry.get("mini", precision), alone)
    assert result.similarity == wanted.similarity
    own = answerer.analyse(answerer.registry.get("mini", "fp32"), replace(state, against="", other=""))
    assert own.similarity != wanted.similarity


def test_a_value_may_have_commas() -> None:
    state = State(
        "", view="template", options={"words": "", "top": 5}, against="other settings", other="words=he, she, top=7"
    )
    assert compare.with_other_settings(state).options == {"words": "he, she", "top": "7"}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("poling=CLS", "has no setting 'poling'. Name what differs"),
        ("CLS", "has no setting 'CLS'"),
        ("pooling=middle", "got 'middle'; wanted one of own, mean"),
        ("precision=int4", "Precision 'int4' is not known"),
        ("lines=abc", "has no setting 'lines'"),  # the page sets it
    ],
)
def test_other_settings_that_do_not_exist_are_said(typed: str, words: str, answerer: Answerer) -> None:
    comparison = answerer.answer(replace(PAIR, other=typed)).comparison
    assert comparison is not None and comparison.figure is None and words in comparison.said


def test_without_settings_there_is_no_comparison(answerer: Answerer) -> None:
    assert answerer.answer(replace(PAIR, other=" ")).comparison is None


def test_several_named_checkpoints_are_compared(answerer: Answerer) -> None:
    options = {**SUITE.options, "most": 20}  # with fewer cases no difference is beyond chance
    state = replace(SUITE, options=options, checkpoint="mini", against="another checkpoint", other="tiny, tiny@0 ,")
    comparison = answerer.answer(state).comparison
    assert comparison is not None and comparison.name == "3 checkpoints" and comparison.figure
    results = [answerer.analyse(answerer.registry.get(name), state) for name in ("mini", "tiny", "tiny@0")]
    bars = comparison.figure.panels[0].marks[0].bars
    assert [bar.value for bar in bars] == pytest.approx([outcome.total.right for outcome in results])
    ours, *theirs = ({outcome.case: outcome.right for outcome in result.outcomes} for result in results)
    ps = []
    for other in theirs:
        only = [sum(a[case] > b[case] for case in ours) for a, b in ((ours, other), (other, ours))]
        ps.append(binomtest(only[0], sum(only)).pvalue)
    low, high = min(1, 2 * min(ps)), max(2 * min(ps), max(ps))  # by Holm's method
    corrected = [low if p == min(ps) else high for p in ps]
    assert all(p < 0.05 for p in corrected) and "after Holm’s correction for 2 tests" in comparison.said
    texts = [bar.text for bar in bars[1:]]
    assert all(f"p = {p:.3f}" in comparison.said for p in corrected)
    assert all(f"p = {p:.3f})" in text for p, text in zip(corrected, texts, strict=True))


@pytest.mark.parametrize("state", [SUITE, replace(SUITE, against="another checkpoint", other="tiny, tiny@0")])
def test_the_table_has_the_answers_of_every_side(answerer: Answerer, state: State) -> None:
    state = replace(state, options={**SUITE.options, "most": 4})
    table = answerer.answer(state).cases
    names = [side.state.checkpoint for side in compare.comparison_sides(answerer.registry, state) if side.checkpoint]
    assert table is not None and len(table["sides"]) == len(names) > 1
    for i, name in enumerate(names):
        alone = answerer.answer(replace(state, checkpoint=name, against="")).cases
        assert alone is not None and alone["sides"] == []
        assert [row["others"][i]["right"] for row in table["rows"]] == [row["right"] for row in alone["rows"]]


def test_the_export_has_every_side(answerer: Answerer) -> None:
    _, content = answerer.export(SUITE, "csv")
    rows = list(csv.DictReader(io.StringIO(content)))
    assert len(rows) == SUITE.options["most"] * len(SERIES) and len({row["side"] for row in rows}) == len(SERIES)
    first = {row["side"]: row for row in reversed(rows)}
    made = {side: row["made_with"] for side, row in first.items()}
    assert len(set(made.values())) == len(SERIES) and all("checkpoint tiny" in line for line in made.values())
    assert sum(bool(row["made_with"]) for row in rows) == len(SERIES), "once for each side"
    _, content = answerer.export(SUITE, "json")
    whole = json.loads(content)
    assert len(whole["rows"]) == len(rows) and {row["side"] for row in whole["summary"]} == {r["side"] for r in rows}
    assert {row["against"] for row in whole["tests"]} == {"tiny, step 300"} and len(whole["tests"]) == len(SERIES) - 1


@pytest.mark.parametrize(
    "state",
    [
        replace(SUITE, text="A text that the suite does not read.", options={**SUITE.options, "most": 2}),
        replace(SUITE, against="random weights"),
        replace(SUITE, view="fill-mask", options={}, text="A [MASK].", against="another text", other="The [MASK]."),
        replace(SUITE, view="fill-mask", options={}, text="A [MASK].", against="another checkpoint", other="tiny"),
    ],
    ids=["training", "random", "text", "checkpoint"],
)
def test_the_exported_python_has_every_side(
    answerer: Answerer, state: State, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    rows = json.loads(answerer.export(state, "json")[1])["rows"]
    exec(answerer.export(state, "python")[1], {})
    printed = [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines()]

    def numbers(rows: list[dict[str, object]]) -> list[list[object]]:
        return sorted([value for name, value in row.items() if name != "side"] for row in rows)

    assert numbers(printed) == numbers(rows) and len({row["side"] for row in printed}) > 1


def test_exports_of_uploaded_rows_name_their_file(answerer: Answerer, tmp_path: Path) -> None:
    here = copy(answerer)
    here.rows = RowUploads(tmp_path)
    here.stores = {**answerer.stores, "rows": here.rows}
    key, _ = here.save_upload(here.rows, b"good,bad\nThe cat sat.,The cat sit.\n", "crows.csv")
    state = replace(SUITE, options={**SUITE.options, "rows": key}, against="")
    options = json.loads(here.export(state, "json")[1])["options"]
    assert "1 row from crows.csv" in options["rows"] and "suite" not in options
    program = here.export(state, "python")[1]
    assert "# The rows are an upload: 1 row from crows.csv" in program
    assert f"bert.suite(most=8, rows={key!r})" in program


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"checkpoint": "mini"}, "mini has no checkpoints from earlier"),
        ({"view": "layers", "options": DEFAULTS["layers"], "text": "A [MASK]."}, "Layers draws two checkpoints"),
        ({"against": "another checkpoint", "other": "tiny, no/where"}, "no/where"),
        ({"against": "another checkpoint", "other": ",".join(["tiny"] * 12)}, "13 checkpoints were named; 12 fit"),
        ({"against": "another text", "other": "x"}, "not about the text"),
    ],
)
def test_impossible_comparisons_are_reported_next_to_the_answer(answerer: Answerer, change: dict, message: str) -> None:
    answer = answerer.answer(replace(SUITE, **change))
    assert not answer.error and answer.figure is not None and answer.comparison is not None
    assert message in answer.comparison.said and answer.comparison.figure is None


def test_a_long_training_is_sampled_evenly_and_keeps_the_checkpoint_in_use(
    answerer: Answerer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "MAX_SIDES", 4)
    names = compare.training_series(answerer.registry, SUITE)
    assert len(names) <= 4 and names[0] == SERIES[0] and names[-1] == SERIES[-1] and "tiny@300" in names
    with pytest.raises(ExplorerError, match="5 checkpoints were named; 4 fit"):
        compare.comparison_sides(answerer.registry, replace(SUITE, against="another checkpoint", other="a,b,c,d"))


@pytest.mark.parametrize("view", ["fill-mask", "left-context"])
def test_probabilities_have_the_same_axis_at_every_moment_of_a_training(answerer: Answerer, view: str) -> None:
    state = State("They live in the United [MASK] of America.", view=view, options=DEFAULTS[view])
    for name in ("tiny@0", "tiny", "mini"):
        panels = answerer.answer(replace(state, checkpoint=name)).figure.panels
        bars = [panel.marks[0] for panel in panels if panel.marks[0].kind == "bars"]
        assert bars and all(mark.high == 1 for mark in bars), name
