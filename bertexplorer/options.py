"""Options: a setting is declared once, as a field of a dataclass, for forms on the page, flags and fields in files."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from bertexplorer.errors import ExplorerError

T = TypeVar("T")
SPECS: dict[type, tuple["OptionSpec", ...]] = {}  # of each Options dataclass, as reading annotations takes long
YES_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Option:
    """The label and description of a setting, and its bounds (both included) if it is a number."""

    label: str
    low: int | float | None = None
    high: int | float | None = None
    info: str = ""
    several: bool = False  # a text with several lines
    by_page: bool = False  # the page sets it (to the key of an upload, or a clicked point) and shows no field


@dataclass(frozen=True)
class OptionSpec:
    """One field of an Options dataclass."""

    name: str
    kind: type  # int, float, bool or str
    default: Any
    option: Option
    choices: tuple[str, ...] = ()

    def check(self, value: Any, label: str = "") -> Any:
        """Convert *value* to the kind of this setting. Raises ExplorerError, which calls the setting *label*, by
        default as the page does."""
        label = label or self.option.label
        if self.choices and value not in self.choices:
            raise ExplorerError(f"{label}: got {value!r}; wanted one of {', '.join(self.choices)}.")
        try:
            if value is None or (self.kind is int and isinstance(value, float) and value != int(value)):
                raise ValueError
            if self.kind is str and not isinstance(value, str | int | float):
                raise ValueError
            read = YES_NO[str(value).lower()] if self.kind is bool else self.kind(value)
            if self.kind is float and not math.isfinite(read):
                raise ValueError
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ExplorerError(f"{label}: got {value!r:.60}; wanted {self.wanted()}.") from error
        low, high = self.option.low, self.option.high
        if self.kind in (int, float) and not ((low is None or read >= low) and (high is None or read <= high)):
            raise ExplorerError(f"{label}: got {str(read):.60}; wanted {self.wanted()}.")
        return read

    def help(self) -> str:
        """The description of its flag, for argparse."""
        about = f"{self.option.label}: {self.option.info}" if self.option.info else self.option.label
        return f"{about} (default: {self.default!r})".replace("%", "%%")

    def wanted(self) -> str:
        noun = {int: "a whole number", float: "a number", bool: "yes or no", str: "text"}[self.kind]
        low, high = self.option.low, self.option.high
        return f"{noun} from {low:g} to {high:g}" if low is not None and high is not None else noun


def option_specs(options: type) -> tuple[OptionSpec, ...]:
    """The settings of an Options dataclass, whose fields are Annotated[int, float, bool, str or Literal, Option]."""
    if options in SPECS:
        return SPECS[options]
    hints = get_type_hints(options, include_extras=True)
    specs = []
    for field in dataclasses.fields(options):
        if get_origin(hints[field.name]) is not Annotated:
            raise TypeError(f"{options.__qualname__}.{field.name} is not Annotated[…, Option(…)].")
        kind, option = get_args(hints[field.name])[:2]
        choices = tuple(get_args(kind)) if get_origin(kind) is Literal else ()
        specs.append(OptionSpec(field.name, str if choices else kind, field.default, option, choices))
    SPECS[options] = tuple(specs)
    return SPECS[options]


def build(options: type[T], values: dict[str, Any], *, by_name: bool = False) -> T:
    """An Options object from values of a form, flags or a link, all of which are checked. Raises ExplorerError, which
    calls a setting as the page does or, *by_name*, as Python does."""
    known = {setting.name: setting for setting in option_specs(options)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ExplorerError(f"Unknown setting {', '.join(unknown)}; wanted {', '.join(known) or 'none'}.")
    return options(**{name: known[name].check(value, name if by_name else "") for name, value in values.items()})
