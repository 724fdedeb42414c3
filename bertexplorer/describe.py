"""Analyses described: what each takes and what it does, for Python, editors and the documentation."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from bertexplorer.options import OptionSpec, option_specs
from bertexplorer.ui.state import spans_of
from bertexplorer.ui.tabs import VIEWS

GIVEN = {  # settings that take content, and on the page the key of an upload
    "lines": "Sequence[str] | str | Path | None",
    "rows": "Sequence[Mapping[str, Any]] | str | Path | None",
}
FIRST = {"suite": "suite", "probe": "task"}  # analysis that is about no text -> the option that comes first
LISTS = {"words": ", ", "sentences": " | ", "candidates": " | ", "heads": ", ", "off": ", "}  # settings given as lists


def signature(name: str, *, method: bool) -> inspect.Signature:
    """What the analysis *name* takes; as a *method*, without the checkpoint."""
    plain = inspect.Parameter.KEYWORD_ONLY
    module = import_module(f"bertexplorer.analysis.{name}")
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found = []
    if name not in FIRST:
        found.append(inspect.Parameter("text", both, annotation="str"))
        found.append(inspect.Parameter("pair", both, default="", annotation="str"))
    settings = [
        parameter(setting, both if setting.name == FIRST.get(name) else plain)
        for setting in option_specs(module.Options)
    ]
    found += [one for one in settings if one.kind is both]
    if not method:
        found.append(inspect.Parameter("checkpoint", plain, default="mini", annotation="str | Path | Bert"))
        found.append(inspect.Parameter("precision", plain, default="auto", annotation="str"))
    if name not in FIRST:
        found += [inspect.Parameter(word, plain, default=(), annotation="Words") for word in ("mask", "pick")]
    found += [one for one in settings if one.kind is plain]
    return inspect.Signature(found, return_annotation="Result")


def parameter(setting: OptionSpec, kind_of: Any) -> inspect.Parameter:
    """A setting as a parameter; lines and rows are given as they are, or as a file."""
    if setting.name in GIVEN:
        return inspect.Parameter(setting.name, kind_of, default=None, annotation=GIVEN[setting.name])
    return inspect.Parameter(setting.name, kind_of, default=setting.default, annotation=kind(setting))


def kind(setting: OptionSpec) -> str:
    """The type of a setting as an annotation."""
    several = " | Sequence[str]" if setting.name in LISTS else ""
    return f"Literal[{', '.join(map(repr, setting.choices))}]" if setting.choices else setting.kind.__name__ + several


def document(name: str) -> str:
    """The documentation of the analysis *name*: what it does, its options, and an example that runs."""
    module = import_module(f"bertexplorer.analysis.{name}")
    about = inspect.cleandoc(module.__doc__ or "").splitlines()[0].partition(": ")[2]
    details = inspect.cleandoc(module.run.__doc__ or "")
    options = [f"    {s.name}: {described(s)}" for s in option_specs(module.Options) if s.name not in GIVEN]
    listed = ["Options:", *options, ""] if options else []
    return "\n".join([about[:1].upper() + about[1:], "", details, "", *listed, "Example:", f"    >>> {example(name)}"])


def described(setting: OptionSpec) -> str:
    """A setting in words: label, bounds and explanation."""
    low, high = setting.option.low, setting.option.high
    bounds = f", {low:g} to {high:g}" if low is not None and high is not None else ""
    info = f" ({setting.option.info})" if setting.option.info else ""
    return f"{setting.option.label}{bounds}{info}"


def example(name: str) -> str:
    """A call of the analysis *name* with the first example of its view."""
    view = VIEWS[name.replace("_", "-")]
    first = view.examples[0]
    given = [repr(text) for text in (first.text, first.pair) if text]
    picked = [tuple(span) for span in spans_of(first.picked)]
    given += [f"pick={picked}"] if picked else []
    given += [f"{option}={value!r}" for option, value in first.options.items()]
    asked = "bx.TrainingRun('runs/films').load()" if view.tuned else "bx"
    return f"{asked}.{name}({', '.join(given)}).said"
