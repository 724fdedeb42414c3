"""Views that other packages bring: found by their entry points, imported within a time limit, and checked.

A package names them in its pyproject.toml, each by its name and the dotted package of its folder:

    [project.entry-points."bertexplorer.views"]
    letters = "my_dist.letters"

What cannot be used is named in the log and left out, so that nothing else fails."""

from __future__ import annotations

import keyword
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread
from traceback import format_exception_only
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from bertexplorer.options import OptionSpec, build, option_specs
from bertexplorer.views.facts import Facts
from bertexplorer.views.protocols import Analysis, FigureModule
from bertexplorer.views.view import Chips, Example, Input, View

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "bertexplorer.views"  # of the entry points
IMPORT_S = 10.0  # in which a view must be imported
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
PACKAGE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
TAKEN = {  # by other functions, commands, routes and modules of ours; a test compares it with them
    "analyse", "analysis", "answers", "api", "app", "blocks", "charts", "checkpoint", "checkpoints", "class",
    "classroom", "cli", "cluster", "compare", "completion", "control", "core", "csv_safety", "diagnosis", "doctor",
    "doctor_states", "encode", "encode_batches", "encode_tokens", "engine", "errors", "experiments", "export",
    "export_onnx", "files", "from_transformers", "gradio_app", "interrupt", "learn", "lectures", "lesson",
    "lessons", "lines", "load", "locks", "mcp", "model", "name", "options", "page", "pretrain", "python", "result",
    "rows", "runs", "serve", "server", "settings", "shared", "similarity", "site", "store", "suites", "tasks",
    "teach", "teaching", "tokenize", "train", "training", "trials", "version", "view", "views", "web", "widget",
    "wording", "worker",
}  # fmt: skip
SETTINGS_TAKEN = {  # by what every analysis takes, in Python, on the command line and in a link
    "against", "all", "analysis", "checkpoint", "command", "figure", "help", "hidden", "json", "mask", "pair",
    "pick", "picked", "precision", "self", "text", "versus", "view",
}  # fmt: skip
ONE_AT_A_TIME = Lock()  # as stdout is that of the whole process
log = logging.getLogger(__name__)


class Importing(Thread):
    """A thread that imports a view."""


class Plugin(NamedTuple):
    """A view of another package: its *distribution*, its *name*, and the dotted *package* of its folder."""

    distribution: str
    name: str
    package: str


@cache
def installed() -> dict[str, Plugin]:
    """Name -> plug-in, of all packages that are installed, the first by the name of its distribution. Nothing of them
    is imported. Those whose name cannot be used are named in the log."""
    plugins: dict[str, Plugin] = {}
    for plugin in sorted(entries()):
        fault = fault_of_name(plugin, plugins)
        if fault:
            report(plugin, fault)
        else:
            plugins[plugin.name] = plugin
    return plugins


def entries() -> Iterator[Plugin]:
    """The entry points of the group, whatever they say."""
    from importlib.metadata import entry_points  # takes 0.1 s, and only who asks for a view that is not ours needs it

    try:
        points = entry_points(group=GROUP)
    except Exception as error:  # the files of any distribution may be broken
        log.warning(f"The views of other packages cannot be listed: {told(error)}. All of them are left out.")
        return
    for point in points:
        yield Plugin(distribution_of(point), point.name, point.value)


def distribution_of(point: EntryPoint) -> str:
    """The name of the distribution that declares *point*."""
    try:
        return str(point.dist.name) if point.dist else "?"
    except Exception:  # its metadata are missing or broken
        return "?"


def fault_of_name(plugin: Plugin, others: dict[str, Plugin]) -> str:
    """Why *plugin* cannot have its name; "" if it can. *others*: those that come before it."""
    name, package = plugin.name, plugin.package
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        return "a view has a name of small letters, digits and single underscores, such as letters_of_tokens"
    if name in TAKEN or (Path(__file__).parent / name).is_dir():
        return "BERT Explorer uses this name itself"
    if name in others:
        return f"the distribution {printable(others[name].distribution)} brings a view of this name, and comes first"
    if not PACKAGE.fullmatch(package) or package.rpartition(".")[2] != name:
        return f"its value is {printable(package)!r}; wanted the dotted package of its folder, such as my_dist.{name}"
    return ""


@cache
def load(name: str) -> View | None:
    """The view called *name* that an installed package brings; None if there is none that can be used. The log says
    why, once. Raises ImportError if a view asks for others while it is imported, as each would wait for the other."""
    if not NAME.fullmatch(name) or name in TAKEN or name not in installed():
        return None
    if isinstance(current_thread(), Importing):
        raise ImportError("it asks for views of packages while it is imported")
    view = imported(name)
    if isinstance(view, View):
        return view
    report(installed()[name], view)
    return None


