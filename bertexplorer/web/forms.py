"""An Options dataclass -> gradio components, in the same order."""

from collections.abc import Iterable
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from bertexplorer.options import OptionSpec, option_specs

MAX_RADIO = 4  # choices side by side; more become a drop-down


@dataclass(frozen=True, eq=False)
class Form:
    """The settings of one task, shown while the task is chosen."""

    row: gr.Row
    components: dict[str, Component]  # by the name of the setting


def form(options: type, name: str, visible: bool) -> Form:
    """Create the form of an Options dataclass."""
    # "hidden", not False: a component outside the page does not receive a changed value
    with gr.Row(visible=visible or "hidden", elem_classes="options", elem_id=f"options-{name}") as row:
        return Form(row, fields(option_specs(options)))


def fields(settings: Iterable[OptionSpec]) -> dict[str, Component]:
    """Create a component for each setting, by its name."""
    return {setting.name: field(setting) for setting in settings}


def field(setting: OptionSpec) -> Component:
    """Create the component that fits the kind and the bounds of *setting*."""
    option = setting.option
    common = {"label": option.label, "info": option.info or None, "min_width": 220}
    if len(setting.choices) > MAX_RADIO:
        return gr.Dropdown(list(setting.choices), value=setting.default, filterable=False, **common)
    if setting.choices:
        return gr.Radio(list(setting.choices), value=setting.default, **common)
    if setting.kind is bool:
        return gr.Checkbox(setting.default, **common)
    if setting.kind in (int, float):
        precision = 0 if setting.kind is int else None
        return gr.Number(setting.default, minimum=option.low, maximum=option.high, precision=precision, **common)
    return gr.Textbox(setting.default, max_lines=1, **common)
