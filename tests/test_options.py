"""Settings are declared once: read from an Options class, checked, and built from untyped values."""

from dataclasses import dataclass
from math import inf, nan
from typing import Annotated, Any, Literal

import pytest

from bertexplorer.options import Option, build, option_specs
from bertexplorer.views import VIEWS


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Answers", 1, 100)] = 10
    rate: Annotated[float, Option("Rate", 0, 1)] = 0.5
    words: Annotated[str, Option("Words")] = ""
    loud: Annotated[bool, Option("Loud")] = False
    way: Annotated[Literal["left", "right"], Option("Way")] = "left"


def test_settings_are_read_from_the_dataclass() -> None:
    result = option_specs(Options)
    assert [s.name for s in result] == ["top", "rate", "words", "loud", "way"]
    assert [s.kind for s in result] == [int, float, str, bool, str]
    assert [s.default for s in result] == [10, 0.5, "", False, "left"]
    assert result[-1].choices == ("left", "right")
    assert result[0].option.label == "Answers"


def test_a_field_without_an_option_and_an_unknown_setting_are_rejected() -> None:
    @dataclass
    class Bare:
        top: int = 1

    with pytest.raises(TypeError, match="top"):
        option_specs(Bare)
    with pytest.raises(ValueError, match="Unknown setting bottom; wanted top, rate"):
        build(Options, {"bottom": 1})


def test_values_of_flags_and_links_are_parsed() -> None:
    given = {"top": "7", "rate": "0.25", "words": "a, b", "loud": "True", "way": "right"}
    assert build(Options, given) == Options(7, 0.25, "a, b", True, "right")
    assert build(Options, {}) == Options()


@pytest.mark.parametrize("value", ["False", "false", "0", "no", False, 0])
def test_false_values_of_a_link_are_false(value: Any) -> None:
    assert build(Options, {"loud": value}).loud is False


@pytest.mark.parametrize(("top", "kept"), [(1, 1), (100, 100), ("100", 100), (5.0, 5)])
def test_bounds_are_inclusive(top: Any, kept: int) -> None:
    assert build(Options, {"top": top}).top == kept


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("top", value)
            for value in (0, 101, -1, "abc", "", "1.5", 2.7, None, nan, inf, -inf, 1e308, [1], "9" * 5000)
        ),
        *(("rate", value) for value in (-0.01, 1.01, nan, inf, "nan", "x", None, {})),
        *(("way", value) for value in ("up", "", None, ["left"], "LEFT")),
        *(("loud", value) for value in ("maybe", None, 7)),
        ("words", None),
    ],
)
def test_an_invalid_value_is_reported_with_the_valid_ones(name: str, value: Any) -> None:
    label = next(s.option.label for s in option_specs(Options) if s.name == name)
    with pytest.raises(ValueError, match=f"^{label}: got .*wanted") as caught:
        build(Options, {name: value})
    assert len(str(caught.value)) < 200


def test_every_analysis_declares_settings_that_pass_their_own_check() -> None:
    for view in VIEWS.values():
        for setting in option_specs(view.analysis.Options):
            assert setting.check(setting.default) == setting.default
            assert setting.option.label