@cache
def imported(name: str) -> View | str:
    """The view called *name*, or why it cannot be used."""
    outcome: SimpleQueue[View | str] = SimpleQueue()
    with ONE_AT_A_TIME, redirect_stdout(sys.stderr):  # stdout may carry an answer in JSON, or messages of MCP
        Importing(target=attempt, args=(installed()[name], outcome), daemon=True).start()
        try:
            return outcome.get(timeout=IMPORT_S)
        except Empty:
            return f"its import has not ended after {IMPORT_S:g} s"


def fault(name: str) -> str:
    """Why the view called *name* cannot be used; "" if it can. A process of its own calls this, before others import
    the view."""
    if name not in installed():
        return "another process does not find it"
    view = imported(name)
    return view if isinstance(view, str) else ""


def attempt(plugin: Plugin, outcome: SimpleQueue[View | str]) -> None:
    """Import *plugin*. Puts the view into *outcome*, or why it cannot be used. It runs in a thread of its own, as an
    import that hangs cannot be ended."""
    try:
        view = vars(import_module(f"{plugin.package}.show")).get("VIEW")
        outcome.put(fault_of(view, plugin) or cast(View, view))
    except BaseException as error:  # whatever it raises, SystemExit too
        outcome.put(f"its import, or the check after it, raised {told(error)}")


def fault_of(view: object, plugin: Plugin) -> str:
    """Why *view* would break the lists of all views; "" if it would not."""
    if not isinstance(view, View):
        return f"VIEW of its show.py is {type(view).__name__}; wanted View(__package__, …)"
    if view.package != plugin.package:
        return f"its VIEW says that it lies in {printable(str(view.package))!r}; wanted __package__, {plugin.package!r}"
    texts = (view.topic, view.title, view.question, view.note, view.checkpoint, view.first)
    if not all(isinstance(text, str) for text in (*texts, *view.papers)) or not isinstance(view.place, int):
        return "a field of its VIEW has another type than views/view.py says"
    if view.chips not in get_args(Chips) or not set(view.needs) <= set(get_args(Input)):
        return "chips or needs of its VIEW has a value that views/view.py does not list"
    if not view.examples or not all(isinstance(example, Example) for example in view.examples):
        return "its VIEW has no examples"
    if not isinstance(view.analysis, Analysis) or not isinstance(view.figure, FigureModule):
        return "its compute.py lacks one of Options, Facts, run and rows, or its show.py lacks draw or say"
    if not (view.analysis.__doc__ or "").strip() or not issubclass(view.analysis.Facts, Facts):
        return "its compute.py has no docstring, or its Facts are no views.facts.Facts"
    return fault_of_settings(view)


def fault_of_settings(view: View) -> str:
    """What is wrong with the settings of *view*; "" if nothing is. Raises ExplorerError, as a form would, for a default
    or an example whose value a setting does not allow."""
    settings = option_specs(view.analysis.Options)
    for setting in settings:
        is_name = NAME.fullmatch(setting.name) and not keyword.iskeyword(setting.name)
        if not is_name or setting.name in SETTINGS_TAKEN:
            return f"a setting cannot be called {printable(setting.name)!r}"
        if not usable(setting):
            return f"its setting {setting.name} is not a number, a text, yes or no, or a choice of texts with a default"
    choices = [setting.name for setting in settings if setting.choices]
    if view.first and view.first not in choices:
        return f"it has no choice {printable(view.first)!r}, which its VIEW names as first"
    for example in view.examples:
        build(view.analysis.Options, dict(example.options))  # only to see that it can be built
    return ""


def usable(setting: OptionSpec) -> bool:
    """Whether forms, flags and fields can be made of *setting*."""
    option = setting.option
    texts = (option.label, option.info, *setting.choices)
    bounds = (option.low, option.high)
    setting.check(setting.default)
    return (
        setting.kind in (int, float, bool, str)
        and all(isinstance(text, str) for text in texts)
        and all(bound is None or isinstance(bound, int | float) for bound in bounds)
    )


def report(plugin: Plugin, reason: str) -> None:
    """Log that *plugin* is left out."""
    name, distribution = printable(plugin.name), printable(plugin.distribution)
    log.warning(f"The view {name!r} of the distribution {distribution} is left out: {reason}.")


def told(error: BaseException) -> str:
    """An error of another package in one line."""
    return printable(format_exception_only(error)[-1].strip().removesuffix("."), 200)


def printable(text: str, most: int = 60) -> str:
    """The first characters of a text of another package, without those that a terminal would obey."""
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(character if character.isprintable() else "?" for character in cut)
