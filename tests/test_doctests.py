"""The examples in docstrings print what they say. Those that take long, or need what is not here, have +SKIP."""

import doctest
from importlib import import_module

import pytest

import bertexplorer as bx
from tests.conftest import ROOT

FILES = sorted(file for file in (ROOT / "bertexplorer").rglob("*.py") if ">>> " in file.read_text("utf-8"))
MODULES = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in FILES]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_print_the_documented_output(name: str) -> None:
    module, report = import_module(name), []
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(module, name, extraglobs={"bx": bx}):
        if test.lineno is not None:  # else its docstring was made for a view: tests/public/test_analyses.py runs those
            runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_examples_are_found() -> None:
    assert {"bertexplorer", "bertexplorer.learn.lesson", "bertexplorer.python.result"} <= set(MODULES)
