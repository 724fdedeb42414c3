"""Any text, hidden and picked words and settings, in every view and with every kind of tokenizer: an answer with a
valid figure and finite numbers, or an error message."""

import csv
import io
import json
import math
import os
import shutil
from typing import Any

import pytest
from hypothesis import Phase, given, settings as hypothesis_settings, strategies as st
from plotly.graph_objects import Figure

from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Figure as Marks
from bertexplorer.core import export
from bertexplorer.core.ask import VIEWS, Answer, Answerer
from bertexplorer.core.state import State, to_link
from bertexplorer.csv_safety import as_csv
from bertexplorer.model.text import Span
from bertexplorer.options import OptionSpec, option_specs
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views.view import View
from tests.conftest import Tiny

pytestmark = pytest.mark.slow

CHECKPOINTS = ("bert", "roberta", "xlm-roberta", "electra-discriminator", "albert", "mpnet", "deberta", "modernbert")
MANY = int(os.environ.get("EXAMPLES", "0"))  # a longer search, on other examples each time
PIECES = st.sampled_from(
    [
        *("[MASK]", "[SEP]", "[CLS]", "[PAD]", "[UNK]", "<mask>", "</s>", "<pad>", "___", "[mask]", "{a|b}", "{|}"),
        *("{", " ", "\n", ".", "|", ",", "the cat", "Paris is", "##s", "▁", "Ġ", "…", "0:4-8", "1·1", "-1", "é", "日"),
        *("\u202eשלום\u202c", "\u2066", "e\u0301\u0302", "👩\u200d🔬", "🏳️\u200d🌈", "\ufeff", "\u200b", "\x00"),
        *("\x1b[31m", "\ud800", "ﷺ", "İ", "ß", "\U0010ffff", "<img src=x onerror=1>", "</script>", "$$x$$", "%s"),
        *("\u2028", "cat " * 90, "a" * 3000, "\u0301" * 500, "=1+1"),
    ]
)
PLAIN = "[MASK] {cat|dog} sat. It is good."
TEXT = st.one_of(
    st.lists(PIECES, max_size=6).map(lambda pieces: " ".join([*pieces, PLAIN])),
    st.lists(PIECES, max_size=6).map(lambda pieces: " ".join([PLAIN, *pieces])),
    st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=12).map("".join),
    st.text(max_size=40),
)
WORDS = st.one_of(st.sampled_from(["", "cat, paris", "cat", "1·1", "1-2", "A [MASK] here. | So it is."]), TEXT)
SPANS = st.lists(st.builds(Span, st.integers(0, 2), st.integers(0, 20), st.integers(0, 30)), max_size=3).map(tuple)


def value(setting: OptionSpec) -> st.SearchStrategy[Any]:
    """A value that a person or a link could set."""
    if setting.choices:
        return st.sampled_from(setting.choices)
    if setting.kind is bool:
        return st.booleans()
    if setting.kind is str:
        return WORDS
    low, high = setting.option.low, setting.option.high
    if setting.kind is float:
        return st.floats(low, high)
    return st.one_of(st.integers(low, min(low + 4, high)), st.just(setting.default), st.integers(low, high))


def states(view: str) -> st.SearchStrategy[State]:
    optional = {setting.name: value(setting) for setting in option_specs(VIEWS[view].analysis.Options)}
    needed = {name: optional.pop(name) for name in ("other",) if name in optional}  # without it there is no answer
    options = st.fixed_dictionaries(needed, optional=optional)
    names, pair = st.sampled_from(("bert", "bert", *CHECKPOINTS)), st.one_of(st.just(""), st.just(""), TEXT)
    against = st.sampled_from(("", "", "", "random weights", "another text"))
    return st.builds(State, TEXT, pair, SPANS, SPANS, names, st.just("fp32"), st.just(view), options, against, TEXT)


@pytest.fixture(scope="module")
def answerer(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Answerer:
    folder = tmp_path_factory.mktemp("any")
    for name in CHECKPOINTS:
        shutil.copytree(tiny(name), folder / "models" / name)
    return Answerer(CheckpointRegistry(Settings(models_dir=folder / "models", data_dir=folder / "data")))


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@pytest.mark.parametrize("view", VIEWS)
def test_any_input_gives_an_answer_or_an_error(answerer: Answerer, view: str) -> None:
    few = 3 if VIEWS[view].slow else 8

    @hypothesis_settings(max_examples=MANY or few, deadline=None, derandomize=not MANY, phases=[Phase.generate])
    @given(states(view))
    def check_any(state: State) -> None:
        answer = answerer.answer(state)
        to_link(state, {})
        if answer.figure is None:
            assert len(answer.error) > 10 and answer.error.rstrip("”’)")[-1:] in (".", "!", "?"), answer.error
            assert "Internal error" not in answer.error
            answer.error.encode()
            return
        assert answer.said.strip() and not answer.error and bool(answer.strip) == VIEWS[state.view].text
        json.dumps([answer.said, answer.strip], ensure_ascii=False, allow_nan=False).encode()
        for figure in (
            answer.figure,
            *((answer.comparison.figure, answer.comparison.difference) if answer.comparison else ()),
        ):
            if isinstance(figure, Marks):
                json.loads(figure.to_json(), parse_constant=no_constant)
                figure = chart(figure)
            if isinstance(figure, Chart):
                figure_json = json.loads(figure.to_json(), parse_constant=no_constant)
                assert figure_json["data"] and figure_json["layout"]["height"] >= 100
                Figure(figure_json)  # raises ValueError for a property that plotly does not know
        exported(VIEWS[view], answerer, answer)

    check_any()


def exported(view: View, answerer: Answerer, answer: Answer) -> None:
    """The rows hold finite numbers, as a table and as JSON; the exported program can be parsed."""
    checkpoint, state = answer.checkpoint, answer.state
    rows, options = view.analysis.rows(answerer.analyse(checkpoint, state)), answerer.options(state)
    for name, cell in [pair for row in rows for pair in row.items()]:
        assert not isinstance(cell, float) or math.isfinite(cell), (name, cell)
    table = list(csv.reader(io.StringIO(as_csv(rows), newline="")))
    assert len(table) == len(rows) + 1 and not [c for line in table for c in line if c.lstrip()[:1] in set("=@＝")]
    assert len(json.loads(export.as_json(view, checkpoint, state.as_text, options, rows))["rows"]) == len(rows)
    compile(export.as_python(view, checkpoint, state.as_text, options), "receipt", "exec")
