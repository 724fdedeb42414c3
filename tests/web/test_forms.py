"""Forms: every setting becomes a component with its own default and bounds. Examples of views fit their settings."""

import subprocess
import sys

import gradio as gr
import pytest

from bertexplorer.options import option_specs
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.views import VIEWS
from bertexplorer.web.forms import form
from tests.conftest import ROOT


@pytest.mark.parametrize("options", [Tuning, *(task.Options for task in BY_NAME.values())])
def test_every_setting_has_its_component(options: type) -> None:
    with gr.Blocks():
        components = form(options, "x", True).components
    for setting in option_specs(options):
        component = components[setting.name]
        assert component.label == setting.option.label
        assert component.value == setting.default
        if isinstance(component, gr.Number):
            assert (component.minimum, component.maximum) == (setting.option.low, setting.option.high)


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.title)
def test_every_example_can_be_set(view) -> None:
    names = {s.name for s in option_specs(view.analysis.Options)}
    assert len(view.examples) == 5
    for example in view.examples:
        view.analysis.Options(**example.options)
        assert set(example.options) <= names
    assert view.question.endswith("?") and len(view.note) > 60


@pytest.mark.slow
def test_the_page_is_built_before_torch_is_imported() -> None:
    """The browser can then load the page while torch is being imported."""
    heavy = "torch", "sklearn", "scipy", "captum", "accelerate", "transformers"
    program = f"import sys; import bertexplorer.server.launch; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
