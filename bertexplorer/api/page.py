"""Schema: the views as JSON, from which the browser draws navigation, forms and examples."""

from functools import cache
from typing import Any

from bertexplorer.api.about import parts
from bertexplorer.core.state import COMPARISONS
from bertexplorer.options import OptionSpec, option_specs
from bertexplorer.runs import analysis
from bertexplorer.settings import Settings
from bertexplorer.store.catalogue import snapshots
from bertexplorer.store.registry import PRECISIONS
from bertexplorer.views import DOORS, VIEWS
from bertexplorer.views.protocols import ComparingSeveral
from bertexplorer.views.view import View

LIMITED_BY = {"layer": "layers", "head": "heads"}  # setting -> the number of the checkpoint that limits it


def page_schema(settings: Settings) -> dict[str, Any]:
    """All views by name, the settings that they share, and the limits of the server."""
    first = next((saved.name for saved in snapshots()), "")  # of the bundled training run
    limits = {"about": parts(settings), "watch": first}
    return {
        "views": {name: view_schema(view) for name, view in VIEWS.items()},
        "doors": {title: door._asdict() for title, door in DOORS.items()},
        "precisions": PRECISIONS,
        "comparisons": COMPARISONS,
        **limits,
    }


@cache
def view_schema(view: View) -> dict[str, Any]:
    """A view's texts, examples and settings."""
    return {
        "title": view.title,
        "topic": view.topic,
        "question": view.question,
        "note": view.note,
        "press": view.chips,
        "upload": view.upload or "",
        "built_in": view.first if view.upload else "",
        "as_run": analysis.can_run(view),
        "text": view.text,
        "checkpoint": view.checkpoint,
        "several": isinstance(view.figure, ComparingSeveral),
        "examples": [example.as_json for example in view.examples],
        "settings": [setting_schema(setting) for setting in option_specs(view.analysis.Options)],
    }


def setting_schema(setting: OptionSpec) -> dict[str, Any]:
    """A setting as a field on the page. *kind*: int, float, bool or str. *counts*: the number of the checkpoint that
    limits it."""
    option = setting.option
    return {
        "name": setting.name,
        "kind": setting.kind.__name__,
        "default": setting.default,
        "label": option.label,
        "help": option.info,
        "low": option.low,
        "high": option.high,
        "choices": setting.choices,
        "several": option.several,
        "by_page": option.by_page,
        "counts": LIMITED_BY.get(setting.name, "") if setting.kind is int else "",
    }
