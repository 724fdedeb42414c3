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
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    view = view_of(name)
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    if view.text:
        parameters.append(inspect.Parameter("text", both, annotation="str"))
        parameters.append(inspect.Parameter("pair", both, default="", annotation="str"))
    settings = [
        parameter(setting, both if setting.name == view.first else keyword_only)
        for setting in option_specs(view.analysis.Options)
    ]
    parameters += [setting for setting in settings if setting.kind is both]
    if not method:
        parameters.append(inspect.Parameter("checkpoint", keyword_only, default="mini", annotation="str | Path | Bert"))
        parameters.append(inspect.Parameter("precision", keyword_only, default="auto", annotation="str"))
    if view.text:
        parameters += [
            inspect.Parameter(word, keyword_only, default=(), annotation="Words") for word in ("mask", "pick")
        ]
    parameters += [setting for setting in settings if setting.kind is keyword_only]
    return inspect.Signature(parameters, return_annotation="Result")


def parameter(setting: OptionSpec, parameter_kind: Any) -> inspect.Parameter:
    """A setting as a parameter. Lines and rows may be content or a file."""
    if setting.name in CONTENT:
        return inspect.Parameter(setting.name, parameter_kind, default=None, annotation=CONTENT[setting.name])
    return inspect.Parameter(setting.name, parameter_kind, default=setting.default, annotation=annotation(setting))


def annotation(setting: OptionSpec) -> str:
    """The type of a setting."""
    several = " | Sequence[str]" if setting.name in LISTS else ""
    return f"Literal[{', '.join(map(repr, setting.choices))}]" if setting.choices else setting.kind.__name__ + several


def document(name: str) -> str:
    """The documentation of the analysis *name*: what it does, its arguments, and an example that runs."""
    module = view_of(name).analysis
    about = " ".join(inspect.cleandoc(module.__doc__ or "").partition("\n\n")[0].split()).partition(": ")[2]
    details = inspect.cleandoc(module.run.__doc__ or "")
    settings = {setting.name: setting for setting in option_specs(module.Options)}
    arguments = []
    for given in signature(name, method=False).parameters:
        said = ARGUMENTS.get(given) or explain(settings[given])
        if given in CONTENT and (info := settings[given].option.info):
            said += f" ({info})"
        arguments.append(f"    {given}: {said}")
    about = about[:1].upper() + about[1:]
    return "\n".join([about, "", details, "", "Args:", *arguments, "", "Example:", f"    >>> {example(name)}"])


def explain(setting: OptionSpec) -> str:
    """The label, bounds and description of a setting."""
    low, high = setting.option.low, setting.option.high
    bounds = f", {low:g} to {high:g}" if low is not None and high is not None else ""
    info = f" ({setting.option.info})" if setting.option.info else ""
    return f"{setting.option.label}{bounds}{info}"


def example(name: str) -> str:
    """A call of the analysis *name* with the first example of its view."""
    view = VIEWS[name.replace("_", "-")]
    first = view.examples[0]
    arguments = [repr(text) for text in (first.text, first.pair) if text]
    picked = [tuple(span) for span in read_spans(first.picked)]
    arguments += [f"pick={picked}"] if picked else []
    arguments += [f"{option}={value!r}" for option, value in first.options.items()]
    source = f"bx.load({view.checkpoint!r})" if view.checkpoint else "bx"
    return f"{source}.{name}({', '.join(arguments)}).said"
