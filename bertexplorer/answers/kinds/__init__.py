"""The kinds of answers of fine-tuned heads: how each is read, tabled, drawn and said.

A module that lies here is a kind, with a class for its answer (`CheckpointAnswer`) and one that reads it
(`TunedReadout`). Nothing else lists it."""

from importlib import import_module
from pathlib import Path

from bertexplorer.answers.head_readout import TunedReadout


def find_kinds() -> list[type[TunedReadout]]:
    """The readouts of the modules that lie here, in their order."""
    kinds = []
    for file in Path(__file__).parent.glob("[!_]*.py"):
        module = import_module(f"{__name__}.{file.stem}")
        for value in vars(module).values():
            is_readout = isinstance(value, type) and issubclass(value, TunedReadout)
            if is_readout and value.__module__ == module.__name__:
                kinds.append(value)
    return sorted(kinds, key=lambda kind: kind.order)
