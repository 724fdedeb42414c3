"""The attention views for any input: a result, or an ExplorerError that explains the problem."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bertexplorer.analysis import attention, attention_flow, bertviz, export, head_roles, query_key
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.options import option_specs
from tests.analysis.test_bad_input import NOTHING, ODD, name_of
from tests.eager import FAMILIES

MODULES = (attention, query_key, attention_flow, head_roles, bertviz)
QUICK = ("bert", "roberta", "deberta", "modernbert")  # one for each kind of position
MORE = ("camembert", "bert-classifier")


def options(module: ModuleType, **more: Any) -> Any:
    return module.Options(**({"on": "this text"} if module is head_roles else {}), **more)


def ask(module: ModuleType, checkpoint: Checkpoint, text: Text | str, **more: Any) -> list[dict[str, object]]:
    return module.rows(module.run(checkpoint, text, options=options(module, **more)))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_text_without_words_is_rejected(module: ModuleType, small: Checkpoint) -> None:
    for text in NOTHING.values():
        with pytest.raises(ExplorerError, match="Type a sentence"):
            ask(module, small, text)


@pytest.mark.parametrize("module", MODULES, ids=name_of)
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_text_is_answered(module: ModuleType, text: str, small: Checkpoint) -> None:
    rows = ask(module, small, text)
    question = Text(text)
    export.as_csv(rows[:50])
    json.loads(export.as_json(module, small, question, options(module), rows[:50]))
    compile(export.as_python(module, small, question, options(module)), "receipt", "exec")


@pytest.mark.parametrize("module", MODULES, ids=name_of)
@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in (*FAMILIES, *MORE)]
)
def test_every_setting_works_in_every_family(module: ModuleType, family: str, tiny: Callable[[str], Path]) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    text = Text("The doctor was unbelievably good.", "It is <mask>.", picked=(Span(0, 4, 10),))
    columns = set()
    for setting in option_specs(module.Options):
        for choice in setting.choices or ((True,) if setting.kind is bool else (setting.default,)):
            given = {**({"on": "this text"} if module is head_roles else {}), setting.name: choice}
            rows = module.rows(module.run(checkpoint, text, options=module.Options(**given)))
            assert rows
            columns.add(tuple(rows[0]))
    assert len(columns) == 1
    assert {*module.KEYS, module.MEASURE} <= set(next(iter(columns)))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_spans_outside_the_text_are_ignored(module: ModuleType, small: Checkpoint) -> None:
    spans = (Span(0, 900, 990), Span(1, 0, 3), Span(0, 2, 2))
    assert ask(module, small, Text("The cat is here.", "", spans, spans))
