"""A menu ignores values that are no longer offered, where gradio would reject the whole event."""

from pathlib import Path

import pytest

from bertexplorer.web import gradio_patches
from bertexplorer.web.gradio_patches import Menu


def test_a_value_that_is_no_longer_offered_is_ignored() -> None:
    menu = Menu([("The label", "label"), "text"])
    assert [menu.preprocess(value) for value in ("label", "text", "gone", None)] == ["label", "text", None, None]
    assert Menu([]).preprocess("label") is None


def test_only_offered_values_of_several_remain() -> None:
    menu = Menu(["a", "b"], multiselect=True)
    assert menu.preprocess(["a", "gone"]) == ["a"] and menu.preprocess([]) == []


@pytest.mark.parametrize("several", [False, True])
def test_the_browser_gets_a_plain_dropdown(several: bool) -> None:
    assert Menu(["a"], multiselect=several).get_block_name() == "dropdown"


def test_no_stub_file_is_written() -> None:
    assert not Path(gradio_patches.__file__).with_suffix(".pyi").exists()
