"""A drop-down whose choices change while the page is open."""

from typing import Any

import gradio as gr

from bertexplorer.ui.quick import no_stubs

with no_stubs():

    class Menu(gr.Dropdown):
        """Reads a value that is no longer offered as nothing chosen. A browser may still send one: of a menu that was
        hidden, or of a run that was deleted meanwhile; gradio's own answer is an error over the whole page."""

        is_template = True  # for the browser it is a Dropdown

        def preprocess(self, payload: Any) -> Any:
            offered = {value for _, value in self.choices}
            if isinstance(payload, list):
                return super().preprocess([value for value in payload if value in offered])
            return super().preprocess(payload if payload in offered else None)
