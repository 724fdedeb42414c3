"""An Options dataclass -> the components of a form, in the same order."""

from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from bertexplorer.options import OptionSpec, option_specs

IN_A_ROW = 4  # choices side by side; more become a drop-down
AT_HAND = 3  # settings that are always visible; the others are folded
SLIDES = 10_000  # values of a slider; beyond this there is a number field
LAST = -1  # the last layer, however many there are


@dataclass(frozen=True, eq=False)
class Form:
    """The settings of one view, shown while it is on the screen."""

    row: gr.Row
    components: dict[str, Component]  # by the name of the setting


def form(options: type, name: str, visible: bool) -> Form:
    """The form of an Options dataclass, made where it is called."""
    # "hidden", not False: a component outside the page does not receive a changed value
    with gr.Row(visible=visible or "hidden", elem_classes="options", elem_id=f"options-{name}") as row:
        found = option_specs(options)
        at_hand, rest = (found, []) if len(found) <= AT_HAND + 1 else (found[:AT_HAND], found[AT_HAND:])
        components = {setting.name: component(setting, name) for setting in at_hand}
        if rest:
            with gr.Accordion("More options", open=False, elem_classes="more"), gr.Row(elem_classes="options"):
                components |= {setting.name: component(setting, name) for setting in rest}
    return Form(row, components)


def layers(last: int) -> list[tuple[str, int]]:
    """The choices of a setting that is a layer: (label, number)."""
    return [("the last", LAST), ("0, the input of the first", 0), *((str(i), i) for i in range(1, last + 1))]


def component(setting: OptionSpec, of: str) -> Component:
    """The component for *setting*, one of those *of* a view."""
    option = setting.option
    common = {"label": option.label, "info": option.info or None, "min_width": 220}
    common |= {"elem_classes": "internal"} if option.by_page else {}
    if len(setting.choices) > IN_A_ROW:
        return gr.Dropdown(list(setting.choices), value=setting.default, filterable=False, **common)
    if setting.choices:
        return gr.Radio(list(setting.choices), value=setting.default, **common)
    if setting.kind is bool:
        return gr.Checkbox(setting.default, **common)
    if setting.name == "layer" and option.low == LAST and isinstance(option.high, int):
        return gr.Dropdown(layers(option.high), value=setting.default, filterable=False, **common | {"info": None})
    if (
        setting.kind is int
        and option.low is not None
        and option.high is not None
        and option.high - option.low <= SLIDES
    ):
        return gr.Slider(option.low, option.high, value=setting.default, step=1, **common)
    if setting.kind in (int, float):
        return gr.Number(setting.default, minimum=option.low, maximum=option.high, **common)
    lines = {"lines": 3, "max_lines": 8} if option.several else {"max_lines": 1}
    return gr.Textbox(setting.default, **lines, elem_id=f"typed-{of}.{setting.name}", **common)
