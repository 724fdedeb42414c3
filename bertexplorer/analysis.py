"""The analyses by the name by which programs import them that version 0.1 exported."""

from types import ModuleType

from bertexplorer.views import VIEWS, view_of


def __getattr__(name: str) -> ModuleType:
    if VIEWS.find(name) is None:
        raise AttributeError(f"bertexplorer.analysis has no {name}.")
    return view_of(name).analysis  # type: ignore[return-value]
