"""Example: a text that teaches something in a view, one click away."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Example:
    """A label for its chip, the text (or pair), settings of the view that differ from their defaults, and the picked
    spans as a link writes them ("0:4-10")."""

    label: str
    text: str
    pair: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    picked: str = ""
