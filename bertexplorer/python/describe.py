"""Describe: signatures and documentation of the analyses, for Python, editors and the website."""

from __future__ import annotations

import inspect
from typing import Any

from bertexplorer.core.state import read_spans
from bertexplorer.options import OptionSpec, option_specs
from bertexplorer.views import VIEWS, view_of

CONTENT = {  # settings whose values are content; on the page, the key of an upload
    "lines": "Sequence[str] | str | Path | None",
    "rows": "Sequence[Mapping[str, Any]] | str | Path | None",
    "vectors": "Sequence[Mapping[str, Any]] | str | Path | None",
}
ARGUMENTS = {  # what every analysis calls the same
    "text": "the text; [MASK] stands for a hidden word",
    "pair": "a second text",
    "checkpoint": "what `load` takes: a name, a folder or a Bert (of the function; a method has its own)",
    "precision": '"fp32", "bf16" or "auto" (of the function; a method has its own)',
    "mask": "words to hide, or spans (side, start, end)",
    "pick": "words that the analysis is about, or spans (side, start, end)",
    "lines": "texts, or a CSV, TSV or TXT file",
    "rows": "dictionaries, or a CSV, TSV or JSONL file",
    "vectors": "dictionaries with text and vector, or a JSONL file",
}
LISTS = {"words": ", ", "sentences": " | ", "candidates": " | ", "heads": ", ", "off": ", "}  # setting -> its separator


def signature(name: str, *, method: bool) -> inspect.Signature:
    """The parameters of the analysis *name*; as a *method*, without the checkpoint."""
    view = view_of(name)
    settings = option_specs(view.analysis.Options)
    # 1. What may be given by its place: the text and the pair, or the setting that stands in for them.
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    if view.text:
        parameters.append(inspect.Parameter("text", both, annotation="str"))
        parameters.append(inspect.Parameter("pair", both, default="", annotation="str"))
    parameters += [parameter(setting, both) for setting in settings if setting.name == view.first]
    # 2. What is given by its name.
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    if not method:
        parameters.append(inspect.Parameter("checkpoint", keyword_only, default="mini", annotation="str | Path | Bert"))
        parameters.append(inspect.Parameter("precision", keyword_only, default="auto", annotation="str"))
    if view.text:
        parameters.append(inspect.Parameter("mask", keyword_only, default=(), annotation="Words"))
        parameters.append(inspect.Parameter("pick", keyword_only, default=(), annotation="Words"))
    parameters += [parameter(setting, keyword_only) for setting in settings if setting.name != view.first]
    return inspect.Signature(parameters, return_annotation="Result")


def parameter(setting: OptionSpec, parameter_kind: Any) -> inspect.Parameter:
    """A setting as a parameter. Lines and rows may be content or a file."""
    if setting.name in CONTENT:
        return inspect.Parameter(setting.name, parameter_kind, default=None, annotation=CONTENT[setting.name])
    return inspect.Parameter(setting.name, parameter_kind, default=setting.default, annotation=annotation(setting))


def annotation(setting: OptionSpec) -> str:
    """The type of a setting."""
    if setting.choices:
        return f"Literal[{', '.join(map(repr, setting.choices))}]"
    if setting.name in LISTS:
        return f"{setting.kind.__name__} | Sequence[str]"
    return setting.kind.__name__


def document(name: str) -> str:
    """The documentation of the analysis *name*: what it does, its arguments, and an example that runs."""
    module = view_of(name).analysis
    first_paragraph = inspect.cleandoc(module.__doc__ or "").partition("\n\n")[0]
    _, _, about = " ".join(first_paragraph.split()).partition(": ")
    lines = [about[:1].upper() + about[1:], ""]
    lines += [inspect.cleandoc(module.run.__doc__ or ""), ""]
    lines.append("Args:")
    settings = {setting.name: setting for setting in option_specs(module.Options)}
    for argument in signature(name, method=False).parameters:
        explanation = ARGUMENTS.get(argument) or explain(settings[argument])
        if argument in CONTENT and (info := settings[argument].option.info):
            explanation += f" ({info})"
        lines.append(f"    {argument}: {explanation}")
    lines += ["", "Example:", f"    >>> {example(name)}"]
    return "\n".join(lines)


def explain(setting: OptionSpec) -> str:
    """The label, bounds and description of a setting."""
    option = setting.option
    explanation = option.label
    if option.low is not None and option.high is not None:
        explanation += f", {option.low:g} to {option.high:g}"
    if option.info:
        explanation += f" ({option.info})"
    return explanation


def example(name: str) -> str:
    """A call of the analysis *name* with the first example of its view."""
    view = VIEWS[name.replace("_", "-")]
    first = view.examples[0]
    arguments = [repr(text) for text in (first.text, first.pair) if text]
    if picked := [tuple(span) for span in read_spans(first.picked)]:
        arguments.append(f"pick={picked}")
    arguments += [f"{option}={value!r}" for option, value in first.options.items()]
    source = f"bx.load({view.checkpoint!r})" if view.checkpoint else "bx"
    return f"{source}.{name}({', '.join(arguments)}).said"
