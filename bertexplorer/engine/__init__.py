"""How a forward pass is run. Loaded at first use: torch takes a second to import, and the page is drawn without it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertexplorer.engine.run import forward, masked_log_probs
    from bertexplorer.model.visible import visible

__all__ = ["forward", "masked_log_probs", "visible"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"bertexplorer.engine has no {name}.")
    return getattr(import_module("bertexplorer.engine.run"), name)
